/* SPDX-License-Identifier: MIT
 * Descriptors closed behind the library's back with close(2), and their numbers given to other files.
 * Statements 165 and 167, scenarios F1, F5. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/doubt.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

/* What the library knew of the number before. */
enum past {
	USED,       /* read from, never waited for */
	REGISTERED, /* waited for */
	GHOSTLY,    /* waited for, and the file lives on elsewhere: its events keep coming */
	PAST_COUNT
};

struct change {
	const struct fd_kind *from, *to;
	enum past past;
	bool has_storm; /* other tasks yield all the time */
};

static void *storm(void *arg)
{
	(void)arg;
	while (bide_yield() == 0)
		;
	return NULL;
}

static void use(int fds[2], enum past past)
{
	struct io io = { .fd = fds[0] };
	if (past == USED)
		must_write(fds[1], "o", 1);
	bide_task *task = io_start(io_read, &io);
	if (past != USED)
		must_write(fds[1], "o", 1);
	must(join_within(task, LONG).err == 0 && io.buf[0] == 'o');
}

/* Closes fds[0] as a stranger would and puts a new pair of the kind there, under the same number. */
static void replace(int number, int twin[2], const struct fd_kind *kind)
{
	kind->make(twin);
	must(dup2(twin[0], number) == number);
	close(twin[0]);
	twin[0] = number;
}

static struct change change_of(int i)
{
	return (struct change){ &fd_kinds[i / FD_KINDS % FD_KINDS], &fd_kinds[i % FD_KINDS],
		(enum past)(i / (FD_KINDS * FD_KINDS) % PAST_COUNT), i / (FD_KINDS * FD_KINDS * PAST_COUNT) };
}
#define CHANGES (FD_KINDS * FD_KINDS * PAST_COUNT)

static void ghost_event(int ghost, int fd)
{
	if (ghost >= 0)
		must_write(fd, "g", 1);
}

static void *read_after_change(void *arg)
{
	struct change *change = arg;
	bide_task *yielder = change->has_storm ? must_spawn(storm, NULL) : NULL;
	int old[2], new[2];
	change->from->make(old);
	use(old, change->past);
	int ghost = change->past == GHOSTLY ? dup(old[0]) : -1;
	replace(old[0], new, change->to);
	struct io io = { .fd = new[0] };
	ghost_event(ghost, old[1]);
	bide_task *reader = io_start(io_read, &io);
	ghost_event(ghost, old[1]);
	must_write(new[1], "n", 1);
	must(join_within(reader, LONG).err == 0 && io.count == 1 && io.buf[0] == 'n');
	/* From now on it is a descriptor like any other. */
	ghost_event(ghost, old[1]);
	reader = io_start(io_read, &io);
	turns(3);
	must(io.count == -2);
	must_write(new[1], "m", 1);
	must(join_within(reader, LONG).err == 0 && io.count == 1 && io.buf[0] == 'm');
	if (yielder) {
		bide_cancel(yielder, NULL);
		must_join(yielder);
	}
	if (ghost >= 0)
		close(ghost);
	close(old[1]);
	close_pair(new);
	return NULL;
}

START_TEST(a_reader_of_a_file_under_a_used_number_is_woken)
{
	struct change change = change_of(_i);
	counted.modify_is_mute = true;
	run_real(read_after_change, &change);
}
END_TEST

static void *write_after_change(void *arg)
{
	struct change *change = arg;
	int old[2], new[2];
	change->from->make(old);
	if (change->past != USED) {
		fill(old[1]);
		struct io io = { .fd = old[1], .data = "o", .size = 1 };
		bide_task *task = io_start(io_write, &io);
		must(drain(old[0]) > 0);
		must(join_within(task, LONG).err == 0);
	}
	int ghost = change->past == GHOSTLY ? dup(old[1]) : -1;
	change->to->make(new);
	must(dup2(new[1], old[1]) == old[1]);
	close(new[1]);
	new[1] = old[1];
	size_t filled = 0;
	struct io io = { .fd = new[1], .data = "n", .size = 1 };
	bide_task *writer = io_start_parked(io_write, &io, &filled);
	must(io.count == -2);
	drain(old[0]);
	must(drain(new[0]) > 0);
	must(join_within(writer, LONG).err == 0 && io.count == 1);
	if (ghost >= 0)
		close(ghost);
	close(old[0]);
	close_pair(new);
	return NULL;
}

