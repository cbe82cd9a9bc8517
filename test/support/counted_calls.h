/* SPDX-License-Identifier: MIT
 * System calls of the library, counted: include it in one file of a program, whose definitions then
 * come before those of the C library. */
#ifndef SUPPORT_COUNTED_CALLS_H
#define SUPPORT_COUNTED_CALLS_H

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define COUNTED_API __attribute__((visibility("default")))

static struct counted {
	int epoll_ctl;  /* of any kind */
	int epoll_add;
	int epoll_wait; /* and epoll_pwait2 */
	int slept;      /* those that did not have a timeout of 0 */
	int fruitless;  /* those of any kind without an event */
	int recv, send, accept;
	void (*before_sleep)(void);
	bool modify_is_mute; /* EPOLL_CTL_MOD says whether the file is known and reports nothing anew, so
	                        that it cannot hide a wake-up that was lost; unless it asks for more events */
	uint32_t interest[1024]; /* of each descriptor, as last registered */
} counted;

/* The C library's definition, found once. */
#define COUNTED_FIND(name)                                                                         \
	if (!next)                                                                                     \
		next = (__typeof__(next))dlsym(RTLD_NEXT, name)

static bool counted_asks_for_more(int fd, const struct epoll_event *event)
{
	return fd < 1024 && (event->events & ~counted.interest[fd]) != 0;
}

COUNTED_API int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	static int (*next)(int, int, int, struct epoll_event *);
	COUNTED_FIND("epoll_ctl");
	counted.epoll_ctl++;
	if (operation != EPOLL_CTL_MOD || !counted.modify_is_mute || counted_asks_for_more(fd, event)) {
		int result = next(epoll_fd, operation, fd, event);
		if (result == 0 && operation != EPOLL_CTL_DEL && fd < 1024)
			counted.interest[fd] = event->events;
		counted.epoll_add += operation == EPOLL_CTL_ADD && result == 0; /* not a question answered by EEXIST */
		return result;
	}
	if (next(epoll_fd, EPOLL_CTL_ADD, fd, event) < 0) {
		if (errno == EEXIST)
			return 0;
		return -1;
	}
	next(epoll_fd, EPOLL_CTL_DEL, fd, event);
	errno = ENOENT;
	return -1;
}

static void counted_begin(bool sleeps)
{
	counted.epoll_wait++;
	counted.slept += sleeps;
	if (sleeps && counted.before_sleep)
		counted.before_sleep();
}

static int counted_end(int count)
{
	counted.fruitless += count <= 0;
	return count;
}

COUNTED_API int epoll_wait(int epoll_fd, struct epoll_event *events, int size, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);
	COUNTED_FIND("epoll_wait");
	counted_begin(timeout != 0);
	return counted_end(next(epoll_fd, events, size, timeout));
}

COUNTED_API int epoll_pwait2(int epoll_fd, struct epoll_event *events, int size,
    const struct timespec *timeout, const sigset_t *mask)
{
	static int (*next)(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
	COUNTED_FIND("epoll_pwait2");
	static int is_missing = -1; /* in an emulator: the fallback is counted */
	if (is_missing < 0)
		is_missing = next(-1, events, size, timeout, mask) < 0 && errno == ENOSYS;
	if (is_missing) {
		errno = ENOSYS;
		return -1;
	}
	counted_begin(true);
	return counted_end(next(epoll_fd, events, size, timeout, mask));
}

COUNTED_API ssize_t recv(int fd, void *buf, size_t size, int flags)
{
	static ssize_t (*next)(int, void *, size_t, int);
	COUNTED_FIND("recv");
	counted.recv++;
	return next(fd, buf, size, flags);
}

COUNTED_API ssize_t send(int fd, const void *buf, size_t size, int flags)
{
	static ssize_t (*next)(int, const void *, size_t, int);
	COUNTED_FIND("send");
	counted.send++;
	return next(fd, buf, size, flags);
}

COUNTED_API int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	static int (*next)(int, struct sockaddr *, socklen_t *, int);
	COUNTED_FIND("accept4");
	counted.accept++;
	return next(fd, address, length, flags);
}

#endif
