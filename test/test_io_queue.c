/* SPDX-License-Identifier: MIT
 * Several tasks at one descriptor: readers and writers in line, observers beside them. Statements 163
 * and 173, scenarios F7, F8, F21. */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

/* Fetches what the poller has, as the loop would do between two turns, and runs nobody. */
static void look_now(void)
{
	struct poller_event events[POLLER_BATCH];
	int count;
	bide_fault(NULL); /* it is to be answered */
	while ((count = poller_wait(&loop_current->poller, events, POLLER_BATCH, 0, 0)) > 0)
		descriptors_fire(loop_current, events, count);
}

static void must_wait(const struct io *io)
{
	must_msg(io->count == -2, "a task went on that should wait");
}

static void must_get(bide_task *task, const struct io *io, const char *text)
{
	join_within(task, LONG);
	must_msg(io->count == (ssize_t)strlen(text), "got %zd (%s) instead of \"%s\"", io->count,
	    strerror(io->err), text);
	must(memcmp(io->buf, text, strlen(text)) == 0);
}

/* In line at one descriptor, in this order. */
static void start_readers(bide_task **tasks, struct io *io, int count, int fd)
{
	for (int i = 0; i < count; i++) {
		io[i].fd = fd;
		tasks[i] = io_start(io_read, &io[i]);
	}
}

/* ---- in line ----------------------------------------------------------------------------------- */

static void *three_readers(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io io[3] = { { 0 } };
	bide_task *tasks[3];
	kind->make(fds);
	start_readers(tasks, io, 3, fds[0]);
	for (int i = 0; i < 3; i++) {
		char text[2] = { (char)('a' + i), 0 };
		must_write(fds[1], text, 1);
		must_get(tasks[i], &io[i], text);
		turns(5);
		for (int k = i + 1; k < 3; k++)
			must_wait(&io[k]);
	}
	close_pair(fds);
	return NULL;
}

START_TEST(readers_are_served_first_come_first_served)
{
	counted.modify_is_mute = true;
	run_real(three_readers, (void *)&fd_kinds[_i]);
}
END_TEST

static void *three_readers_in_one_go(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io io[3] = { { .size = 1 }, { .size = 1 }, { .size = 1 } };
	io_order = 0;
	bide_task *tasks[3];
	kind->make(fds);
	start_readers(tasks, io, 3, fds[0]);
	for (int i = 0; i < 3; i++)
		must_write(fds[1], &"abc"[i], 1);
	must_get(tasks[0], &io[0], "a");
	must_get(tasks[1], &io[1], "b");
	must_get(tasks[2], &io[2], "c");
	must(io[0].order == 1 && io[1].order == 2 && io[2].order == 3);
	close_pair(fds);
	return NULL;
}

START_TEST(what_one_reader_leaves_goes_to_the_next_in_line)
{
	counted.modify_is_mute = true;
	run_real(three_readers_in_one_go, (void *)&fd_kinds[_i]);
}
END_TEST

static void *drained(void *arg)
{
	struct io io[3] = { { 0 } };
	bide_task *tasks[3];
	int fds[2];
	(void)arg;
	make_tcp(fds);
	bide_fault(NULL); /* calls are counted */
	for (int i = 0; i < 3; i++) {
		io[i].fd = fds[0];
		tasks[i] = io_start(io_recv, &io[i]);
	}
	for (int i = 0; i < 3; i++) {
		int tries = counted.recv;
		must_write(fds[1], "ab", 2);
		must_get(tasks[i], &io[i], "ab");
		turns(5);
		must(counted.recv - tries == 1); /* the others were let sleep */
	}
	close_pair(fds);
	return NULL;
}

START_TEST(a_reader_that_leaves_nothing_wakes_nobody)
{
	counted.modify_is_mute = true;
	run_real(drained, NULL);
}
END_TEST

