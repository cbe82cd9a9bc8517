/* SPDX-License-Identifier: MIT
 * The poller: registration, events, waiting. No loop here. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "sched/poller.h"
#include "sockets.h"
#include "suite.h"

static struct poller poller;
static struct poller_event events[POLLER_BATCH];

static int wait_for(bide_time timeout)
{
	return poller_wait(&poller, events, POLLER_BATCH, clock_monotonic(), timeout);
}

/* Events of the one descriptor with the key 7, that has to be the only one to have some. */
static uint32_t events_now(void)
{
	int count = wait_for(0);
	must(count <= 1);
	must(count == 0 || events[0].key == 7);
	return count ? events[0].events : 0;
}

START_TEST(a_poller_takes_three_descriptors_and_gives_them_back)
{
	int before = open("/dev/null", O_RDONLY);
	close(before);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert(is_cloexec(poller.epoll_fd));
	ck_assert(is_cloexec(poller.wake_fd));
	ck_assert(is_nonblocking(poller.wake_fd));
	ck_assert(is_cloexec(poller.alarm_fd));
	poller_destroy(&poller);
	int after = open("/dev/null", O_RDONLY);
	close(after);
	ck_assert_int_eq(after, before);
}
END_TEST

START_TEST(a_failing_step_of_init_leaves_nothing_behind)
{
	static const struct {
		const char *spec;
		int err;
	} faults[] = {
		{ "epoll_create:EMFILE@1", EMFILE },
		{ "eventfd:ENFILE@1", ENFILE },
		{ "epoll_ctl:ENOMEM@1", ENOMEM },
		{ "timerfd:EMFILE@1", EMFILE },
		{ "epoll_ctl:ENOSPC@2", ENOSPC },
	};
	ck_assert_int_eq(bide_fault(faults[_i].spec), 0);
	ck_fails(poller_init(&poller), faults[_i].err);
}
END_TEST

