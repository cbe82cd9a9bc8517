/* SPDX-License-Identifier: MIT
 * Layer sched: the table of descriptors. See descriptor.h. */
#include "sched/descriptor.h"

#include <errno.h>

#include "base/fail.h"
#include "base/system.h"
#include "sched/doubt.h"
#include "sched/loop.h"
#include "sched/park.h"

#define TROUBLE (POLLER_HUP | POLLER_ERR) /* everybody wants to know */

/* ---- the table --------------------------------------------------------------------------------- */

void descriptors_init(struct descriptors *descriptors, const struct memory *memory)
{
	*descriptors = (struct descriptors){ .memory = memory };
	list_init(&descriptors->doubted);
	list_init(&descriptors->asked);
}

void descriptors_destroy(struct descriptors *descriptors)
{
	for (size_t i = 0; i < descriptors->page_count; i++)
		memory_free(descriptors->memory, descriptors->pages[i], DESCRIPTORS_PAGE * sizeof(struct descriptor));
	memory_free(descriptors->memory, descriptors->pages, descriptors->page_count * sizeof(void *));
}

static int grow_to(struct descriptors *descriptors, size_t page)
{
	size_t count = descriptors->page_count;
	if (page < count)
		return 0;
	size_t wanted = page + 1 > 2 * count ? page + 1 : 2 * count;
	struct descriptor **pages = memory_resize(descriptors->memory, descriptors->pages,
	    count * sizeof *pages, wanted * sizeof *pages);
	if (!pages)
		return -1;
	descriptors->pages = pages;
	descriptors->page_count = wanted;
	return 0;
}

void descriptor_reset(struct descriptor *descriptor)
{
	descriptor->is_ready[DESCRIPTOR_IN] = 1;
	descriptor->is_ready[DESCRIPTOR_OUT] = 1;
	descriptor->is_claimed[DESCRIPTOR_IN] = 0;
	descriptor->is_claimed[DESCRIPTOR_OUT] = 0;
	descriptor->is_registered = 0;
	descriptor->reports_room = 0;
	descriptor->is_listener = 0;
	descriptor->is_hung_up = 0;
	descriptor->kind = DESCRIPTOR_UNKNOWN;
	descriptor->is_tcp = -1;
	descriptor->registration++;
}

static struct descriptor *new_page(struct descriptors *descriptors)
{
	struct descriptor *page = memory_alloc(descriptors->memory, DESCRIPTORS_PAGE * sizeof *page);
	for (int i = 0; page && i < DESCRIPTORS_PAGE; i++)
		descriptor_reset(&page[i]);
	return page;
}

struct descriptor *descriptor_get(struct loop *loop, int fd)
{
	struct descriptor *found = descriptor_find(&loop->descriptors, fd);
	if (likely(found != NULL))
		return found;
	if (fd < 0) {
		errno = EBADF;
		return NULL;
	}
	struct descriptors *descriptors = &loop->descriptors;
	size_t page = (size_t)fd / DESCRIPTORS_PAGE;
	if (system_fcntl(fd, F_GETFD, 0) < 0) /* a number that means nothing gets no memory */
		return NULL;
	if (grow_to(descriptors, page) < 0)
		return NULL;
	descriptors->pages[page] = new_page(descriptors);
	return descriptor_find(&loop->descriptors, fd);
}

/* ---- waking ------------------------------------------------------------------------------------ */

/* A task with several records here (a select) takes them all out at once, so after each wake the
 * list is looked at anew. */
void descriptor_wake_all(struct descriptor *descriptor, int status)
{
	for (int direction = 0; direction < 2; direction++) {
		struct link *link;
		while ((link = list_head(&descriptor->waiters[direction])))
			task_wake(container_of(link, struct wait, link)->task, status);
	}
}

/* Who is woken next by `events`: observers all, of the others the first, unless one is being served. */
static inline struct wait *next_to_wake(const struct list *waiters, uint32_t events, bool is_claimed)
{
	list_each(link, waiters) {
		struct wait *wait = container_of(link, struct wait, link);
		if ((wait->events & events) && (!is_claimed || (wait->events & WAIT_OBSERVES)))
			return wait;
	}
	return NULL;
}

static void wake_some(struct descriptor *descriptor, int direction, uint32_t events)
{
	struct wait *wait;
	while ((wait = next_to_wake(&descriptor->waiters[direction], events, descriptor->is_claimed[direction]))) {
		if (!(wait->events & WAIT_OBSERVES)) {
			wait->events |= WAIT_CLAIMS;
			descriptor->is_claimed[direction] = 1;
		}
		wait->events |= WAIT_FIRED;
		wait->task->loop->descriptors.fired++;
		task_wake(wait->task, 0);
	}
}