static void *middle_is_canceled(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io io[3] = { { 0 } };
	bide_task *tasks[3];
	kind->make(fds);
	start_readers(tasks, io, 3, fds[0]);
	must(bide_cancel(tasks[1], NULL) == 0);
	must(join_within(tasks[1], LONG).err == ECANCELED && io[1].err == ECANCELED);
	must_write(fds[1], "a", 1);
	must_get(tasks[0], &io[0], "a");
	turns(3);
	must_wait(&io[2]);
	must_write(fds[1], "b", 1);
	must_get(tasks[2], &io[2], "b");
	close_pair(fds);
	return NULL;
}

START_TEST(a_canceled_reader_leaves_the_line_to_the_others)
{
	counted.modify_is_mute = true;
	run_real(middle_is_canceled, (void *)&fd_kinds[_i]);
}
END_TEST

static int wait_until_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	return poll(&poll_fd, 1, 10000);
}

static void *woken_is_canceled(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io io[2] = { { 0 } };
	bide_task *tasks[2];
	kind->make(fds);
	start_readers(tasks, io, 2, fds[0]);
	must_write(fds[1], "a", 1);
	must(wait_until_readable(fds[0]) == 1);
	look_now();
	must(bide_task_state(tasks[0]) == BIDE_TASK_READY);
	must(bide_task_state(tasks[1]) == BIDE_TASK_SUSPENDED);
	must(bide_cancel(tasks[0], NULL) == 0);
	must(join_within(tasks[0], LONG).err == ECANCELED);
	must_get(tasks[1], &io[1], "a");
	close_pair(fds);
	return NULL;
}

/* Statement 43. */
START_TEST(a_woken_reader_that_is_canceled_before_it_runs_passes_the_data_on)
{
	counted.modify_is_mute = true;
	run_real(woken_is_canceled, (void *)&fd_kinds[_i]);
}
END_TEST

static void *woken_is_canceled_alone(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io first = { 0 }, second = { 0 };
	kind->make(fds);
	first.fd = second.fd = fds[0];
	bide_task *task = io_start(io_read, &first);
	must_write(fds[1], "a", 1);
	must(wait_until_readable(fds[0]) == 1);
	look_now();
	must(bide_cancel(task, NULL) == 0);
	must(join_within(task, LONG).err == ECANCELED);
	must_get(io_start(io_read, &second), &second, "a");
	close_pair(fds);
	return NULL;
}

START_TEST(what_a_canceled_reader_left_is_there_for_a_later_one)
{
	counted.modify_is_mute = true;
	run_real(woken_is_canceled_alone, (void *)&fd_kinds[_i]);
}
END_TEST

/* The newcomer asks while the first one waits (0), or was woken and has not run (1). */
static int newcomer_case;

static void *newcomer(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io io = { .size = 1 };
	char byte = 0;
	kind->make(fds);
	io.fd = fds[0];
	bide_task *task = io_start(io_read, &io);
	must_write(fds[1], "a", 1);
	must_write(fds[1], "b", 1);
	must(wait_until_readable(fds[0]) == 1);
	if (newcomer_case)
		look_now();
	must(bide_read(fds[0], &byte, 1) == 1);
	must_msg(byte == 'b', "the newcomer came first");
	must_get(task, &io, "a");
	close_pair(fds);
	return NULL;
}

START_TEST(a_newcomer_does_not_overtake_who_waits)
{
	counted.modify_is_mute = true;
	newcomer_case = _i / FD_KINDS;
	run_real(newcomer, (void *)&fd_kinds[_i % FD_KINDS]);
}
END_TEST

static void *thief(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io io[2] = { { 0 } };
	bide_task *tasks[2];
	kind->make(fds);
	start_readers(tasks, io, 2, fds[0]);
	must_write(fds[1], "x", 1);
	must(wait_until_readable(fds[0]) == 1);
	look_now();
	must(drain(fds[0]) == 1);
	turns(5);
	must_wait(&io[0]);
	must_wait(&io[1]);
	must_write(fds[1], "a", 1);
	must_get(tasks[0], &io[0], "a");
	must_write(fds[1], "b", 1);
	must_get(tasks[1], &io[1], "b");
	close_pair(fds);
	return NULL;
}

