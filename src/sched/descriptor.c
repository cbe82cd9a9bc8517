/* SPDX-License-Identifier: MIT
 * Layer sched: the table of descriptors. See descriptor.h. */
#include "sched/descriptor.h"

#include <errno.h>

#include "base/system.h"
#include "sched/loop.h"
#include "sched/park.h"

#define PAGE_RECORDS 64     /* a sparse high number costs one page of records */
#define ASK_BATCH 64        /* doubted waits asked about in one go */
#define OBSERVER 0x8000u    /* in wait.events: woken with everybody */

#define TROUBLE (POLLER_HUP | POLLER_ERR)

/* ---- the table --------------------------------------------------------------------------------- */

void descriptors_init(struct descriptors *descriptors, const struct memory *memory)
{
	*descriptors = (struct descriptors){ .memory = memory };
	list_init(&descriptors->doubted);
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
	descriptor->is_registered = 0;
	descriptor->is_hung_up = 0;
	descriptor->is_nonblocking = 0;
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

/* Observers all, of the others the first. */
static void wake_some(const struct list *waiters, uint32_t events)
{
	bool one_is_served = false;
	struct wait *wait;
	while ((wait = find_waiter(waiters, events, one_is_served))) {
		one_is_served |= !(wait->events & OBSERVER);
		task_wake(wait->task, 0);
	}
}

bool descriptor_has_queue(const struct descriptor *descriptor, int direction)
{
	list_each(link, &descriptor->waiters[direction])
		if (!(container_of(link, struct wait, link)->events & OBSERVER))
			return true;
	return false;
}

void descriptor_pass_on(struct descriptor *descriptor, int direction)
{
	if (descriptor->is_ready[direction] && !list_is_empty(&descriptor->waiters[direction]))
		wake_some(&descriptor->waiters[direction], direction == DESCRIPTOR_IN ? POLLER_IN : POLLER_OUT);
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
	if (events & TROUBLE) {
		wake_all(descriptor, 0);
		return;
	}
	if (events & POLLER_RDHUP)
		events |= POLLER_IN;
	wake_some(&descriptor->waiters[DESCRIPTOR_IN], events);
	wake_some(&descriptor->waiters[DESCRIPTOR_OUT], events);
}

static uint64_t key_of(int fd, const struct descriptor *descriptor)
{
	return (uint64_t)descriptor->registration << 32 | (uint32_t)fd;
}

void descriptors_fire(struct loop *loop, const struct poller_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		int fd = (int)(uint32_t)events[i].key;
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
	if (poller_add(&loop->poller, fd, key_of(fd, descriptor)) == 0) {
		descriptor->is_registered = 1;
		return 0;
	}
	if (errno == EPERM)
		descriptor->kind = DESCRIPTOR_FILE;
	/* EEXIST: the very file was added under this number before, and we have forgotten it. */
	if (errno == EEXIST && poller_refresh(&loop->poller, fd, key_of(fd, descriptor)) == 0) {
		descriptor->is_registered = 1;
		return 0;
	}
	return errno;
}

static void doubt(struct descriptors *descriptors, struct descriptor *descriptor)
{
	if (!link_is_linked(&descriptor->doubt))
		list_push_tail(&descriptors->doubted, &descriptor->doubt);
}

static void settle_doubt(struct descriptor *descriptor)
{
	if (link_is_linked(&descriptor->doubt))
		link_remove(&descriptor->doubt);
}

int descriptor_enqueue(struct loop *loop, struct wait *wait, int fd, int direction, uint32_t events,
    bool is_observer)
{
	struct descriptors *descriptors = &loop->descriptors;
	struct descriptor *descriptor = descriptor_find(loop, fd);
	CHECK(descriptor, "a descriptor that is waited for has a record");
	if (descriptor->is_registered) {
		doubt(descriptors, descriptor);
	} else {
		int err = register_with_poller(loop, fd, descriptor);
		if (err)
			return descriptor->kind == DESCRIPTOR_FILE ? EALREADY : err;
	}
	wait->kind = WAIT_FD;
	wait->object = descriptor;
	wait->detail = fd;
	wait->events = (uint16_t)(events | (is_observer ? OBSERVER : 0));
	list_push_tail(&descriptor->waiters[direction], &wait->link);
	descriptors->waiting++;
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
    bool is_observer)
{
	struct wait *wait = wait_begin(task, NULL, WAIT_FD, NULL);
	int err = descriptor_enqueue(loop, wait, fd, direction, events, is_observer);
	if (err)
		return err == EALREADY ? 0 : err;
	int status = park(task, BIDE_NEVER);
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

struct descriptor *descriptor_fresh(struct loop *loop, int fd, enum descriptor_kind kind, int is_tcp)
{
	struct descriptor *descriptor = descriptor_get(loop, fd);
	if (!descriptor)
		return NULL;
	wake_all(descriptor, EBADF);
	settle_doubt(descriptor);
	descriptor->generation++;
	reset(descriptor);
	descriptor->kind = (uint8_t)kind;
	descriptor->is_tcp = (int8_t)is_tcp;
	return descriptor;
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
	if (poll_fd.revents & POLLNVAL) {
		errno = EBADF;
		return -1;
	}
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

static void ask_about(struct loop *loop, struct descriptor *descriptor)
{
	settle_doubt(descriptor);
	int fd = fd_of_waiter(descriptor);
	if (fd < 0)
		return;
	if (poller_refresh(&loop->poller, fd, key_of(fd, descriptor)) == 0)
		return;
	/* Another file, or none. Whoever waits starts over: what it knew was of the old one. */
	int err = errno;
	reset(descriptor);
	wake_all(descriptor, err == ENOENT || err == EPERM ? 0 : err);
}

bide_time descriptors_ask(struct loop *loop, bide_time now)
{
	struct descriptors *descriptors = &loop->descriptors;
	if (list_is_empty(&descriptors->doubted))
		return BIDE_NEVER;
	if (now >= time_add(descriptors->asked_at, DOUBT_NS)) {
		descriptors->asked_at = now;
		for (int i = 0; i < ASK_BATCH && !list_is_empty(&descriptors->doubted); i++)
			ask_about(loop, container_of(list_head(&descriptors->doubted), struct descriptor, doubt));
	}
	return list_is_empty(&descriptors->doubted) ? BIDE_NEVER
	                                            : time_add(descriptors->asked_at, DOUBT_NS);
}