/* Among the stream kinds. */
START_TEST(a_writer_to_a_file_under_a_used_number_is_woken)
{
	struct change change = { kind_with(STREAM, _i / 5 % 5), kind_with(STREAM, _i % 5),
		(enum past)(_i / 25), false };
	counted.modify_is_mute = true;
	run_real(write_after_change, &change);
}
END_TEST

static void *observe_after_change(void *arg)
{
	struct change *change = arg;
	int old[2], new[2];
	change->from->make(old);
	use(old, REGISTERED);
	replace(old[0], new, change->to);
	struct io io = { .fd = new[0], .events = POLLIN };
	bide_task *observer = io_start(io_wait, &io);
	must(io.count == -2);
	must_write(new[1], "n", 1);
	must(join_within(observer, LONG).err == 0 && (io.count & POLLIN));
	close(old[1]);
	close_pair(new);
	return NULL;
}

START_TEST(an_observer_of_a_file_under_a_used_number_is_woken)
{
	struct change change = change_of(_i);
	counted.modify_is_mute = true;
	run_real(observe_after_change, &change);
}
END_TEST

/* ---- beside other work ------------------------------------------------------------------------------- */

/* Two tasks that play with one byte: slowly, so that the loop sleeps in between and yet always hears
 * something before it would call the moment quiet. */
static void *plays_slowly(void *arg)
{
	int fd = *(int *)arg;
	char byte;
	while (bide_recv(fd, &byte, 1, 0) == 1)
		if (bide_sleep(BIDE_MSEC) < 0 || bide_send(fd, &byte, 1, 0) < 0)
			break;
	return NULL;
}

static void *beside_a_trickle(void *arg)
{
	const struct fd_kind *kind = arg;
	int old[2], new[2], pair[2];
	bide_task *players[2];
	make_unix(pair);
	for (int i = 0; i < 2; i++)
		players[i] = must_spawn(plays_slowly, &pair[i]);
	must_write(pair[0], "b", 1);
	kind->make(old);
	use(old, REGISTERED);
	replace(old[0], new, kind);
	struct io io = { .fd = new[0] };
	bide_task *reader = io_start(io_read, &io);
	must_write(new[1], "n", 1);
	must(join_within(reader, LONG).err == 0 && io.buf[0] == 'n');
	for (int i = 0; i < 2; i++)
		must(bide_cancel(players[i], NULL) == 0);
	for (int i = 0; i < 2; i++)
		must_join(players[i]);
	close(old[1]);
	close_pair(pair);
	close_pair(new);
	return NULL;
}

START_TEST(a_reader_under_a_used_number_is_woken_beside_a_trickle_of_events)
{
	counted.modify_is_mute = true;
	run_real(beside_a_trickle, (void *)&fd_kinds[_i]);
}
END_TEST

/* Readers that have waited long, and are doubted because they waited before; the loop is busy. Those
 * that were asked about stand in nobody's way. */
static void *beside_idle_readers(void *arg)
{
	enum { COUNT = 200 };
	static int fds[COUNT][2];
	static struct io io[COUNT];
	static bide_task *tasks[COUNT];
	int old[2], new[2];
	(void)arg;
	loop_current->descriptors.asked_at = clock_monotonic() + LONG; /* while they gather */
	bide_task *yielder = must_spawn(storm, NULL);
	for (int i = 0; i < COUNT; i++) {
		make_unix(fds[i]);
		use(fds[i], REGISTERED);
		io[i] = (struct io){ .fd = fds[i][0] };
		tasks[i] = io_start(io_read, &io[i]);
	}
	loop_current->descriptors.asked_at = 0;
	/* All of them have been asked about once. */
	while (!list_is_empty(&loop_current->descriptors.doubted))
		must(bide_sleep(DOUBT_NS) == 0);
	make_pipe(old);
	use(old, REGISTERED);
	replace(old[0], new, kind_with(STREAM, 0));
	struct io late = { .fd = new[0] };
	int controls = counted.epoll_ctl;
	bide_task *reader = io_start(io_read, &late);
	must_write(new[1], "n", 1);
	must(join_within(reader, LONG).err == 0 && late.buf[0] == 'n');
	must(counted.epoll_ctl - controls < 20);
	must(bide_cancel(yielder, NULL) == 0);
	must_join(yielder);
	for (int i = 0; i < COUNT; i++)
		must(bide_cancel(tasks[i], NULL) == 0);
	for (int i = 0; i < COUNT; i++) {
		must_join(tasks[i]);
		close_pair(fds[i]);
	}
	close(old[1]);
	close_pair(new);
	return NULL;
}

