/* SPDX-License-Identifier: MIT
 * bide_fd_wait(): waiting for events without reading. Scenarios F6, F12, F13, F24. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static void *arg_of(const void *constant)
{
	return (void *)(uintptr_t)constant;
}

static void *each_event(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	must(bide_fd_wait(fds[1], POLLOUT) == POLLOUT);
	struct io in = { .fd = fds[0], .events = POLLIN };
	bide_task *reader = io_start(io_wait, &in);
	turns(2);
	must(in.count == -2);
	must_write(fds[1], "x", 1);
	must(join_within(reader, LONG).err == 0 && in.count == POLLIN);
	must(bide_fd_wait(fds[0], POLLIN) == POLLIN); /* nothing was read */
	must(drain(fds[0]) == 1);
	if (kind->traits & STREAM) {
		fill(fds[1]);
		struct io out = { .fd = fds[1], .events = POLLOUT };
		bide_task *writer = io_start(io_wait, &out);
		turns(2);
		must(out.count == -2);
		drain(fds[0]);
		must(join_within(writer, LONG).err == 0 && out.count == POLLOUT);
	}
	if ((kind->traits & (STREAM | TWO_WAY)) == (STREAM | TWO_WAY)) {
		must(bide_fd_wait(fds[0], POLLOUT | POLLIN) & POLLOUT);
		struct io end = { .fd = fds[0], .events = POLLRDHUP };
		bide_task *observer = io_start(io_wait, &end);
		must_write(fds[1], "x", 1);
		turns(2);
		must(end.count == -2); /* data is no hang-up */
		shutdown(fds[1], SHUT_WR);
		must(join_within(observer, LONG).err == 0 && end.count == POLLRDHUP);
	}
	close_pair(fds);
	return NULL;
}

START_TEST(each_event_ends_a_wait_for_it)
{
	counted.modify_is_mute = true;
	run_real(each_event, arg_of(&fd_kinds[_i]));
}
END_TEST

static void *urgent(void *arg)
{
	int fds[2];
	(void)arg;
	make_tcp(fds);
	struct io io = { .fd = fds[0], .events = POLLPRI };
	bide_task *observer = io_start(io_wait, &io);
	must_write(fds[1], "x", 1);
	turns(3);
	must(io.count == -2);
	must(send(fds[1], "!", 1, MSG_OOB) == 1);
	must(join_within(observer, LONG).err == 0 && io.count == POLLPRI);
	close_pair(fds);
	return NULL;
}

START_TEST(urgent_data_ends_a_wait_for_pollpri_and_ordinary_data_does_not)
{
	counted.modify_is_mute = true;
	run_real(urgent, NULL);
}
END_TEST

static void *hang_up(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	struct io io = { .fd = fds[0], .events = POLLPRI };
	bide_task *observer = io_start(io_wait, &io);
	close(fds[1]);
	fds[1] = -1;
	if (kind->traits & TCP) { /* FIN is no hang-up; RST is one */
		turns(3);
		must(io.count == -2);
		must_write(fds[0], "x", 1);
	}
	must(join_within(observer, LONG).err == 0 && (io.count & POLLHUP));
	close_pair(fds);
	return NULL;
}

START_TEST(hang_up_ends_any_wait)
{
	counted.modify_is_mute = true;
	run_real(hang_up, arg_of(kind_with(STREAM, _i)));
}
END_TEST

static void *gone_while_blocked(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	must_write(fds[1], "unread", 6);
	fill(fds[0]);
	struct io writes = { .fd = fds[0], .data = "x", .size = 1 };
	struct io hang = { .fd = fds[0], .events = POLLRDHUP };
	bide_task *writer = io_start(io_write, &writes);
	bide_task *observer = io_start(io_wait, &hang);
	must(hang.count == -2 && writes.count == -2);
	shutdown(fds[1], SHUT_WR);
	must(join_within(observer, LONG).err == 0 && hang.count == POLLRDHUP);
	must(writes.count == -2 && bytes_waiting(fds[0]) == 6);
	bide_cancel(writer, NULL);
	must_join(writer);
	close_pair(fds);
	return NULL;
}