START_TEST(each_kind_of_readiness_is_reported_once_when_it_begins)
{
	int fds[2];
	char byte = 'x';
	make_tcp(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_uint_eq(events_now(), POLLER_OUT); /* what is ready already */
	ck_assert_uint_eq(events_now(), 0);          /* an edge, not a level */
	must_write(fds[1], &byte, 1);
	ck_assert_int_eq(wait_for(LONG), 1);
	ck_assert_uint_eq(events[0].events & ~(uint32_t)POLLER_OUT, POLLER_IN);
	ck_assert_uint_eq(events_now(), 0);
	must_write(fds[1], &byte, 1);
	ck_assert_int_eq(wait_for(LONG), 1);         /* more of it is an edge too */
	ck_assert_int_eq((int)send(fds[1], &byte, 1, MSG_OOB), 1);
	ck_assert_int_eq(wait_for(LONG), 1);
	ck_assert(events[0].events & POLLER_PRI);
	shutdown(fds[1], SHUT_WR);
	ck_assert_int_eq(wait_for(LONG), 1);
	ck_assert(events[0].events & POLLER_RDHUP);
	ck_assert(!(events[0].events & POLLER_HUP)); /* half of it is no hang-up */
	close(fds[1]);
	must_write(fds[0], &byte, 1);                /* is answered by RST */
	while (!(events[0].events & POLLER_HUP))
		ck_assert_int_eq(wait_for(LONG), 1);
	ck_assert(events[0].events & POLLER_ERR);
	poller_destroy(&poller);
	close(fds[0]);
}
END_TEST

START_TEST(the_end_of_a_pipe_is_hang_up_for_the_reader_and_error_for_the_writer)
{
	int fds[2];
	make_pipe(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_uint_eq(events_now(), 0);
	close(fds[1]);
	ck_assert_uint_eq(events_now(), POLLER_HUP);
	close(fds[0]);
	make_pipe(fds);
	ck_assert_int_eq(poller_add(&poller, fds[1], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_uint_eq(events_now(), POLLER_OUT);
	close(fds[0]);
	ck_assert(events_now() & POLLER_ERR);
	close(fds[1]);
	poller_destroy(&poller);
}
END_TEST

START_TEST(what_cannot_be_polled_is_refused)
{
	static const struct {
		const char *path;
		int err;
	} files[] = {
		{ "/dev/null", EPERM }, { "/dev/zero", EPERM }, { "/", EPERM }, { "/proc/self/exe", EPERM },
		{ NULL, EBADF },
	};
	ck_assert_int_eq(poller_init(&poller), 0);
	int fd = files[_i].path ? open(files[_i].path, O_RDONLY) : -1;
	ck_fails(poller_add(&poller, fd, 7, POLLER_IN | POLLER_OUT), files[_i].err);
	ck_fails(poller_refresh(&poller, fd, 7, POLLER_IN | POLLER_OUT), files[_i].err);
	poller_remove(&poller, fd);
	if (fd >= 0)
		close(fd);
	poller_destroy(&poller);
}
END_TEST

START_TEST(a_refresh_tells_whether_the_file_is_the_one_that_was_added)
{
	int fds[2], other[2];
	char byte = 'x';
	make_unix(fds);
	make_unix(other);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(poller_add(&poller, fds[0], 3, POLLER_IN | POLLER_OUT), 0);
	ck_fails(poller_add(&poller, fds[0], 3, POLLER_IN | POLLER_OUT), EEXIST);
	ck_assert_int_eq(wait_for(0), 1);
	ck_assert_int_eq(poller_refresh(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_uint_eq(events_now(), POLLER_OUT);  /* anew, with the new key */
	ck_assert_int_eq(dup2(other[0], fds[0]), fds[0]);
	ck_fails(poller_refresh(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), ENOENT);
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_uint_eq(events_now(), POLLER_OUT);
	poller_remove(&poller, fds[0]);
	must_write(other[1], &byte, 1);
	ck_assert_uint_eq(events_now(), 0);
	ck_fails(poller_refresh(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), ENOENT);
	poller_destroy(&poller);
	close_pair(fds);
	close_pair(other);
}
END_TEST

START_TEST(removing_ends_the_events_although_the_file_lives_on)
{
	int fds[2];
	char byte = 'x';
	make_unix(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_uint_eq(events_now(), POLLER_OUT);
	int twin = dup(fds[0]);
	poller_remove(&poller, fds[0]);
	close(fds[0]);
	must_write(fds[1], &byte, 1);
	ck_assert_uint_eq(events_now(), 0);
	poller_destroy(&poller);
	close(fds[1]);
	close(twin);
}
END_TEST

START_TEST(more_than_a_batch_is_fetched_in_turns_and_none_is_left_out)
{
	enum { COUNT = 2 * POLLER_BATCH + 40 };
	static int fds[COUNT][2];
	int seen[COUNT] = { 0 }, total = 0;
	char byte = 'x';
	ck_assert_int_eq(poller_init(&poller), 0);
	for (int i = 0; i < COUNT; i++) {
		make_pipe(fds[i]);
		must_write(fds[i][1], &byte, 1);
		must(poller_add(&poller, fds[i][0], (uint64_t)i, POLLER_IN | POLLER_OUT) == 0);
	}
	for (int count; (count = wait_for(0)) > 0; total += count)
		for (int i = 0; i < count; i++)
			must(events[i].events == POLLER_IN && ++seen[events[i].key] == 1);
	ck_assert_int_eq(total, COUNT);
	poller_destroy(&poller);
	for (int i = 0; i < COUNT; i++)
		close_pair(fds[i]);
}
END_TEST

START_TEST(a_key_may_be_any_but_the_two_largest)
{
	int fds[2];
	make_unix(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(poller_add(&poller, fds[0], UINT64_MAX - 2, POLLER_IN | POLLER_OUT), 0);
	ck_assert_int_eq(wait_for(0), 1);
	ck_assert_uint_eq(events[0].key, UINT64_MAX - 2);
	poller_destroy(&poller);
	close_pair(fds);
}
END_TEST

static void *raise_wake_flag(void *arg)
{
	uint64_t one = 1;
	(void)arg;
	usleep(20000);
	must_write(poller.wake_fd, &one, sizeof one);
	return NULL;
}

START_TEST(the_wake_flag_ends_an_endless_wait_without_an_event)
{
	pthread_t thread;
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, raise_wake_flag, NULL), 0);
	ck_assert_int_eq(wait_for(BIDE_NEVER), 0);
	ck_assert_int_eq(wait_for(0), 0);
	pthread_join(thread, NULL);
	poller_destroy(&poller);
}
END_TEST

/* Statements 85, 86: never early, and finer than a millisecond where the kernel can. */
START_TEST(a_wait_never_ends_early)
{
	static const bide_time timeouts[] = { 1, 1000, 300 * BIDE_USEC, BIDE_MSEC, 1500 * BIDE_USEC, 12345678 };
	ck_assert_int_eq(poller_init(&poller), 0);
	if (_i)
		poller.has_ns_wait = false; /* an older kernel, an emulator */
	for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
		bide_time start = clock_monotonic();
		ck_assert_int_eq(wait_for(timeouts[i]), 0);
		ck_assert_int_ge(clock_monotonic() - start, timeouts[i]);
	}
	poller_destroy(&poller);
}
END_TEST

/* A wait that an event has cut short: the next ones are ended by the alarm. */
static void cut_a_wait_short(int fds[2])
{
	must_write(fds[1], "x", 1);
	must(wait_for(BIDE_SEC) == 1);
	must(poller.was_cut_short);
}

START_TEST(where_waits_are_cut_short_one_alarm_serves_many_of_them)
{
	int fds[2];
	make_pipe(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN), 0);
	cut_a_wait_short(fds);
	bide_time later = clock_monotonic() + 1000 * BIDE_SEC; /* nothing fires before it was looked at */
	for (int i = 0; i < 3; i++) {
		must_write(fds[1], "x", 1);
		ck_assert_int_eq(poller_wait(&poller, events, POLLER_BATCH, later + i, 20 * BIDE_MSEC), 1);
		ck_assert_int_eq(poller.alarm_at, later + 20 * BIDE_MSEC); /* it comes early enough for all */
	}
	must_write(fds[1], "x", 1);
	ck_assert_int_eq(poller_wait(&poller, events, POLLER_BATCH, later, 10 * BIDE_MSEC), 1);
	ck_assert_int_eq(poller.alarm_at, later + 10 * BIDE_MSEC); /* for this one it would come too late */
	bide_time start = clock_monotonic();
	must_write(fds[1], "x", 1);
	ck_assert_int_eq(poller_wait(&poller, events, POLLER_BATCH, start, 10 * BIDE_MSEC), 1);
	bide_fault("timerfd:EIO");
	ck_assert_int_eq(wait_for(BIDE_SEC), 0); /* ended by the alarm, which needed not be set */
	ck_assert_int_ge(clock_monotonic() - start, 10 * BIDE_MSEC);
	ck_assert_int_eq(poller.alarm_at, BIDE_NEVER);
	ck_assert(!poller.was_cut_short);
	poller_destroy(&poller);
	close_pair(fds);
}
END_TEST

START_TEST(a_wait_after_one_that_was_cut_short_ends_in_time_also_without_an_alarm)
{
	static const bide_time timeouts[] = { 1, 300 * BIDE_USEC, BIDE_MSEC, 12345678 };
	int fds[2];
	make_pipe(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN), 0);
	for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
		cut_a_wait_short(fds);
		poller.alarm_at = BIDE_NEVER; /* the one that cut_a_wait_short() may have left is far away */
		bide_fault(_i ? "timerfd:EINVAL" : NULL);
		bide_time start = clock_monotonic();
		ck_assert_int_eq(wait_for(timeouts[i]), 0);
		ck_assert_int_ge(clock_monotonic() - start, timeouts[i]);
		bide_fault(NULL);
	}
	poller_destroy(&poller);
	close_pair(fds);
}
END_TEST

START_TEST(a_wait_of_centuries_does_not_overflow)
{
	static const bide_time timeouts[] = { BIDE_NEVER - 1, INT64_C(100) * 365 * 86400 * BIDE_SEC };
	int fds[2];
	make_unix(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	if (_i & 1)
		poller.has_ns_wait = false;
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_int_eq(wait_for(timeouts[_i / 2]), 1);
	poller_destroy(&poller);
	close_pair(fds);
}
END_TEST

static void *send_later(void *arg)
{
	usleep(30000);
	must_write(*(int *)arg, "x", 1);
	return NULL;
}

START_TEST(a_wait_of_centuries_really_waits)
{
	static const bide_time timeouts[] = { BIDE_NEVER - 1, INT64_C(100) * 365 * 86400 * BIDE_SEC };
	int fds[2];
	pthread_t thread;
	make_pipe(fds);
	ck_assert_int_eq(poller_init(&poller), 0);
	if (_i & 1)
		poller.has_ns_wait = false;
	ck_assert_int_eq(poller_add(&poller, fds[0], 7, POLLER_IN | POLLER_OUT), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, send_later, &fds[1]), 0);
	ck_assert_int_eq(wait_for(timeouts[_i / 2]), 1);
	pthread_join(thread, NULL);
	poller_destroy(&poller);
	close_pair(fds);
}
END_TEST

static void on_alarm(int signal)
{
	(void)signal;
}

START_TEST(a_signal_ends_a_wait_without_an_event)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART }, old;
	struct itimerval soon = { .it_value = { 0, 30000 } };
	ck_assert_int_eq(poller_init(&poller), 0);
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	ck_assert_int_eq(wait_for(BIDE_NEVER), 0);
	sigaction(SIGALRM, &old, NULL);
	ck_assert_int_eq(bide_fault("epoll_wait:EINTR@1"), 0);
	ck_assert_int_eq(wait_for(BIDE_NEVER), 0);
	poller_destroy(&poller);
}
END_TEST

