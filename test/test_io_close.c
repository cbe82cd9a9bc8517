/* SPDX-License-Identifier: MIT
 * bide_close() and bide_fd_forget(), with and without tasks that wait. Statements 51, 165, 167,
 * scenarios F1, F5, F13. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static void look_now(void)
{
	struct poller_event events[POLLER_BATCH];
	int count = poller_wait(&loop_current->poller, events, POLLER_BATCH, 0, 0);
	descriptors_fire(loop_current, events, count);
}

/* Two readers and an observer of fds[0]; two writers to it, if it can be written to. */
struct crowd {
	struct io io[6];
	bide_task *tasks[6];
	int count;
};

static void gather_crowd(struct crowd *crowd, int fd, bool has_writers)
{
	static bide_fn *const bodies[] = { io_read, io_read, io_wait, io_write, io_write, io_wait };
	crowd->count = has_writers ? 6 : 3;
	for (int i = 0; i < crowd->count; i++) {
		size_t filled = 0;
		crowd->io[i] = (struct io){ .fd = fd, .events = i < 3 ? POLLIN : POLLPRI, .data = "x", .size = 1 };
		crowd->tasks[i] = io_start_parked(bodies[i], &crowd->io[i], bodies[i] == io_write ? &filled : NULL);
	}
	for (int i = 0; i < crowd->count; i++)
		must(crowd->io[i].count == -2);
}

static void must_all_fail(struct crowd *crowd, int err)
{
	for (int i = 0; i < crowd->count; i++) {
		must(crowd->io[i].count == -1 && crowd->io[i].err == err);
		must(must_join(crowd->tasks[i]).err == err);
	}
}

static void *close_wakes(void *arg)
{
	const struct fd_kind *kind = arg;
	struct crowd crowd;
	int fds[2];
	kind->make(fds);
	gather_crowd(&crowd, fds[0], (kind->traits & (TWO_WAY | STREAM)) == (TWO_WAY | STREAM));
	must(bide_close(fds[0]) == 0);
	must(crowd.io[0].count == -2); /* closing suspends nobody */
	uint64_t turn = loop_current->ready.turn;
	turns(1);
	must(loop_current->ready.turn <= turn + 2);
	must_all_fail(&crowd, EBADF);
	must(!is_open(fds[0]));
	close(fds[1]);
	return NULL;
}

/* Statement 165: within one turn. */
START_TEST(close_wakes_everybody_who_waits_with_ebadf)
{
	run_real_in_order(close_wakes, (void *)&fd_kinds[_i]);
}
END_TEST

/* A new file under a number that is free. */
static void unix_pair_at(int number, int fds[2])
{
	make_unix(fds);
	int near = fds[1] == number, end = fds[near];
	fds[1] = fds[1 - near];
	fds[0] = number;
	if (end == number)
		return;
	must(dup2(end, number) == number);
	close(end);
}

static void *number_goes_on(void *arg)
{
	const struct fd_kind *kind = arg;
	int old[2], new[2];
	kind->make(old);
	struct io io = { .fd = old[0] };
	bide_task *reader = io_start(io_read, &io);
	must(bide_close(old[0]) == 0);
	unix_pair_at(old[0], new); /* before the reader runs */
	must_write(new[1], "new", 3);
	turns(2);
	must(join_within(reader, LONG).err == EBADF);
	must(bytes_waiting(new[0]) == 3);
	struct io fresh = { .fd = new[0] };
	must(join_within(io_start(io_read, &fresh), LONG).err == 0 && fresh.count == 3);
	close(old[1]);
	close_pair(new);
	return NULL;
}

/* Statement 165, scenario F1. */
START_TEST(a_reader_of_the_closed_file_does_not_touch_the_next_one)
{
	run_real(number_goes_on, (void *)&fd_kinds[_i]);
}
END_TEST

static void *woken_then_closed(void *arg)
{
	const struct fd_kind *kind = arg;
	int old[2], new[2];
	kind->make(old);
	struct io io[2] = { { .fd = old[0] }, { .fd = old[0] } };
	bide_task *readers[2] = { io_start(io_read, &io[0]), io_start(io_read, &io[1]) };
	must_write(old[1], "old", 3);
	while (bide_task_state(readers[0]) != BIDE_TASK_READY)
		look_now();
	must(bide_close(old[0]) == 0);
	unix_pair_at(old[0], new);
	must_write(new[1], "new", 3);
	struct io fresh = { .fd = new[0], .size = 3 };
	bide_task *newcomer = io_start(io_read, &fresh);
	for (int i = 0; i < 2; i++)
		must(join_within(readers[i], LONG).err == EBADF);
	must(join_within(newcomer, LONG).err == 0 && fresh.count == 3);
	close(old[1]);
	close_pair(new);
	return NULL;
}

/* The event was fetched, the reader woken, and then the file closed and its number given on. */
START_TEST(a_reader_that_was_woken_and_lost_its_file_fails)
{
	run_real(woken_then_closed, (void *)&fd_kinds[_i]);
}
END_TEST

