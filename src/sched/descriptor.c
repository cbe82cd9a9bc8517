/* SPDX-License-Identifier: MIT
 * Layer sched: the table of descriptors. See descriptor.h. */
#include "sched/descriptor.h"

#include <errno.h>
#include <limits.h>

#include "base/fail.h"
#include "base/system.h"
#include "sched/loop.h"
#include "sched/park.h"

#define PAGE_RECORDS 64     /* a sparse high number costs one page of records */
#define ASK_BATCH 8         /* doubted waits that a loop at work asks about in one go */

#define TROUBLE (POLLER_HUP | POLLER_ERR) /* everybody wants to know */

/* In wait.events, beside POLLER_ bits. The ticket is in wait.slot. */
#define OBSERVER 0x8000u
#define CLAIMS 0x4000u  /* how the wait ended: woken as the next in line */
#define UNSURE 0x2000u  /* it may be for another file than the registered one */

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
		memory_free(descriptors->memory, descriptors->pages[i], PAGE_RECORDS * sizeof(struct descriptor));
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

/* What is known of a file that nothing is known of. */
static void reset(struct descriptor *descriptor)
{
	descriptor->is_ready[DESCRIPTOR_IN] = 1;
	descriptor->is_ready[DESCRIPTOR_OUT] = 1;
	descriptor->is_claimed[DESCRIPTOR_IN] = 0;
	descriptor->is_claimed[DESCRIPTOR_OUT] = 0;
	descriptor->is_registered = 0;
	descriptor->is_hung_up = 0;
	descriptor->kind = DESCRIPTOR_UNKNOWN;
	descriptor->is_tcp = -1;
	descriptor->registration++; /* events under way are of the file before */
}

static struct descriptor *new_page(struct descriptors *descriptors)
{
	struct descriptor *page = memory_alloc(descriptors->memory, PAGE_RECORDS * sizeof *page);
	for (int i = 0; page && i < PAGE_RECORDS; i++)
		reset(&page[i]);
	return page;
}

struct descriptor *descriptor_find(struct loop *loop, int fd)
{
	struct descriptors *descriptors = &loop->descriptors;
	size_t page = (size_t)fd / PAGE_RECORDS;
	if (fd < 0 || page >= descriptors->page_count || !descriptors->pages[page])
		return NULL;
	return &descriptors->pages[page][fd % PAGE_RECORDS];
}

struct descriptor *descriptor_get(struct loop *loop, int fd)
{
	struct descriptor *found = descriptor_find(loop, fd);
	if (likely(found != NULL))
		return found;
	if (fd < 0) {
		errno = EBADF;
		return NULL;
	}
	struct descriptors *descriptors = &loop->descriptors;
	size_t page = (size_t)fd / PAGE_RECORDS;
	if (system_fcntl(fd, F_GETFD, 0) < 0) /* a number that means nothing gets no memory */
		return NULL;
	if (grow_to(descriptors, page) < 0)
		return NULL;
	descriptors->pages[page] = new_page(descriptors);
	return descriptor_find(loop, fd);
}

/* ---- waking ------------------------------------------------------------------------------------ */

/* A task with several records here (a select) takes them all out at once, so after each wake the
 * list is looked at anew. */
static void wake_all(struct descriptor *descriptor, int status)
{
	for (int direction = 0; direction < 2; direction++) {
		struct link *link;
		while ((link = list_head(&descriptor->waiters[direction])))
			task_wake(container_of(link, struct wait, link)->task, status);
	}
}

static struct wait *find_waiter(const struct list *waiters, uint32_t events, bool only_observers)
{
	list_each(link, waiters) {
		struct wait *wait = container_of(link, struct wait, link);
		if ((wait->events & events) && (!only_observers || (wait->events & OBSERVER)))
			return wait;
	}
	return NULL;
}

