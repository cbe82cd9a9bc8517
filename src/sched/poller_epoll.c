/* SPDX-License-Identifier: MIT
 * Layer sched: the poller on epoll. Nothing else in the library knows of epoll. */
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "base/fail.h"
#include "base/system.h"
#include "sched/poller.h"

#define INTEREST (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET)
#define WAKE_KEY UINT64_MAX

/* The kernel's bits are ours, but for one. */
#define SAME (POLLER_IN | POLLER_PRI | POLLER_OUT | POLLER_ERR | POLLER_HUP)
_Static_assert((EPOLLIN | EPOLLPRI << 8 | EPOLLOUT << 16) == (POLLER_IN | POLLER_PRI << 8 | POLLER_OUT << 16) &&
    (EPOLLERR | EPOLLHUP << 8) == (POLLER_ERR | POLLER_HUP << 8) && EPOLLRDHUP >> 8 == (int)POLLER_RDHUP,
    "translated below");

/* This process was told that there is no epoll_pwait2. */
static atomic_bool lacks_ns_wait;

int poller_init(struct poller *poller)
{
	poller->has_ns_wait = !atomic_load_explicit(&lacks_ns_wait, memory_order_relaxed);
	poller->epoll_fd = system_epoll_create();
	if (poller->epoll_fd < 0)
		return -1;
	poller->wake_fd = system_eventfd();
	if (poller->wake_fd < 0)
		goto close_epoll;
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = WAKE_KEY };
	if (system_epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, poller->wake_fd, &event) < 0)
		goto close_wake;
	return 0;

	int saved;
close_wake:
	saved = errno;
	close(poller->wake_fd);
	errno = saved;
close_epoll:
	saved = errno;
	close(poller->epoll_fd);
	return fail_with(saved);
}

void poller_destroy(struct poller *poller)
{
	system_close(poller->wake_fd);
	system_close(poller->epoll_fd);
}

int poller_add(struct poller *poller, int fd, uint64_t key)
{
	struct epoll_event event = { .events = INTEREST, .data.u64 = key };
	return system_epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int poller_refresh(struct poller *poller, int fd, uint64_t key)
{
	struct epoll_event event = { .events = INTEREST, .data.u64 = key };
	return system_epoll_ctl(poller->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void poller_remove(struct poller *poller, int fd)
{
	struct epoll_event event = { 0 };
	system_epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, &event);
}

static inline uint32_t translate(uint32_t bits)
{
	return (bits & SAME) | (bits >> 8 & POLLER_RDHUP);
}

/* Rounded up: a wait may end late, never early. */
static int to_milliseconds(bide_time timeout)
{
	if (timeout == BIDE_NEVER)
		return -1;
	bide_time rounded = timeout / BIDE_MSEC + (timeout % BIDE_MSEC != 0);
	return rounded > INT32_MAX ? INT32_MAX : (int)rounded;
}

/* A timeout of 0 and an infinite one need no fine clock, and epoll_wait is the cheaper call. */
static int wait_once(struct poller *poller, struct epoll_event *fired, int count, bide_time timeout)
{
	if (timeout > 0 && timeout != BIDE_NEVER && poller->has_ns_wait) {
		struct timespec limit = { timeout / BIDE_SEC, timeout % BIDE_SEC };
		int filled = system_epoll_pwait2(poller->epoll_fd, fired, count, &limit);
		if (filled >= 0 || (errno != ENOSYS && errno != EPERM)) /* EPERM: a filter of system calls that does not know it */
			return filled;
		poller->has_ns_wait = false;
		atomic_store_explicit(&lacks_ns_wait, true, memory_order_relaxed);
	}
	return system_epoll_wait(poller->epoll_fd, fired, count, to_milliseconds(timeout));
}

int poller_wait(struct poller *poller, struct poller_event *events, int count, bide_time timeout)
{
	struct epoll_event fired[POLLER_BATCH];
	int filled = 0;
	count = wait_once(poller, fired, count, timeout);
	for (int i = 0; i < count; i++) {
		if (fired[i].data.u64 == WAKE_KEY)
			continue;
		events[filled++] = (struct poller_event){ fired[i].data.u64, translate(fired[i].events) };
	}
	return filled;
}