START_TEST(many_idle_readers_do_not_delay_it)
{
	counted.modify_is_mute = true;
	run_real(beside_idle_readers, NULL);
}
END_TEST

/* ---- files that cannot be polled ----------------------------------------------------------------- */

static int temporary_file(const char *text)
{
	char path[] = "/tmp/bide-test-XXXXXX";
	int fd = mkstemp(path);
	must(fd >= 0);
	unlink(path);
	must_write(fd, text, strlen(text));
	must(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static void *file_and_back(void *arg)
{
	const struct fd_kind *kind = arg;
	int old[2], new[2];
	char buf[8];
	kind->make(old);
	use(old, REGISTERED);
	int file = temporary_file("file");
	must(dup2(file, old[0]) == old[0]);
	close(file);
	must(bide_read(old[0], buf, sizeof buf) == 4 && memcmp(buf, "file", 4) == 0);
	must(bide_read(old[0], buf, sizeof buf) == 0);
	must(bide_fd_wait(old[0], POLLIN) == POLLIN);
	must(bide_fd_wait(old[0], POLLPRI) == POLLPRI); /* "always ready" */
	must(bide_write(old[0], "more", 4) == 4);
	struct io io = { .fd = old[0] };
	replace(old[0], new, kind);
	bide_task *reader = io_start(io_read, &io);
	must(io.count == -2);
	must_write(new[1], "n", 1);
	must(join_within(reader, LONG).err == 0 && io.count == 1 && io.buf[0] == 'n');
	reader = io_start(io_read, &io);
	turns(3);
	must(io.count == -2);
	must_write(new[1], "m", 1);
	must(join_within(reader, LONG).err == 0 && io.count == 1 && io.buf[0] == 'm');
	close(old[1]);
	close_pair(new);
	return NULL;
}

START_TEST(a_file_takes_a_number_and_loses_it_again)
{
	counted.modify_is_mute = true;
	run_real(file_and_back, (void *)&fd_kinds[_i]);
}
END_TEST

static void *recv_after_file(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	struct io io = { .fd = temporary_file("file") };
	must(bide_read(io.fd, io.buf, 4) == 4);
	must(bide_fd_wait(io.fd, POLLRDHUP) == POLLRDHUP);
	replace(io.fd, fds, kind);
	/* It is no longer one that is always ready: woken for nothing, an observer waits on. */
	struct io looks = { .fd = io.fd, .events = POLLIN };
	bide_task *observer = io_start(io_wait, &looks);
	struct poller_event event = { .events = POLLER_IN };
	event.key = (uint64_t)descriptor_find(&loop_current->descriptors, io.fd)->registration << 32 | (uint32_t)io.fd;
	descriptors_fire(loop_current, &event, 1);
	turns(3);
	must(looks.count == -2);
	must(bide_cancel(observer, NULL) == 0);
	must_join(observer);
	bide_task *reader = io_start(io_recv, &io);
	turns(3);
	must(io.count == -2);
	int tries = counted.recv;
	must(bide_sleep(5 * BIDE_MSEC) == 0);
	must(counted.recv == tries); /* it waits, and does not spin */
	must_write(fds[1], "n", 1);
	must(join_within(reader, LONG).err == 0 && io.count == 1 && io.buf[0] == 'n');
	close_pair(fds);
	return NULL;
}

START_TEST(a_socket_takes_the_number_of_a_file)
{
	counted.modify_is_mute = true;
	run_real(recv_after_file, (void *)kind_with(SOCKET, _i));
}
END_TEST

/* ---- who waits meanwhile -------------------------------------------------------------------------- */

/* The old one's wait may be its first (0), or a doubted one that was asked about beside other work (1). */
static void *closed_under_a_waiter(void *arg)
{
	const struct change *change = arg;
	int old[2], new[2];
	change->from->make(old);
	if (change->has_storm)
		use(old, REGISTERED);
	struct io old_io = { .fd = old[0] }, new_io = { .fd = old[0] };
	bide_task *old_reader = io_start(io_read, &old_io);
	bide_task *yielder = change->has_storm ? must_spawn(storm, NULL) : NULL;
	while (!list_is_empty(&loop_current->descriptors.doubted))
		must(bide_sleep(BIDE_MSEC) == 0);
	replace(old[0], new, change->from);
	bide_task *new_reader = io_start(io_read, &new_io);
	must_write(new[1], "n", 1);
	must(join_within(new_reader, LONG).err == 0 && new_io.count == 1 && new_io.buf[0] == 'n');
	must(join_within(old_reader, LONG).err == EBADF);
	if (yielder) {
		must(bide_cancel(yielder, NULL) == 0);
		must_join(yielder);
	}
	close(old[1]);
	close_pair(new);
	return NULL;
}

START_TEST(who_waited_for_the_old_file_gets_nothing_of_the_new_one)
{
	struct change change = { .from = &fd_kinds[_i / 2], .has_storm = _i % 2 };
	run_real(closed_under_a_waiter, &change);
}
END_TEST

static void *closed_for_good(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	use(fds, REGISTERED);
	struct io reads = { .fd = fds[0] }, looks = { .fd = fds[0], .events = POLLIN };
	bide_task *reader = io_start(io_read, &reads), *observer = io_start(io_wait, &looks);
	close(fds[0]);
	must(join_within(reader, LONG).err == EBADF);
	must(join_within(observer, LONG).err == EBADF);
	close(fds[1]);
	return NULL;
}

/* "One that was closed behind its back is noticed, but late." */
START_TEST(a_descriptor_closed_by_a_stranger_fails_the_waiters)
{
	run_real(closed_for_good, (void *)&fd_kinds[_i]);
}
END_TEST

static void *ghosts(void *arg)
{
	const struct fd_kind *kind = arg;
	int old[2], new[2];
	kind->make(old);
	use(old, REGISTERED);
	int ghost = dup(old[0]);
	replace(old[0], new, &fd_kinds[0]);
	struct io io = { .fd = new[0] };
	bide_task *reader = io_start(io_recv, &io);
	do
		must(bide_sleep(2 * DOUBT_NS) == 0);
	while (!list_is_empty(&loop_current->descriptors.doubted));
	int tries = counted.recv;
	for (int i = 0; i < 100; i++) {
		must_write(old[1], "g", 1);
		turns(1);
		must(bide_sleep(1) == 0);
		drain(ghost);
	}
	must(io.count == -2 && counted.recv == tries);
	must_write(new[1], "n", 1);
	must(join_within(reader, LONG).err == 0);
	close(ghost);
	close(old[1]);
	close_pair(new);
	return NULL;
}

/* Statement 167, when the close was a stranger's: known after the doubt. */
START_TEST(events_of_the_old_file_wake_nobody)
{
	run_real(ghosts, (void *)&fd_kinds[_i]);
}
END_TEST

static void *dup_stays(void *arg)
{
	const struct fd_kind *kind = arg;
	int old[2], new[2];
	kind->make(old);
	use(old, REGISTERED);
	int twin = dup(old[0]);
	must(bide_close(old[0]) == 0);
	must_write(old[1], "g", 1);
	make_tcp(new);
	must(dup2(new[0], old[0]) == old[0]);
	must(bide_close(new[0]) == 0);
	new[0] = old[0];
	struct io io = { .fd = new[0] };
	bide_task *reader = io_start(io_recv, &io);
	int tries = counted.recv, waits = counted.epoll_wait;
	for (int i = 0; i < 50; i++) {
		must_write(old[1], "g", 1);
		drain(twin);
	}
	must(bide_sleep(5 * BIDE_MSEC) == 0);
	must(io.count == -2 && counted.recv == tries);
	must(counted.epoll_wait - waits <= 4); /* not one of those events came */
	must_write(new[1], "n", 1);
	must(join_within(reader, LONG).err == 0);
	close(twin);
	close(old[1]);
	close_pair(new);
	return NULL;
}

/* Statement 167. */
START_TEST(a_duplicate_that_stays_open_after_bide_close_is_silent)
{
	run_real(dup_stays, (void *)&fd_kinds[_i]);
}
END_TEST

/* ---- numbers that the library itself hands out ------------------------------------------------------ */

/* Leaves a free number behind that the loop remembers as a registered, drained descriptor. */
static int spoiled_number(void)
{
	int fds[2];
	char buf[2];
	make_tcp(fds);
	bide_fault(NULL); /* a short read is to be believed */
	must(dup2(fds[0], 50) == 50);
	close(fds[0]);
	fds[0] = 50;
	use(fds, REGISTERED);
	must_write(fds[1], "x", 1);
	must(bide_recv(50, buf, 2, 0) == 1); /* short: nothing is ready */
	must(!descriptor_find(&loop_current->descriptors, 50)->is_ready[DESCRIPTOR_IN]);
	close(fds[1]);
	return 50;
}

/* Takes all numbers below `number`, so that the next one is that. */
static int occupy_below(int number, int *taken)
{
	int count = 0, fd;
	while ((fd = dup(STDIN_FILENO)) >= 0 && fd < number)
		taken[count++] = fd;
	must(fd < 0 || fd > number);
	close(fd);
	return count;
}

static void *number_from(void *arg)
{
	const char *how = arg;
	struct sockaddr_in address;
	int taken[64], fds[2] = { -1, -1 };
	char text[32];
	int listener = plain_listener(5, &address);
	int client = *how == 'a' ? plain_connection(&address) : -1;
	int number = spoiled_number();
	int count = occupy_below(number, taken);
	close(number);
	if (*how == 'a') {
		fds[0] = bide_accept(listener, NULL, NULL);
		fds[1] = client;
	} else if (*how == 'd') {
		fds[0] = bide_dial("tcp", address_text(listener, text));
		while (count > 0)
			close(taken[--count]);
		fds[1] = accept(listener, NULL, NULL);
	} else {
		fds[0] = bide_listen("tcp", "127.0.0.1:0", 5);
	}
	must(fds[0] == number);
	while (count > 0)
		close(taken[--count]);
	struct io io = { .fd = fds[0] };
	bide_task *task = io_start(*how == 'l' ? io_accept : io_recv, &io);
	must(io.count == -2);
	uint32_t registration = descriptor_find(&loop_current->descriptors, number)->registration;
	if (*how == 'l') {
		address = local_address(fds[0]);
		fds[1] = plain_connection(&address);
	} else {
		must_write(fds[1], "n", 1);
	}
	must(join_within(task, LONG).err == 0);
	/* It was registered from the start, not after a doubt. */
	must(descriptor_find(&loop_current->descriptors, number)->registration == registration);
	if (*how == 'l')
		close((int)io.count);
	close_pair(fds);
	close(listener);
	return NULL;
}

START_TEST(a_number_from_accept_dial_or_listen_is_right_at_once)
{
	static char *const how[] = { "accept", "dial", "listen" };
	counted.modify_is_mute = true;
	run_real(number_from, how[_i]);
}
END_TEST

static void *listener_after_listener(void *arg)
{
	struct sockaddr_in address;
	struct heartbeat heartbeat;
	(void)arg;
	int listener = bide_listen("tcp", "127.0.0.1:0", 5);
	address = local_address(listener);
	int client = plain_connection(&address);
	int accepted = bide_accept(listener, NULL, NULL);
	must(accepted >= 0);
	int fresh = plain_listener(5, &address); /* a blocking one */
	must(dup2(fresh, listener) == listener);
	close(fresh);
	heartbeat_start(&heartbeat, BIDE_MSEC);
	struct io io = { .fd = listener };
	bide_task *task = io_start(io_accept, &io);
	while (heartbeat.beats < 10)
		must(bide_sleep(BIDE_MSEC) == 0);
	int late = plain_connection(&address);
	must(join_within(task, LONG).err == 0);
	heartbeat_stop(&heartbeat);
	must(is_nonblocking((int)io.count));
	close(late);
	close(client);
	close(accepted);
	close((int)io.count);
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(a_blocking_listener_under_a_used_number_does_not_stop_the_loop)
{
	run_real(listener_after_listener, NULL);
}
END_TEST

/* ---- the other way round ---------------------------------------------------------------------------- */

static void *late_clean_up(void *arg)
{
	const struct fd_kind *kind = arg;
	int old[2], new[2];
	kind->make(old);
	use(old, REGISTERED);
	struct io io = { .fd = old[0] };
	replace(old[0], new, kind);
	must(bide_fd_forget(new[0]) == 0); /* meant for the old file */
	bide_task *reader = io_start(io_read, &io);
	must_write(new[1], "n", 1);
	must(join_within(reader, LONG).err == 0 && io.buf[0] == 'n');
	close(old[1]);
	close_pair(new);
	return NULL;
}

/* Scenario F5. */
START_TEST(clean_up_of_an_old_owner_does_not_unregister_the_new_one)
{
	counted.modify_is_mute = true;
	run_real(late_clean_up, (void *)&fd_kinds[_i]);
}
END_TEST

static void *same_file_again(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	use(fds, REGISTERED);
	int twin = dup(fds[0]);
	close(fds[0]);
	must(dup2(twin, fds[0]) == fds[0]); /* the very file under the very number */
	close(twin);
	for (int i = 0; i < 3; i++) {
		struct io io = { .fd = fds[0] };
		bide_task *reader = io_start(io_read, &io);
		must_write(fds[1], "n", 1);
		must(join_within(reader, LONG).err == 0 && io.buf[0] == 'n');
	}
	must(bide_fd_forget(fds[0]) == 0);
	must(bide_fd_forget(fds[0]) == 0);
	use(fds, REGISTERED);
	close_pair(fds);
	return NULL;
}

START_TEST(a_file_that_comes_back_to_its_number_is_served)
{
	counted.modify_is_mute = true;
	run_real(same_file_again, (void *)&fd_kinds[_i]);
}
END_TEST

/* In between there was one that cannot be polled, and the loop has forgotten the first; the poller has
 * not, since a duplicate kept it alive. */
static void *back_after_another(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	use(fds, REGISTERED);
	int twin = dup(fds[0]), file = temporary_file("file");
	must(dup2(file, fds[0]) == fds[0]);
	must(bide_fd_wait(fds[0], POLLPRI) == POLLPRI);
	must(!descriptor_find(&loop_current->descriptors, fds[0])->is_registered);
	must(dup2(twin, fds[0]) == fds[0]);
	close(twin);
	close(file);
	use(fds, REGISTERED);
	use(fds, REGISTERED);
	close_pair(fds);
	return NULL;
}

START_TEST(a_file_that_comes_back_after_another_is_served)
{
	run_real(back_after_another, (void *)&fd_kinds[_i]);
}
END_TEST

int main(void)
{
	return SUITE("io_reuse", LOOP(a_reader_of_a_file_under_a_used_number_is_woken, 0, CHANGES),
	    LOOP(a_reader_of_a_file_under_a_used_number_is_woken, CHANGES + CHANGES / 3, CHANGES + 2 * CHANGES / 3),
	    LOOP(a_writer_to_a_file_under_a_used_number_is_woken, 0, 75),
	    LOOP(an_observer_of_a_file_under_a_used_number_is_woken, 0, FD_KINDS * FD_KINDS),
	    LOOP(a_reader_under_a_used_number_is_woken_beside_a_trickle_of_events, 0, FD_KINDS),
	    TEST(many_idle_readers_do_not_delay_it),
	    LOOP(a_file_takes_a_number_and_loses_it_again, 0, FD_KINDS),
	    LOOP(a_socket_takes_the_number_of_a_file, 0, 6),
	    LOOP(who_waited_for_the_old_file_gets_nothing_of_the_new_one, 0, 2 * FD_KINDS),
	    LOOP(a_descriptor_closed_by_a_stranger_fails_the_waiters, 0, FD_KINDS),
	    LOOP(events_of_the_old_file_wake_nobody, 0, FD_KINDS),
	    LOOP(a_duplicate_that_stays_open_after_bide_close_is_silent, 0, FD_KINDS),
	    LOOP(a_number_from_accept_dial_or_listen_is_right_at_once, 0, 3),
	    TEST(a_blocking_listener_under_a_used_number_does_not_stop_the_loop),
	    LOOP(clean_up_of_an_old_owner_does_not_unregister_the_new_one, 0, FD_KINDS),
	    LOOP(a_file_that_comes_back_after_another_is_served, 0, FD_KINDS),
	    LOOP(a_file_that_comes_back_to_its_number_is_served, 0, FD_KINDS));
}
