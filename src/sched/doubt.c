/* SPDX-License-Identifier: MIT
 * Layer sched: asking about doubted waits. See doubt.h. */
#include "sched/doubt.h"

#include <errno.h>

#include "sched/loop.h"
#include "sched/park.h"

/* A loop at work, every DOUBT_NS. */
#define ASK_BATCH 32   /* asks about so many */
#define SCAN_BATCH 512 /* and looks at so many */

/* A loop that has nothing to do asks about all when nothing was heard for so long for each of them. */
#define QUIET_NS (20 * BIDE_USEC)

/* ---- the lists ---------------------------------------------------------------------------------- */

static void unlist(struct descriptors *descriptors, struct descriptor *descriptor)
{
	link_remove(&descriptor->doubt);
	descriptors->listed--;
}

static void list_in(struct descriptors *descriptors, struct descriptor *descriptor, bool is_asked)
{
	descriptor->is_asked = is_asked;
	list_push_tail(is_asked ? &descriptors->asked : &descriptors->doubted, &descriptor->doubt);
	descriptors->listed++;
}

void doubt_list(struct descriptors *descriptors, struct descriptor *descriptor)
{
	doubt_end(descriptors, descriptor);
	list_in(descriptors, descriptor, false);
}

void doubt_end(struct descriptors *descriptors, struct descriptor *descriptor)
{
	if (link_is_linked(&descriptor->doubt))
		unlist(descriptors, descriptor);
}

/* ---- asking ------------------------------------------------------------------------------------- */

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
			container_of(link, struct wait, link)->events &= (uint16_t)~WAIT_UNSURE;
}

static struct wait *find_sure(const struct descriptor *descriptor)
{
	for (int direction = 0; direction < 2; direction++)
		list_each(link, &descriptor->waiters[direction]) {
			struct wait *wait = container_of(link, struct wait, link);
			if (!(wait->events & WAIT_UNSURE))
				return wait;
		}
	return NULL;
}

/* Another file has the number, or none. Those who waited for the old one for certain have lost it; the
 * others start over, since what was known was of the old one. */
static void move_on(struct descriptor *descriptor, bool is_registered)
{
	struct wait *wait;
	descriptor_reset(descriptor);
	descriptor->is_registered = is_registered;
	while ((wait = find_sure(descriptor)))
		task_wake(wait->task, EBADF);
	descriptor_wake_all(descriptor, 0);
}

/* What the poller says to a question about fd: 0, or its errno. */
static void heed(struct descriptor *descriptor, int err)
{
	if (!err || err == EEXIST)
		be_sure(descriptor);
	else if (err == ENOENT || err == EPERM || err == EBADF)
		move_on(descriptor, false); /* a call on what is not open finds EBADF by itself */
	else
		descriptor_wake_all(descriptor, err);
}

/* By an attempt to add the file: EEXIST says that it is the old one, and disturbs nothing; success, that
 * it is another one, and has registered that (under the key that descriptor_reset() moves to). It is still
 * to be asked about for good. */
static void ask_in_passing(struct loop *loop, struct descriptor *descriptor, int fd)
{
	list_in(&loop->descriptors, descriptor, true);
	uint64_t key = descriptor_key(fd, descriptor->registration + 1);
	if (poller_add(&loop->poller, fd, key, POLLER_IN) == 0)
		move_on(descriptor, true);
	else
		heed(descriptor, errno);
}

/* What is ready now is reported once more, so that whatever went wrong before is made good (a call that
 * said EAGAIN without reason, say). */
static void ask_for_good(struct loop *loop, struct descriptor *descriptor, int fd)
{
	uint64_t key = descriptor_key(fd, descriptor->registration);
	heed(descriptor, poller_refresh(&loop->poller, fd, key, descriptor_interest(descriptor)) < 0 ? errno : 0);
}

static struct descriptor *next_of(struct list *list)
{
	return container_of(list_head(list), struct descriptor, doubt);
}

static void ask_some(struct loop *loop)
{
	struct descriptors *descriptors = &loop->descriptors;
	size_t scan = descriptors->listed < SCAN_BATCH ? descriptors->listed : SCAN_BATCH;
	int asked = 0;
	for (; scan > 0 && asked < ASK_BATCH && !list_is_empty(&descriptors->doubted); scan--) {
		struct descriptor *descriptor = next_of(&descriptors->doubted);
		int fd = fd_of_waiter(descriptor);
		unlist(descriptors, descriptor);
		if (fd < 0)
			continue;
		if (descriptor->waits_since == descriptors->period) {
			list_in(descriptors, descriptor, false);
			continue;
		}
		ask_in_passing(loop, descriptor, fd);
		asked++;
	}
	descriptors->period++;
}

static void ask_all_of(struct loop *loop, struct list *list)
{
	while (!list_is_empty(list)) {
		struct descriptor *descriptor = next_of(list);
		int fd = fd_of_waiter(descriptor);
		unlist(&loop->descriptors, descriptor);
		if (fd >= 0)
			ask_for_good(loop, descriptor, fd);
	}
}

static bide_time quiet_at(const struct loop *loop, bide_time now)
{
	const struct descriptors *descriptors = &loop->descriptors;
	bide_time quiet = (bide_time)descriptors->listed * QUIET_NS;
	if (loop->clock.is_virtual)
		return now;
	return time_add(descriptors->heard_at, quiet > DOUBT_NS ? quiet : DOUBT_NS);
}

bide_time doubts_ask(struct loop *loop, bide_time now)
{
	struct descriptors *descriptors = &loop->descriptors;
	if (descriptors->listed == 0 || descriptors->waiting == 0)
		return BIDE_NEVER;
	bool is_idle = ready_is_empty(&loop->ready);
	bide_time all_at = is_idle ? quiet_at(loop, now) : BIDE_NEVER;
	if (now >= all_at) {
		ask_all_of(loop, &descriptors->doubted);
		ask_all_of(loop, &descriptors->asked);
		return BIDE_NEVER;
	}
	if (now >= time_add(descriptors->asked_at, DOUBT_NS)) {
		descriptors->asked_at = now;
		ask_some(loop);
	}
	bide_time some_at = BIDE_NEVER;
	if (!list_is_empty(&descriptors->doubted))
		some_at = time_add(descriptors->asked_at, DOUBT_NS);
	return some_at < all_at ? some_at : all_at;
}