/* Not only observers. */
bool descriptor_has_queue(const struct descriptor *descriptor, int direction)
{
	list_each(link, &descriptor->waiters[direction])
		if (!(container_of(link, struct wait, link)->events & WAIT_OBSERVES))
			return true;
	return false;
}

void descriptor_wake_next(struct descriptor *descriptor, int direction)
{
	wake_some(descriptor, direction, direction == DESCRIPTOR_IN ? POLLER_IN : POLLER_OUT);
}

static void fire(struct descriptor *descriptor, uint32_t events)
{
	if (events & (TROUBLE | POLLER_RDHUP))
		descriptor->is_hung_up = 1;
	if (events & POLLER_PRI)
		descriptor->is_tcp = 0; /* a read stops short at urgent data, and that is no end */
	if (events & (POLLER_IN | POLLER_RDHUP | POLLER_PRI | TROUBLE))
		descriptor->is_ready[DESCRIPTOR_IN] = 1;
	if (events & (POLLER_OUT | TROUBLE))
		descriptor->is_ready[DESCRIPTOR_OUT] = 1;
	if (events & POLLER_RDHUP)
		events |= POLLER_IN;
	for (int direction = 0; direction < 2; direction++)
		if (!list_is_empty(&descriptor->waiters[direction]))
			wake_some(descriptor, direction, events);
}

static int fd_of_key(uint64_t key)
{
	return (int)(uint32_t)key;
}

/* FETCHING AHEAD. Of thousands of descriptors, those that events name are in no near cache, nor are the tasks that
 * wait for them; of these tasks' stacks not even the addresses' translations are near. Event by event that is some
 * 300 ns, and it cannot be hidden behind a system call of the task before: the processor enters the kernel only
 * when what it was asked to fetch is under way. So all is asked for at once, in three steps, each of which
 * needs what the one before has brought. (always_inline: gcc takes a function that only prefetches for one without
 * effect, and drops the call.) */

static inline const struct wait *first_reader(const struct descriptors *descriptors, uint64_t key)
{
	const struct descriptor *descriptor = descriptor_find(descriptors, fd_of_key(key));
	const struct link *link = descriptor ? list_head(&descriptor->waiters[DESCRIPTOR_IN]) : NULL;
	return link ? container_of(link, struct wait, link) : NULL;
}

/* Most are a task's own; of another record, of a select, only the lines are the wrong ones. */
static inline __attribute__((always_inline)) void prefetch_task_of(const struct wait *wait)
{
	const struct task *task = container_of(wait, struct task, wait);
	__builtin_prefetch(&task->strand);
	__builtin_prefetch(&task->wait);
	__builtin_prefetch(&task->timer);
}

static inline __attribute__((always_inline)) void fetch_handful(const struct descriptors *descriptors,
    const struct poller_event *events, int count)
{
	for (int i = 0; i < count; i++)
		__builtin_prefetch(descriptor_find(descriptors, fd_of_key(events[i].key)));
	for (int i = 0; i < count; i++) {
		const struct wait *wait = first_reader(descriptors, events[i].key);
		if (wait)
			prefetch_task_of(wait);
	}
	for (int i = 0; i < count; i++) {
		const struct wait *wait = first_reader(descriptors, events[i].key);
		if (wait)
			prefetch_stack(wait->task, 6);
	}
}

static void fire_event(const struct descriptors *descriptors, const struct poller_event *event)
{
	int fd = fd_of_key(event->key);
	struct descriptor *descriptor = descriptor_find(descriptors, fd);
	/* Not an event of a file that lives on elsewhere, after its number here was closed. */
	if (descriptor && descriptor_key(fd, descriptor->registration) == event->key)
		fire(descriptor, event->events);
}

void descriptors_fire(struct loop *loop, const struct poller_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		if (i % HANDFUL == 0)
			fetch_handful(&loop->descriptors, events + i, count - i < HANDFUL ? count - i : HANDFUL);
		fire_event(&loop->descriptors, &events[i]);
	}
}

/* ---- waiting ----------------------------------------------------------------------------------- */

/* 0 if events will come, or an errno. */
static int register_with_poller(struct loop *loop, int fd, struct descriptor *descriptor, uint32_t events)
{
	uint64_t key = descriptor_key(fd, ++descriptor->registration);
	descriptor->reports_room = (events & POLLER_OUT) != 0;
	uint32_t interest = descriptor_interest(descriptor);
	/* EEXIST: the very file was added under this number before, and we have forgotten it. */
	if (poller_add(&loop->poller, fd, key, interest) < 0 &&
	    (errno != EEXIST || poller_refresh(&loop->poller, fd, key, interest) < 0))
		return errno;
	descriptor->is_registered = 1;
	if (unlikely(loop->registered != NULL))
		loop->registered(loop, fd, descriptor->registration);
	if (descriptor->kind == DESCRIPTOR_FILE)
		descriptor->kind = DESCRIPTOR_UNKNOWN; /* it was one that cannot be polled */
	return 0;
}