/* Statement 173: somebody else took the data. */
START_TEST(a_reader_that_was_woken_for_nothing_keeps_its_place)
{
	counted.modify_is_mute = true;
	run_real(thief, (void *)&fd_kinds[_i]);
}
END_TEST

static void *reader_of_many(void *arg)
{
	struct io *io = arg;
	io->count = bide_read(io->fd, io->buf, 1);
	io->err = errno;
	io->order = ++io_order;
	return NULL;
}

/* Tickets: each byte goes to one reader, in the order in which they came; those canceled take none. */
static void *many_readers(void *arg)
{
	enum { COUNT = 60 };
	const struct fd_kind *kind = arg;
	static struct io io[COUNT];
	bide_task *tasks[COUNT];
	int fds[2], next = 0;
	kind->make(fds);
	io_order = 0;
	for (int i = 0; i < COUNT; i++) {
		io[i] = (struct io){ .fd = fds[0] };
		tasks[i] = io_start(reader_of_many, &io[i]);
	}
	for (int i = 2; i < COUNT; i += 3)
		must(bide_cancel(tasks[i], NULL) == 0);
	for (int i = 0; i < COUNT; i++) {
		char byte = (char)('0' + i);
		if (i % 3 == 2)
			continue;
		must_write(fds[1], &byte, 1);
		if (i % 5 == 0)
			turns(3);
	}
	for (int i = 0; i < COUNT; i++) {
		join_within(tasks[i], LONG);
		if (i % 3 == 2) {
			must(io[i].count == -1 && io[i].err == ECANCELED);
			continue;
		}
		must(io[i].count == 1 && io[i].buf[0] == (char)('0' + i));
		must(io[i].order > next);
		next = io[i].order;
	}
	must(drain(fds[0]) == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(many_readers_get_one_message_each_in_their_order)
{
	counted.modify_is_mute = true;
	run_real(many_readers, (void *)&fd_kinds[_i]);
}
END_TEST

/* ---- writers ------------------------------------------------------------------------------------ */

static void *three_writers(void *arg)
{
	enum { SIZE = 512 };
	const struct fd_kind *kind = arg;
	static char blocks[3][SIZE], got[3 * SIZE];
	struct io io[3];
	bide_task *tasks[3];
	int fds[2];
	kind->make(fds);
	size_t filled = fill(fds[1]);
	for (int i = 0; i < 3; i++) {
		memset(blocks[i], 'a' + i, SIZE);
		io[i] = (struct io){ .fd = fds[1], .data = blocks[i], .size = SIZE };
		tasks[i] = io_start(io_write, &io[i]);
	}
	turns(3);
	for (int i = 0; i < 3; i++)
		must(io[i].count == -2 || io[i].count == SIZE); /* a TCP socket that was full may find room a moment later */
	for (size_t left = filled; left > 0;) {
		ssize_t count = bide_read(fds[0], got, left < sizeof got ? left : sizeof got);
		must(count > 0);
		left -= (size_t)count;
	}
	for (int i = 0; i < 3; i++) {
		must(join_within(tasks[i], LONG).err == 0);
		must(io[i].count == SIZE);
	}
	for (int i = 0; i < 3; i++) {
		must(bide_read_exact(fds[0], got, SIZE, NULL) == SIZE);
		must_msg(memcmp(got, blocks[i], SIZE) == 0, "the writers did not go in their order");
	}
	close_pair(fds);
	return NULL;
}

START_TEST(writers_are_served_first_come_first_served)
{
	counted.modify_is_mute = true;
	run_real(three_writers, (void *)kind_with(STREAM, _i));
}
END_TEST

static void *both_directions(void *arg)
{
	enum { SIZE = 1 << 20 };
	const struct fd_kind *kind = arg;
	static char out[SIZE], in[SIZE];
	int fds[2];
	size_t done = 0;
	struct io io = { 0 };
	kind->make(fds);
	io.fd = fds[0];
	bide_task *reader = io_start(io_read, &io);
	fill(fds[0]);
	int registered = counted.epoll_add;
	struct io write_io = { .fd = fds[0], .data = out, .size = 1 };
	bide_task *writer = io_start(io_write, &write_io);
	must_wait(&write_io);
	/* One registration serves both. */
	must(counted.epoll_add == registered);
	must_write(fds[1], "in", 2);
	must_get(reader, &io, "in");
	must_wait(&write_io);
	drain(fds[1]);
	must(join_within(writer, LONG).err == 0);
	(void)in;
	(void)done;
	close_pair(fds);
	return NULL;
}

/* Statement 163. */
START_TEST(a_reader_and_a_writer_share_one_registration)
{
	run_real(both_directions, (void *)kind_with(TWO_WAY | STREAM, _i));
}
END_TEST

static void *reader_is_canceled_beside_writer(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	fill(fds[0]);
	struct io reader_io = { .fd = fds[0] }, writer_io = { .fd = fds[0], .data = "x", .size = 1 };
	bide_task *reader = io_start(io_read, &reader_io);
	bide_task *writer = io_start(io_write, &writer_io);
	must(bide_cancel(reader, NULL) == 0);
	must(join_within(reader, LONG).err == ECANCELED);
	must_wait(&writer_io);
	must(drain(fds[1]) > 0);
	must(join_within(writer, LONG).err == 0);
	close_pair(fds);
	return NULL;
}

/* Scenario F7. */
START_TEST(canceling_the_reader_leaves_the_writer_waiting)
{
	counted.modify_is_mute = true;
	run_real(reader_is_canceled_beside_writer, (void *)kind_with(TWO_WAY | STREAM, _i));
}
END_TEST

/* ---- the end ------------------------------------------------------------------------------------ */

static void *end_of_input(void *arg)
{
	const struct fd_kind *kind = arg;
	struct io io[3] = { { 0 } };
	bide_task *tasks[3];
	int fds[2];
	kind->make(fds);
	start_readers(tasks, io, 3, fds[0]);
	close(fds[1]);
	fds[1] = -1;
	for (int i = 0; i < 3; i++) {
		join_within(tasks[i], LONG);
		must(io[i].count == 0);
	}
	close_pair(fds);
	return NULL;
}

/* Scenario F8: a pipe says HUP only. */
START_TEST(the_end_of_input_wakes_every_reader)
{
	counted.modify_is_mute = true;
	run_real(end_of_input, (void *)kind_with(STREAM, _i));
}
END_TEST

static void *end_of_readers(void *arg)
{
	const struct fd_kind *kind = arg;
	struct io io[3];
	bide_task *tasks[3];
	int fds[2];
	kind->make(fds);
	for (int i = 0; i < 3; i++) {
		size_t filled = 0;
		io[i] = (struct io){ .fd = fds[1], .data = "x", .size = 1 };
		tasks[i] = io_start_parked(io_write, &io[i], &filled);
	}
	for (int i = 0; i < 3; i++)
		must_wait(&io[i]);
	close(fds[0]);
	fds[0] = -1;
	for (int i = 0; i < 3; i++) {
		join_within(tasks[i], LONG);
		must(io[i].count == -1 && (io[i].err == EPIPE || io[i].err == ECONNRESET));
	}
	must(io[2].err == EPIPE);
	close_pair(fds);
	return NULL;
}

/* Scenario F8, statement 169. */
START_TEST(the_end_of_the_readers_wakes_every_writer)
{
	counted.modify_is_mute = true;
	run_real(end_of_readers, (void *)kind_with(STREAM, _i));
}
END_TEST

static void *reset(void *arg)
{
	struct io io[2] = { { 0 } };
	bide_task *tasks[2];
	int fds[2];
	(void)arg;
	make_tcp(fds);
	start_readers(tasks, io, 2, fds[0]);
	reset_connection(fds[1]);
	close(fds[1]);
	fds[1] = -1;
	join_within(tasks[0], LONG);
	join_within(tasks[1], LONG);
	must(io[0].count == -1 && io[0].err == ECONNRESET);
	must(io[1].count == 0); /* the kernel tells it once */
	close_pair(fds);
	return NULL;
}

START_TEST(a_reset_wakes_every_reader_and_is_told_to_the_first)
{
	counted.modify_is_mute = true;
	run_real(reset, NULL);
}
END_TEST

/* ---- observers ----------------------------------------------------------------------------------- */

static void *observers_first(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	struct io looks[2] = { { .fd = fds[0], .events = POLLIN }, { .fd = fds[0], .events = POLLIN } };
	struct io reads = { .fd = fds[0] };
	bide_task *observers[2] = { io_start(io_wait, &looks[0]), io_start(io_wait, &looks[1]) };
	bide_task *reader = io_start(io_read, &reads);
	must_write(fds[1], "a", 1);
	must_get(reader, &reads, "a");
	for (int i = 0; i < 2; i++) {
		join_within(observers[i], LONG);
		must(looks[i].count & POLLIN);
	}
	close_pair(fds);
	return NULL;
}

START_TEST(observers_and_a_reader_are_woken_together)
{
	counted.modify_is_mute = true;
	run_real_in_order(observers_first, (void *)&fd_kinds[_i]);
}
END_TEST

static void *reader_first(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	struct io reads[2] = { { .fd = fds[0] }, { .fd = fds[0] } };
	struct io looks = { .fd = fds[0], .events = POLLIN };
	bide_task *first = io_start(io_read, &reads[0]);
	bide_task *observer = io_start(io_wait, &looks);
	must_write(fds[1], "a", 1);
	must_get(first, &reads[0], "a");
	turns(3);
	must_wait(&looks); /* what the reader took is not there any more */
	bide_task *second = io_start(io_read, &reads[1]);
	must(bide_cancel(second, NULL) == 0);
	must(join_within(second, LONG).err == ECANCELED);
	must_write(fds[1], "b", 1);
	join_within(observer, LONG);
	must(looks.count == (POLLIN | (looks.count & POLLOUT)));
	must(drain(fds[0]) == 1);
	close_pair(fds);
	return NULL;
}

START_TEST(an_observer_sees_only_what_the_readers_leave)
{
	counted.modify_is_mute = true;
	run_real_in_order(reader_first, (void *)&fd_kinds[_i]);
}
END_TEST

static void *observer_of_room(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	fill(fds[1]);
	struct io looks = { .fd = fds[1], .events = POLLOUT };
	struct io writes = { .fd = fds[1], .data = "x", .size = 1 };
	bide_task *observer = io_start(io_wait, &looks);
	bide_task *writer = io_start(io_write, &writes);
	turns(2);
	must_wait(&looks);
	must_wait(&writes);
	must(drain(fds[0]) > 0);
	must(join_within(writer, LONG).err == 0);
	join_within(observer, LONG);
	must(looks.count & POLLOUT);
	close_pair(fds);
	return NULL;
}

START_TEST(observers_and_a_writer_are_woken_together)
{
	counted.modify_is_mute = true;
	run_real(observer_of_room, (void *)kind_with(STREAM, _i));
}
END_TEST

/* An observer that is never satisfied, and a stream of data: nobody is held up. */
static void *observer_in_the_way(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char byte;
	kind->make(fds);
	struct io looks = { .fd = fds[0], .events = POLLPRI };
	bide_task *observer = io_start(io_wait, &looks);
	for (int i = 0; i < 200; i++) {
		struct io reads = { .fd = fds[0] };
		bide_task *reader = io_start(io_read, &reads);
		must_write(fds[1], "a", 1);
		must_get(reader, &reads, "a");
		must_write(fds[1], "b", 1);
		must(bide_read(fds[0], &byte, 1) == 1 && byte == 'b');
	}
	must_wait(&looks);
	must(bide_cancel(observer, NULL) == 0);
	must(join_within(observer, LONG).err == ECANCELED);
	close_pair(fds);
	return NULL;
}

START_TEST(an_observer_of_something_else_holds_nobody_up)
{
	counted.modify_is_mute = true;
	run_real(observer_in_the_way, (void *)&fd_kinds[_i]);
}
END_TEST

/* ---- other kinds --------------------------------------------------------------------------------- */

static void *semaphore(void *arg)
{
	enum { COUNT = 4 };
	struct io io[COUNT] = { { 0 } };
	bide_task *tasks[COUNT];
	uint64_t three = 3;
	(void)arg;
	int fd = eventfd(0, EFD_SEMAPHORE);
	io_order = 0;
	start_readers(tasks, io, COUNT, fd);
	must(bide_write(fd, &three, sizeof three) == sizeof three);
	for (int i = 0; i < 3; i++) {
		join_within(tasks[i], LONG);
		must(io[i].count == 8 && io[i].order == i + 1);
	}
	turns(3);
	must_wait(&io[3]);
	must(bide_write(fd, &three, sizeof three) == sizeof three);
	join_within(tasks[3], LONG);
	must(bide_close(fd) == 0);
	return NULL;
}

START_TEST(an_eventfd_is_a_semaphore_for_tasks)
{
	counted.modify_is_mute = true;
	run_real(semaphore, NULL);
}
END_TEST

static void *three_acceptors(void *arg)
{
	struct sockaddr_in address;
	struct io io[3] = { { 0 } };
	bide_task *tasks[3];
	int clients[3];
	(void)arg;
	int listener = plain_listener(10, &address);
	for (int i = 0; i < 3; i++) {
		io[i].fd = listener;
		tasks[i] = io_start(io_accept, &io[i]);
	}
	for (int i = 0; i < 3; i++)
		clients[i] = plain_connection(&address);
	for (int i = 0; i < 3; i++) {
		char byte = (char)('a' + i), got = 0;
		join_within(tasks[i], LONG);
		must(io[i].count >= 0);
		must_write(clients[i], &byte, 1);
		must(bide_recv((int)io[i].count, &got, 1, 0) == 1 && got == byte);
		must(bide_close((int)io[i].count) == 0);
		close(clients[i]);
	}
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(acceptors_are_served_first_come_first_served)
{
	counted.modify_is_mute = true;
	run_real(three_acceptors, NULL);
}
END_TEST

int main(void)
{
	return SUITE("io_queue", LOOP(readers_are_served_first_come_first_served, 0, FD_KINDS),
	    LOOP(what_one_reader_leaves_goes_to_the_next_in_line, 0, FD_KINDS),
	    TEST(a_reader_that_leaves_nothing_wakes_nobody),
	    LOOP(a_canceled_reader_leaves_the_line_to_the_others, 0, FD_KINDS),
	    LOOP(a_woken_reader_that_is_canceled_before_it_runs_passes_the_data_on, 0, FD_KINDS),
	    LOOP(what_a_canceled_reader_left_is_there_for_a_later_one, 0, FD_KINDS),
	    LOOP(a_newcomer_does_not_overtake_who_waits, 0, 2 * FD_KINDS),
	    LOOP(a_reader_that_was_woken_for_nothing_keeps_its_place, 0, FD_KINDS),
	    LOOP(many_readers_get_one_message_each_in_their_order, 0, FD_KINDS),
	    LOOP(writers_are_served_first_come_first_served, 0, 5),
	    LOOP(a_reader_and_a_writer_share_one_registration, 0, 3),
	    LOOP(canceling_the_reader_leaves_the_writer_waiting, 0, 3),
	    LOOP(the_end_of_input_wakes_every_reader, 0, 5),
	    LOOP(the_end_of_the_readers_wakes_every_writer, 0, 5),
	    TEST(a_reset_wakes_every_reader_and_is_told_to_the_first),
	    LOOP(observers_and_a_reader_are_woken_together, 0, FD_KINDS),
	    LOOP(an_observer_sees_only_what_the_readers_leave, 0, FD_KINDS),
	    LOOP(observers_and_a_writer_are_woken_together, 0, 5),
	    LOOP(an_observer_of_something_else_holds_nobody_up, 0, FD_KINDS),
	    TEST(an_eventfd_is_a_semaphore_for_tasks), TEST(acceptors_are_served_first_come_first_served));
}
