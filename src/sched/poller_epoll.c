/* SPDX-License-Identifier: MIT
 * Layer sched: the poller on epoll. Nothing else in the library knows of epoll. */
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/system.h"
#include "sched/poller.h"

#define ALWAYS (EPOLLRDHUP | EPOLLPRI | EPOLLET)
#define WAKE_KEY UINT64_MAX
#define ALARM_KEY (UINT64_MAX - 1)

/* The kernel's bits are ours, but for one. */
#define SAME (POLLER_IN | POLLER_PRI | POLLER_OUT | POLLER_ERR | POLLER_HUP)
_Static_assert((EPOLLIN | EPOLLPRI << 8 | EPOLLOUT << 16) == (POLLER_IN | POLLER_PRI << 8 | POLLER_OUT << 16) &&
    (EPOLLERR | EPOLLHUP << 8) == (POLLER_ERR | POLLER_HUP << 8) && EPOLLRDHUP >> 8 == (int)POLLER_RDHUP,
    "translated below");

/* This process was told that there is no epoll_pwait2. */
static atomic_bool lacks_ns_wait;

/* One of the poller's own, which it reads never: each time it is raised anew there is an edge. */
static int add_own(struct poller *poller, int fd, uint64_t key)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = key };
	return fd < 0 ? -1 : system_epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int poller_init(struct poller *poller)
{
	*poller = (struct poller){ .wake_fd = -1, .alarm_fd = -1, .alarm_at = BIDE_NEVER };
	poller->has_ns_wait = !atomic_load_explicit(&lacks_ns_wait, memory_order_relaxed);
	poller->epoll_fd = system_epoll_create();
	if (poller->epoll_fd < 0)
		return -1;
	poller->wake_fd = system_eventfd();
	if (add_own(poller, poller->wake_fd, WAKE_KEY) == 0)
		poller->alarm_fd = system_timerfd_create();
	if (add_own(poller, poller->alarm_fd, ALARM_KEY) == 0)
		return 0;
	int saved = errno;
	poller_destroy(poller);
	return fail_with(saved);
}

static void close_own(int fd)
{
	if (fd >= 0)
		system_close(fd);
}

void poller_destroy(struct poller *poller)
{
	close_own(poller->alarm_fd);
	close_own(poller->wake_fd);
	close_own(poller->epoll_fd);
}

static int control(struct poller *poller, int operation, int fd, uint64_t key, uint32_t interest)
{
	struct epoll_event event = { .events = ALWAYS | interest, .data.u64 = key };
	return system_epoll_ctl(poller->epoll_fd, operation, fd, &event);
}

int poller_add(struct poller *poller, int fd, uint64_t key, uint32_t interest)
{
	return control(poller, EPOLL_CTL_ADD, fd, key, interest);
}

int poller_refresh(struct poller *poller, int fd, uint64_t key, uint32_t interest)
{
	return control(poller, EPOLL_CTL_MOD, fd, key, interest);
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

/* ---- the alarm ---------------------------------------------------------------------------------- */

/* True if an alarm will come at `deadline` or before. One that is set for an earlier time is left: it costs a
 * look for nothing, once. */
static bool set_alarm(struct poller *poller, bide_time deadline)
{
	if (poller->alarm_at <= deadline)
		return true;
	struct itimerspec when = { .it_value = { deadline / BIDE_SEC, deadline % BIDE_SEC } };
	if (system_timerfd_settime(poller->alarm_fd, &when) < 0)
		return false;
	poller->alarm_at = deadline;
	return true;
}

/* ---- waiting ------------------------------------------------------------------------------------ */

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

int poller_wait(struct poller *poller, struct poller_event *events, int count, bide_time now, bide_time timeout)
{
	struct epoll_event fired[POLLER_BATCH];
	bool has_limit = timeout > 0 && timeout != BIDE_NEVER;
	if (has_limit && poller->was_cut_short && set_alarm(poller, time_add(now, timeout)))
		timeout = BIDE_NEVER;
	count = wait_once(poller, fired, count, timeout);
	int filled = 0, other = 0;
	for (int i = 0; i < count; i++) {
		if (fired[i].data.u64 < ALARM_KEY)
			events[filled++] = (struct poller_event){ fired[i].data.u64, translate(fired[i].events) };
		else if (fired[i].data.u64 == ALARM_KEY)
			poller->alarm_at = BIDE_NEVER;
		else
			other++;
	}
	if (has_limit)
		poller->was_cut_short = filled + other > 0;
	return filled;
}