/* Observers all, of the others the first, unless one is being served. */
static void wake_some(struct descriptor *descriptor, int direction, uint32_t events)
{
	uint8_t *is_claimed = &descriptor->is_claimed[direction];
	struct wait *wait;
	while ((wait = find_waiter(&descriptor->waiters[direction], events, *is_claimed))) {
		if (!(wait->events & OBSERVER)) {
			wait->events |= CLAIMS;
			*is_claimed = 1;
		}
		task_wake(wait->task, 0);
	}
}

bool descriptor_has_line(const struct descriptor *descriptor, int direction)
{
	if (descriptor->is_claimed[direction])
		return true;
	list_each(link, &descriptor->waiters[direction])
		if (!(container_of(link, struct wait, link)->events & OBSERVER))
			return true;
	return false;
}

static void let_go(struct descriptor *descriptor, int direction, struct place *place)
{
	if (place->has_claim)
		descriptor->is_claimed[direction] = 0;
	place->has_claim = false;
}

void descriptor_pass_on(struct descriptor *descriptor, int direction, struct place *place)
{
	let_go(descriptor, direction, place);
	if (descriptor->is_ready[direction] && !list_is_empty(&descriptor->waiters[direction]))
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
	wake_some(descriptor, DESCRIPTOR_IN, events);
	wake_some(descriptor, DESCRIPTOR_OUT, events);
}

static uint64_t key_of(int fd, const struct descriptor *descriptor)
{
	return (uint64_t)descriptor->registration << 32 | (uint32_t)fd;
}

static int fd_of_key(uint64_t key)
{
	return (int)(uint32_t)key;
}

/* With many connections neither their records nor their tasks are in a near cache; what will be looked
 * at is fetched while others are dealt with: first the records, then, a few events ahead, the waiting
 * task, and when that is awake the top of its stack. */
static void prefetch_records(struct loop *loop, const struct poller_event *events, int count)
{
	for (int i = 0; i < count; i++)
		__builtin_prefetch(descriptor_find(loop, fd_of_key(events[i].key)));
}

static void prefetch_waiter(struct loop *loop, uint64_t key)
{
	const struct descriptor *descriptor = descriptor_find(loop, fd_of_key(key));
	const struct link *link = descriptor ? descriptor->waiters[DESCRIPTOR_IN].head.next : NULL;
	if (!link)
		return;
	const struct task *task = container_of(link, struct task, wait.link);
	__builtin_prefetch(&task->strand);
	__builtin_prefetch(&task->wait);
	__builtin_prefetch(&task->timer);
}

#define AHEAD 4

void descriptors_fire(struct loop *loop, const struct poller_event *events, int count)
{
	if (count > AHEAD)
		prefetch_records(loop, events, count);
	for (int i = 0; i < count; i++) {
		if (i + AHEAD < count)
			prefetch_waiter(loop, events[i + AHEAD].key);
		int fd = fd_of_key(events[i].key);
		struct descriptor *descriptor = descriptor_find(loop, fd);
		/* An event of a file that lives on elsewhere, after its number here was closed. */
		if (!descriptor || key_of(fd, descriptor) != events[i].key)
			continue;
		fire(descriptor, events[i].events);
	}
}

/* ---- waiting ----------------------------------------------------------------------------------- */

/* 0 if events will come, or an errno. */
static int register_with_poller(struct loop *loop, int fd, struct descriptor *descriptor)
{
	descriptor->registration++;
	/* EEXIST: the very file was added under this number before, and we have forgotten it. */
	if (poller_add(&loop->poller, fd, key_of(fd, descriptor)) < 0 &&
	    (errno != EEXIST || poller_refresh(&loop->poller, fd, key_of(fd, descriptor)) < 0))
		return errno;
	descriptor->is_registered = 1;
	if (descriptor->kind == DESCRIPTOR_FILE)
		descriptor->kind = DESCRIPTOR_UNKNOWN; /* it was one that cannot be polled */
	return 0;
}

static void doubt(struct descriptors *descriptors, struct descriptor *descriptor)
{
	if (link_is_linked(&descriptor->doubt)) {
		if (!descriptor->is_asked)
			return;
		link_remove(&descriptor->doubt);
	}
	descriptor->is_asked = 0;
	list_push_tail(&descriptors->doubted, &descriptor->doubt);
}