/* Scenario F24. */
START_TEST(a_peer_that_is_gone_is_told_to_a_blocked_writer_although_data_is_unread)
{
	counted.modify_is_mute = true;
	run_real(gone_while_blocked, arg_of(kind_with(TWO_WAY | STREAM, _i)));
}
END_TEST

/* ---- files that are always ready ------------------------------------------------------------------- */

static void *always_ready(void *arg)
{
	static const int events[] = { POLLIN, POLLOUT, POLLIN | POLLOUT, POLLPRI, POLLRDHUP };
	int fd = open(arg, O_RDONLY);
	must(fd >= 0);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		must(bide_fd_wait(fd, events[i]) == events[i]);
	must(bide_close(fd) == 0);
	return NULL;
}

/* Scenarios F6, F13: /dev/null, a directory, a file. */
START_TEST(what_cannot_be_polled_is_always_ready)
{
	static char *const paths[] = { "/dev/null", "/dev/zero", "/", "/proc/self/exe" };
	run_virtual(always_ready, paths[_i]);
}
END_TEST

static void *nested_epoll(void *arg)
{
	int fds[2], epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	char buf[8];
	(void)arg;
	make_unix(fds);
	must(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[0], &event) == 0);
	for (int i = 0; i < 3; i++) {
		struct io io = { .fd = epoll_fd, .events = POLLIN };
		bide_task *observer = io_start(io_wait, &io);
		turns(2);
		must(io.count == -2);
		must_write(fds[1], "x", 1);
		must(join_within(observer, LONG).err == 0 && io.count == POLLIN);
		must(drain(fds[0]) == 1);
	}
	must_write(fds[1], "x", 1);
	ck_fails(bide_read(epoll_fd, buf, sizeof buf), EINVAL);
	close_pair(fds);
	must(bide_close(epoll_fd) == 0);
	return NULL;
}

/* Scenario F13. */
START_TEST(an_epoll_descriptor_can_be_waited_for)
{
	counted.modify_is_mute = true;
	run_real(nested_epoll, NULL);
}
END_TEST

static void *own_epoll(void *arg)
{
	(void)arg;
	ck_fails(bide_fd_wait(loop_current->poller.epoll_fd, POLLIN), EINVAL);
	return NULL;
}

START_TEST(the_loops_own_poller_is_refused_and_does_not_hang)
{
	run_real(own_epoll, NULL);
}
END_TEST

static void *timer_fd(void *arg)
{
	struct itimerspec soon = { .it_value = { 0, 10000000 } };
	uint64_t fired = 0;
	(void)arg;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		must(timerfd_settime(fd, 0, &soon, NULL) == 0);
		must(bide_fd_wait(fd, POLLIN) == POLLIN);
		must(bide_read(fd, &fired, sizeof fired) == sizeof fired && fired == 1);
	}
	struct io io = { .fd = fd };
	bide_task *reader = io_start(io_read, &io);
	turns(2);
	must(io.count == -2);
	must(timerfd_settime(fd, 0, &soon, NULL) == 0);
	must(join_within(reader, LONG).err == 0 && io.count == 8);
	must(bide_close(fd) == 0);
	return NULL;
}

START_TEST(a_timerfd_can_be_waited_for_and_read)
{
	counted.modify_is_mute = true;
	run_real(timer_fd, NULL);
}
END_TEST

/* ---- sockets without a peer -------------------------------------------------------------------------- */