/* Events of a file that are fetched in the same batch in which it is closed. */
static void *closed_by_the_first(void *arg)
{
	struct io *io = arg;
	ssize_t count = bide_read(io->fd, io->buf, 1);
	if (count != 1)
		return bide_fail(errno);
	must(bide_close(io->events) == 0);
	return NULL;
}

static void *close_in_a_batch(void *arg)
{
	int a[2], b[2];
	(void)arg;
	make_pipe(a);
	make_pipe(b);
	/* Whoever runs first closes the other one's. */
	struct io first = { .fd = a[0], .events = b[0] }, second = { .fd = b[0], .events = a[0] };
	bide_task *first_task = io_start(closed_by_the_first, &first);
	bide_task *second_task = io_start(closed_by_the_first, &second);
	must_write(a[1], "x", 1);
	must_write(b[1], "x", 1);
	bide_result one = must_join(first_task);
	if (one.err == 0)
		must(is_open(a[0]) && !is_open(b[0]));
	else
		must(one.err == EBADF);
	bide_result two = must_join(second_task);
	must((one.err == 0) != (two.err == 0));
	close(is_open(a[0]) ? a[0] : b[0]);
	close(a[1]);
	close(b[1]);
	return NULL;
}

START_TEST(of_two_that_are_ready_at_once_the_first_may_close_the_second)
{
	run_with(_i ? BIDE_RANDOM_ORDER : 0, close_in_a_batch, NULL);
}
END_TEST

static void *accept_on_closing(void *arg)
{
	struct sockaddr_in address;
	(void)arg;
	int listener = plain_listener(4, &address);
	struct io io[2] = { { .fd = listener }, { .fd = listener } };
	bide_task *tasks[2] = { io_start(io_accept, &io[0]), io_start(io_accept, &io[1]) };
	must(bide_close(listener) == 0);
	for (int i = 0; i < 2; i++)
		must(join_within(tasks[i], LONG).err == EBADF);
	return NULL;
}

/* Scenario F1. */
START_TEST(closing_a_listener_ends_its_accepts)
{
	run_real(accept_on_closing, NULL);
}
END_TEST

struct callback_close {
	int fd;
	int result;
	bide_timer timer;
};

static void close_in_callback(void *arg)
{
	struct callback_close *call = arg;
	call->result = bide_close(call->fd);
}

static void *close_from_callback(void *arg)
{
	const struct fd_kind *kind = arg;
	struct callback_close call = { .result = -2 };
	struct crowd crowd;
	int fds[2];
	kind->make(fds);
	gather_crowd(&crowd, fds[0], false);
	call.fd = fds[0];
	must(bide_call_later(&call.timer, BIDE_MSEC, close_in_callback, &call) == 0);
	for (int i = 0; i < crowd.count; i++)
		join_within(crowd.tasks[i], LONG);
	must(call.result == 0 && crowd.io[0].err == EBADF && crowd.io[2].err == EBADF);
	close(fds[1]);
	return NULL;
}

START_TEST(a_callback_may_close)
{
	run_virtual(close_from_callback, (void *)&fd_kinds[_i]);
}
END_TEST

static void *close_with_cancel(void *arg)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	must(bide_cancel(bide_self(), NULL) == 0);
	must(bide_close(fds[0]) == 0);
	must(bide_fd_forget(fds[1]) == 0);
	must(bide_close(fds[1]) == 0);
	must(bide_uncancel() == 0);
	return NULL;
}

/* Statement 51. */
START_TEST(close_and_forget_succeed_with_a_cancel_pending)
{
	run_virtual(close_with_cancel, NULL);
}
END_TEST

START_TEST(close_works_outside_any_loop)
{
	int fds[2];
	make_unix(fds);
	ck_assert_int_eq(bide_close(fds[0]), 0);
	ck_assert_int_eq(bide_close(fds[1]), 0);
	ck_fails(bide_close(fds[1]), EBADF);
	ck_fails(bide_close(-1), EBADF);
	ck_fails(bide_close(1 << 30), EBADF);
	ck_fails(bide_fd_forget(3), EPERM);
	ck_fails(bide_fd_forget(-1), EBADF);
}
END_TEST

static void *close_elsewhere(void *arg)
{
	int *fd = arg;
	return bide_close(*fd) == 0 ? NULL : fd;
}

static void *thread_closes(void *arg)
{
	pthread_t thread;
	void *failed;
	int fds[2];
	(void)arg;
	make_unix(fds);
	must(pthread_create(&thread, NULL, close_elsewhere, &fds[0]) == 0);
	pthread_join(thread, &failed);
	must(!failed && !is_open(fds[0]));
	close(fds[1]);
	return NULL;
}

START_TEST(another_thread_may_close_what_no_loop_knows)
{
	run_virtual(thread_closes, NULL);
}
END_TEST