/* The first wait for room to write. 0, or an errno; if the number is another file's by now, the doubt about
 * the wait will find that. */
static int report_room(struct loop *loop, int fd, struct descriptor *descriptor)
{
	descriptor->reports_room = 1;
	if (poller_refresh(&loop->poller, fd, descriptor_key(fd, descriptor->registration),
		descriptor_interest(descriptor)) == 0 || errno == ENOENT || errno == EPERM || errno == EBADF)
		return 0;
	descriptor->reports_room = 0;
	return errno;
}

/* 0 if all of `events` will come, or an errno. */
static int expect(struct loop *loop, int fd, struct descriptor *descriptor, uint32_t events)
{
	if (!descriptor->is_registered)
		return register_with_poller(loop, fd, descriptor, events);
	if ((events & POLLER_OUT) && unlikely(!descriptor->reports_room))
		return report_room(loop, fd, descriptor);
	return 0;
}

/* Behind those who came before. */
static void stand_in_line(struct list *waiters, struct wait *wait)
{
	list_each(link, waiters) {
		struct wait *other = container_of(link, struct wait, link);
		if (!(other->events & WAIT_OBSERVES) && (uintptr_t)other->slot > (uintptr_t)wait->slot) {
			link_insert_before(&wait->link, link);
			return;
		}
	}
	list_push_tail(waiters, &wait->link);
}

static void queue(struct descriptors *descriptors, struct list *waiters, struct wait *wait, struct place *place)
{
	bool is_back = place && place->ticket;
	if (place && !is_back)
		place->ticket = ++descriptors->tickets;
	wait->slot = (void *)(uintptr_t)(place ? place->ticket : 0);
	if (is_back)
		stand_in_line(waiters, wait);
	else
		list_push_tail(waiters, &wait->link);
}

int descriptor_enqueue(struct loop *loop, struct wait *wait, int direction, uint32_t events,
    struct place *place)
{
	struct descriptors *descriptors = &loop->descriptors;
	struct descriptor *descriptor = (struct descriptor *)(uintptr_t)wait->object;
	bool is_doubtful = descriptor->is_registered;
	int err = expect(loop, wait->detail, descriptor, events);
	if (unlikely(err)) {
		if (err == EPERM)
			descriptor->kind = DESCRIPTOR_FILE;
		return err == EPERM ? EALREADY : err;
	}
	if (likely(is_doubtful))
		doubt_begin(descriptors, descriptor);
	if (place && place->has_claim)
		descriptor->is_claimed[direction] = 0;
	wait->events = (uint16_t)(events | TROUBLE | (is_doubtful ? WAIT_UNSURE : 0) | (place ? 0 : WAIT_OBSERVES));
	queue(descriptors, &descriptor->waiters[direction], wait, place);
	descriptors->waiting++;
	pace_expect(&loop->pace);
	return 0;
}

void descriptor_forget(struct loop *loop, int fd)
{
	struct descriptor *descriptor = descriptor_find(&loop->descriptors, fd);
	if (!descriptor)
		return;
	descriptor_wake_all(descriptor, EBADF);
	doubt_end(&loop->descriptors, descriptor);
	if (descriptor->is_registered)
		poller_remove(&loop->poller, fd);
	descriptor->generation++;
	descriptor_reset(descriptor);
}

void descriptor_fresh(struct loop *loop, int fd, enum descriptor_kind kind, int is_tcp)
{
	struct descriptor *descriptor = descriptor_get(loop, fd);
	if (!descriptor)
		return;
	descriptor_wake_all(descriptor, EBADF);
	doubt_end(&loop->descriptors, descriptor);
	descriptor->generation++;
	descriptor_reset(descriptor);
	descriptor->kind = (uint8_t)kind;
	descriptor->is_tcp = (int8_t)is_tcp;
}

/* ---- asking poll() ----------------------------------------------------------------------------- */

uint32_t poller_events_of_poll(int events)
{
	return (events & POLLIN ? POLLER_IN : 0u) | (events & POLLOUT ? POLLER_OUT : 0u) |
	    (events & POLLPRI ? POLLER_PRI : 0u) | (events & POLLRDHUP ? POLLER_RDHUP : 0u);
}

int descriptor_poll(int fd, int events)
{
	struct pollfd poll_fd = { .fd = fd, .events = (short)events };
	int count;
	do
		count = system_poll(&poll_fd, 1, 0);
	while (count < 0 && errno == EINTR);
	if (count <= 0)
		return count;
	if (poll_fd.revents & POLLNVAL)
		return fail_with(EBADF);
	return poll_fd.revents;
}