static void settle_doubt(struct descriptor *descriptor)
{
	if (link_is_linked(&descriptor->doubt))
		link_remove(&descriptor->doubt);
}

/* Behind those who came before. */
static void stand_in_line(struct list *waiters, struct wait *wait)
{
	list_each(link, waiters) {
		struct wait *other = container_of(link, struct wait, link);
		if (!(other->events & OBSERVER) && (uintptr_t)other->slot > (uintptr_t)wait->slot) {
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

int descriptor_enqueue(struct loop *loop, struct wait *wait, int fd, int direction, uint32_t events,
    struct place *place)
{
	struct descriptors *descriptors = &loop->descriptors;
	struct descriptor *descriptor = descriptor_find(loop, fd);
	CHECK(descriptor, "a descriptor that is waited for has a record");
	bool is_doubtful = descriptor->is_registered;
	if (is_doubtful) {
		doubt(descriptors, descriptor);
	} else {
		int err = register_with_poller(loop, fd, descriptor);
		if (err == EPERM)
			descriptor->kind = DESCRIPTOR_FILE;
		if (err)
			return err == EPERM ? EALREADY : err;
	}
	if (place)
		let_go(descriptor, direction, place);
	wait->kind = WAIT_FD;
	wait->object = descriptor;
	wait->detail = fd;
	wait->events = (uint16_t)(events | TROUBLE | (is_doubtful ? UNSURE : 0) | (place ? 0 : OBSERVER));
	queue(descriptors, &descriptor->waiters[direction], wait, place);
	descriptors->waiting++;
	pace_expect(&loop->pace);
	return 0;
}

/* The record may have moved on to another file meanwhile; then the doubt was settled too. */
void descriptor_leave(struct loop *loop, struct wait *wait)
{
	struct descriptor *descriptor = descriptor_find(loop, wait->detail);
	loop->descriptors.waiting--;
	if (list_is_empty(&descriptor->waiters[DESCRIPTOR_IN]) &&
	    list_is_empty(&descriptor->waiters[DESCRIPTOR_OUT]))
		settle_doubt(descriptor);
}

int descriptor_wait(struct loop *loop, struct task *task, int fd, int direction, uint32_t events,
    struct place *place)
{
	struct wait *wait = wait_begin(task, NULL, WAIT_FD, NULL);
	int err = descriptor_enqueue(loop, wait, fd, direction, events, place);
	if (err)
		return err == EALREADY ? 0 : err;
	int status = park(task, BIDE_NEVER);
	if (place)
		place->has_claim = wait->events & CLAIMS;
	descriptor_leave(loop, wait);
	return status;
}

void descriptor_forget(struct loop *loop, int fd)
{
	struct descriptor *descriptor = descriptor_find(loop, fd);
	if (!descriptor)
		return;
	wake_all(descriptor, EBADF);
	settle_doubt(descriptor);
	if (descriptor->is_registered)
		poller_remove(&loop->poller, fd);
	descriptor->generation++;
	reset(descriptor);
}

void descriptor_fresh(struct loop *loop, int fd, enum descriptor_kind kind, int is_tcp)
{
	struct descriptor *descriptor = descriptor_get(loop, fd);
	if (!descriptor)
		return;
	wake_all(descriptor, EBADF);
	settle_doubt(descriptor);
	descriptor->generation++;
	reset(descriptor);
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

/* ---- doubting ---------------------------------------------------------------------------------- */

static int fd_of_waiter(const struct descriptor *descriptor)
{
	struct link *link = list_head(&descriptor->waiters[DESCRIPTOR_IN]);
	if (!link)
		link = list_head(&descriptor->waiters[DESCRIPTOR_OUT]);
	return link ? container_of(link, struct wait, link)->detail : -1;
}

static void be_sure(struct descriptor *descriptor)
{
	for (int direction = 0; direction < 2; direction++)
		list_each(link, &descriptor->waiters[direction])
			container_of(link, struct wait, link)->events &= (uint16_t)~UNSURE;
}

static struct wait *find_sure(const struct descriptor *descriptor)
{
	for (int direction = 0; direction < 2; direction++)
		list_each(link, &descriptor->waiters[direction]) {
			struct wait *wait = container_of(link, struct wait, link);
			if (!(wait->events & UNSURE))
				return wait;
		}
	return NULL;
}

/* Another file has the number, or none. Those who waited for the old one for certain have lost it; the
 * others start over, since what was known was of the old one. */
static void move_on(struct descriptor *descriptor, bool is_registered)
{
	struct wait *wait;
	reset(descriptor);
	descriptor->is_registered = is_registered;
	while ((wait = find_sure(descriptor)))
		task_wake(wait->task, EBADF);
	wake_all(descriptor, 0);
}

/* What the poller says to a question about fd: 0, or its errno. */
static void heed(struct descriptor *descriptor, int err)
{
	if (!err || err == EEXIST)
		be_sure(descriptor);
	else if (err == ENOENT || err == EPERM || err == EBADF)
		move_on(descriptor, false); /* a call on what is not open finds EBADF by itself */
	else
		wake_all(descriptor, err);
}

/* Asks in passing, by an attempt to add the file: EEXIST says that it is the old one, and disturbs
 * nothing; success, that it is another one, and has registered that (under the key that reset() moves
 * to). The question below is left for a quiet moment. */
static void ask_in_passing(struct loop *loop, struct descriptor *descriptor)
{
	int fd = fd_of_waiter(descriptor);
	link_remove(&descriptor->doubt);
	if (fd < 0)
		return;
	descriptor->is_asked = 1;
	list_push_tail(&loop->descriptors.asked, &descriptor->doubt);
	uint64_t next_key = (uint64_t)(descriptor->registration + 1) << 32 | (uint32_t)fd;
	if (poller_add(&loop->poller, fd, next_key) == 0)
		move_on(descriptor, true);
	else
		heed(descriptor, errno);
}

/* Asks for good: what is ready now is reported once more, so that whatever went wrong before is made
 * good (a call that said EAGAIN without reason, say). */
static void ask_for_good(struct loop *loop, struct descriptor *descriptor)
{
	int fd = fd_of_waiter(descriptor);
	link_remove(&descriptor->doubt);
	if (fd >= 0)
		heed(descriptor, poller_refresh(&loop->poller, fd, key_of(fd, descriptor)) < 0 ? errno : 0);
}

static void ask_some(struct loop *loop, struct list *list, int count,
    void (*ask)(struct loop *, struct descriptor *))
{
	for (int i = 0; i < count && !list_is_empty(list); i++)
		ask(loop, container_of(list_head(list), struct descriptor, doubt));
}

/* When nothing is ready and nothing was heard for a while the loop asks about all, and then may sleep
 * for good. Until then, since such a while may never come, it asks about a few in passing. */
bide_time descriptors_ask(struct loop *loop, bide_time now)
{
	struct descriptors *descriptors = &loop->descriptors;
	if (list_is_empty(&descriptors->doubted) && list_is_empty(&descriptors->asked))
		return BIDE_NEVER;
	bool is_idle = ready_is_empty(&loop->ready);
	bide_time quiet_at = loop->clock.is_virtual ? now : time_add(descriptors->heard_at, DOUBT_NS);
	if (is_idle && now >= quiet_at) {
		ask_some(loop, &descriptors->doubted, INT_MAX, ask_for_good);
		ask_some(loop, &descriptors->asked, INT_MAX, ask_for_good);
		return BIDE_NEVER;
	}
	if (now >= time_add(descriptors->asked_at, DOUBT_NS)) {
		descriptors->asked_at = now;
		ask_some(loop, &descriptors->doubted, ASK_BATCH, ask_in_passing);
	}
	bide_time again = BIDE_NEVER;
	if (!list_is_empty(&descriptors->doubted))
		again = time_add(descriptors->asked_at, DOUBT_NS);
	return is_idle && quiet_at < again ? quiet_at : again;
}