int main(void)
{
	return SUITE_EXACT("poller", TEST(a_poller_takes_three_descriptors_and_gives_them_back),
	    LOOP(a_failing_step_of_init_leaves_nothing_behind, 0, 5),
	    TEST(each_kind_of_readiness_is_reported_once_when_it_begins),
	    TEST(the_end_of_a_pipe_is_hang_up_for_the_reader_and_error_for_the_writer),
	    LOOP(what_cannot_be_polled_is_refused, 0, 5),
	    TEST(a_refresh_tells_whether_the_file_is_the_one_that_was_added),
	    TEST(removing_ends_the_events_although_the_file_lives_on),
	    TEST(more_than_a_batch_is_fetched_in_turns_and_none_is_left_out),
	    TEST(a_key_may_be_any_but_the_two_largest),
	    TEST(the_wake_flag_ends_an_endless_wait_without_an_event),
	    LOOP(a_wait_never_ends_early, 0, 2),
	    TEST(where_waits_are_cut_short_one_alarm_serves_many_of_them),
	    LOOP(a_wait_after_one_that_was_cut_short_ends_in_time_also_without_an_alarm, 0, 2), LOOP(a_wait_of_centuries_does_not_overflow, 0, 4),
	    LOOP(a_wait_of_centuries_really_waits, 0, 4), TEST(a_signal_ends_a_wait_without_an_event));
}