static void *injected(void *arg)
{
	static const struct {
		const char *spec;
		int err;
	} faults[] = { { "close:EINTR@1", EINTR }, { "close:EIO@1", EIO } };
	for (int i = 0; i < 2; i++) {
		struct crowd crowd;
		int fds[2];
		make_unix(fds);
		gather_crowd(&crowd, fds[0], true);
		must(bide_fault(faults[i].spec) == 0);
		ck_fails(bide_close(fds[0]), faults[i].err);
		must(bide_fault(NULL) == 0);
		must(!is_open(fds[0]));
		turns(1);
		must_all_fail(&crowd, EBADF);
		close(fds[1]);
	}
	(void)arg;
	return NULL;
}

/* "After EINTR and EIO too the descriptor is closed." */
START_TEST(an_error_of_close_comes_through_and_the_descriptor_is_closed)
{
	run_real_in_order(injected, NULL);
}
END_TEST

static void *twice(void *arg)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	must(bide_close(fds[0]) == 0);
	ck_fails(bide_close(fds[0]), EBADF);
	ck_fails(bide_close(-1), EBADF);
	ck_fails(bide_close(1 << 30), EBADF);
	ck_fails(bide_fd_forget(-1), EBADF);
	must(bide_fd_forget(1 << 30) == 0);
	must(bide_close(fds[1]) == 0);
	return NULL;
}

START_TEST(closing_twice_is_ebadf)
{
	run_virtual(twice, NULL);
}
END_TEST

/* ---- forget -------------------------------------------------------------------------------------- */

static void *forget(void *arg)
{
	const struct fd_kind *kind = arg;
	struct crowd crowd;
	int fds[2];
	char byte = 0;
	kind->make(fds);
	gather_crowd(&crowd, fds[0], (kind->traits & (TWO_WAY | STREAM)) == (TWO_WAY | STREAM));
	must(bide_fd_forget(fds[0]) == 0);
	turns(1);
	must_all_fail(&crowd, EBADF);
	must(is_open(fds[0]));
	/* Other code uses it, and the loop hears nothing of that. */
	int waits = counted.epoll_wait, fruitless = counted.fruitless;
	must_write(fds[1], "y", 1);
	struct pollfd poll_fd = { .fd = fds[0], .events = POLLIN };
	must(poll(&poll_fd, 1, 10000) == 1);
	must(bide_sleep(BIDE_MSEC) == 0);
	must(counted.epoll_wait - waits == counted.fruitless - fruitless);
	must(read(fds[0], &byte, 1) == 1 && byte == 'y');
	/* And it may come back. */
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_read, &io);
	must_write(fds[1], "z", 1);
	must(join_within(reader, LONG).err == 0 && io.buf[0] == 'z');
	close_pair(fds);
	return NULL;
}

START_TEST(forget_wakes_the_waiters_and_leaves_the_descriptor_to_others)
{
	run_real_in_order(forget, (void *)&fd_kinds[_i]);
}
END_TEST

/* ---- the end of a run ------------------------------------------------------------------------------ */

static void *leave_waiters(void *arg)
{
	struct crowd *crowd = arg;
	gather_crowd(crowd, crowd->io[0].fd, true);
	return NULL;
}

/* Scenario C15, and: a loop takes its registrations with it, the descriptors stay the caller's. */
START_TEST(waiters_left_at_the_end_of_a_run_are_canceled)
{
	for (int round = 0; round < 3; round++) {
		struct crowd crowd;
		int fds[2];
		make_tcp(fds);
		crowd.io[0].fd = fds[0];
		run_real_in_order(leave_waiters, &crowd);
		for (int i = 0; i < crowd.count; i++)
			ck_assert(crowd.io[i].count == -1 && crowd.io[i].err == ECANCELED);
		ck_assert(is_open(fds[0]));
		close_pair(fds);
	}
}
END_TEST

int main(void)
{
	return SUITE("io_close", LOOP(close_wakes_everybody_who_waits_with_ebadf, 0, FD_KINDS),
	    LOOP(a_reader_of_the_closed_file_does_not_touch_the_next_one, 0, FD_KINDS),
	    LOOP(a_reader_that_was_woken_and_lost_its_file_fails, 0, FD_KINDS),
	    LOOP(of_two_that_are_ready_at_once_the_first_may_close_the_second, 0, 2),
	    TEST(closing_a_listener_ends_its_accepts), LOOP(a_callback_may_close, 0, FD_KINDS),
	    TEST(close_and_forget_succeed_with_a_cancel_pending), TEST(close_works_outside_any_loop),
	    TEST(another_thread_may_close_what_no_loop_knows),
	    TEST(an_error_of_close_comes_through_and_the_descriptor_is_closed), TEST(closing_twice_is_ebadf),
	    LOOP(forget_wakes_the_waiters_and_leaves_the_descriptor_to_others, 0, FD_KINDS),
	    TEST(waiters_left_at_the_end_of_a_run_are_canceled));
}