static void *fresh_socket(void *arg)
{
	struct sockaddr_in address;
	char buf[4];
	(void)arg;
	int listener = plain_listener(4, &address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	must(bide_fd_wait(fd, POLLIN) & POLLHUP);
	ck_fails(bide_read(fd, buf, 4), ENOTCONN);
	ck_fails(bide_recv(fd, buf, 4, 0), ENOTCONN);
	int waits = counted.epoll_wait;
	must(bide_sleep(100 * BIDE_MSEC) == 0);
	must(counted.epoll_wait - waits <= 3);
	must(bide_connect(fd, (void *)&address, sizeof address) == 0);
	int peer = bide_accept(listener, NULL, NULL);
	must(bide_send(fd, "ping", 4, 0) == 4);
	must(bide_recv(peer, buf, 4, 0) == 4 && memcmp(buf, "ping", 4) == 0);
	must(bide_send(peer, "pong", 4, 0) == 4);
	must(bide_recv(fd, buf, 4, 0) == 4 && memcmp(buf, "pong", 4) == 0);
	must(bide_close(fd) == 0 && bide_close(peer) == 0 && bide_close(listener) == 0);
	return NULL;
}

/* Scenario F12. */
START_TEST(a_socket_that_is_not_connected_says_so_and_can_be_connected)
{
	run_real(fresh_socket, NULL);
}
END_TEST

static void *connect_under_a_waiter(void *arg)
{
	struct sockaddr_in address;
	(void)arg;
	int listener = plain_listener(4, &address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	/* Registered while it reports HUP: the events of that time must not count as connected. */
	must(bide_fd_wait(fd, POLLPRI) & POLLHUP);
	struct io io = { .fd = fd };
	must(bide_connect(fd, (void *)&address, sizeof address) == 0);
	bide_task *reader = io_start(io_recv, &io);
	int peer = accept(listener, NULL, NULL);
	must(io.count == -2);
	must_write(peer, "x", 1);
	must(join_within(reader, LONG).err == 0 && io.count == 1);
	must(bide_close(fd) == 0);
	close(peer);
	close(listener);
	return NULL;
}

START_TEST(what_a_socket_said_before_it_was_connected_is_forgotten)
{
	counted.modify_is_mute = true;
	run_real(connect_under_a_waiter, NULL);
}
END_TEST

/* ---- bad input --------------------------------------------------------------------------------------- */

static void *bad_input(void *arg)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	ck_fails(bide_fd_wait(fds[0], 0), EINVAL);
	ck_fails(bide_fd_wait(fds[0], POLLIN | POLLERR), EINVAL);
	ck_fails(bide_fd_wait(fds[0], POLLHUP), EINVAL);
	ck_fails(bide_fd_wait(fds[0], POLLNVAL), EINVAL);
	ck_fails(bide_fd_wait(fds[0], -1), EINVAL);
	ck_fails(bide_fd_wait(fds[0], 1 << 20), EINVAL);
	ck_fails(bide_fd_wait(-1, POLLIN), EBADF);
	ck_fails(bide_fd_wait(9999, POLLIN), EBADF);
	ck_fails(bide_fd_wait(INT32_MAX, POLLIN), EBADF);
	int number = fds[0];
	must(bide_close(number) == 0);
	ck_fails(bide_fd_wait(number, POLLIN), EBADF);
	must(bide_close(fds[1]) == 0);
	return NULL;
}

/* Scenario F13. */
START_TEST(bad_input_is_answered_with_the_errno_of_the_manual)
{
	run_virtual(bad_input, NULL);
}
END_TEST

START_TEST(outside_a_task_it_is_eperm)
{
	ck_fails(bide_fd_wait(0, POLLIN), EPERM);
	ck_fails(bide_fd_wait(0, 0), EINVAL);
}
END_TEST

int main(void)
{
	return SUITE("io_wait", LOOP(each_event_ends_a_wait_for_it, 0, FD_KINDS),
	    TEST(urgent_data_ends_a_wait_for_pollpri_and_ordinary_data_does_not),
	    LOOP(hang_up_ends_any_wait, 0, 5),
	    LOOP(a_peer_that_is_gone_is_told_to_a_blocked_writer_although_data_is_unread, 0, 3),
	    LOOP(what_cannot_be_polled_is_always_ready, 0, 4), TEST(an_epoll_descriptor_can_be_waited_for),
	    TEST(the_loops_own_poller_is_refused_and_does_not_hang),
	    TEST(a_timerfd_can_be_waited_for_and_read),
	    TEST(a_socket_that_is_not_connected_says_so_and_can_be_connected),
	    TEST(what_a_socket_said_before_it_was_connected_is_forgotten),
	    TEST(bad_input_is_answered_with_the_errno_of_the_manual), TEST(outside_a_task_it_is_eperm));
}
