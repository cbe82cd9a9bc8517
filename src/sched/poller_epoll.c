/* SPDX-License-Identifier: MIT
 * Layer sched: the poller on epoll. Nothing else in the library knows of epoll. */
#include <errno.h>
#include <time.h>

#include "base/fail.h"
#include "base/system.h"
#include "sched/poller.h"

#define INTEREST (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET)
#define WAKE_KEY UINT64_MAX

_Static_assert(EPOLLIN == 1 && EPOLLPRI == 2 && EPOLLOUT == 4, "the kernel's bits, translated below");

int poller_init(struct poller *poller)
{
	poller->has_ns_wait = true;
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
	close(poller->wake_fd);
	close(poller->epoll_fd);
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
	epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, &event);
}

static uint32_t translate(uint32_t bits)
{
	return (bits & EPOLLIN ? POLLER_IN : 0u) | (bits & EPOLLOUT ? POLLER_OUT : 0u) |
	    (bits & EPOLLPRI ? POLLER_PRI : 0u) | (bits & EPOLLRDHUP ? POLLER_RDHUP : 0u) |
	    (bits & EPOLLHUP ? POLLER_HUP : 0u) | (bits & EPOLLERR ? POLLER_ERR : 0u);
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
static int wait_once(struct poller *poller, struct epoll_event *fired, bide_time timeout)
{
	if (fault_hits(FAULT_EPOLL_WAIT))
		return -1;
	if (timeout > 0 && timeout != BIDE_NEVER && poller->has_ns_wait) {
		struct timespec limit = { timeout / BIDE_SEC, timeout % BIDE_SEC };
		int count = epoll_pwait2(poller->epoll_fd, fired, POLLER_BATCH, &limit, NULL);
		if (count >= 0 || (errno != ENOSYS && errno != EPERM)) /* EPERM: a filter of system calls that does not know it */
			return count;
		poller->has_ns_wait = false;
	}
	return epoll_wait(poller->epoll_fd, fired, POLLER_BATCH, to_milliseconds(timeout));
}

int poller_wait(struct poller *poller, struct poller_event *events, bide_time timeout)
{
	struct epoll_event fired[POLLER_BATCH];
	int filled = 0;
	int count = wait_once(poller, fired, timeout);
	for (int i = 0; i < count; i++) {
		if (fired[i].data.u64 == WAKE_KEY)
			continue;
		events[filled++] = (struct poller_event){ fired[i].data.u64, translate(fired[i].events) };
	}
	return filled;
}
