/* SPDX-License-Identifier: MIT
 * Descriptors and everything else of a loop side by side: nobody is starved, and an idle loop sleeps.
 * Statements 3, 5, 6, 19, 179, scenarios C1, C4, C6. */
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static void *arg_of(const void *constant)
{
	return (void *)(uintptr_t)constant;
}

/* ---- a storm beside a reader ---------------------------------------------------------------------------- */

static void *yields(void *arg)
{
	(void)arg;
	while (bide_yield() == 0)
		;
	return NULL;
}

static bide_mutex storm_mutex;

static void *hands_over(void *arg)
{
	(void)arg;
	while (bide_mutex_lock(&storm_mutex) == 0) {
		int result = bide_yield();
		bide_mutex_unlock(&storm_mutex);
		if (result < 0)
			break;
	}
	return NULL;
}

static void *calls_that_never_block(void *arg)
{
	char byte = 'x';
	int fds[2];
	(void)arg;
	make_unix(fds);
	while (bide_send(fds[0], &byte, 1, 0) == 1 && bide_recv(fds[1], &byte, 1, 0) == 1)
		;
	close_pair(fds);
	return NULL;
}

static void again(void *arg)
{
	bool *goes_on = arg;
	if (*goes_on)
		must(bide_call_soon(again, arg) == 0);
}

static void *callbacks(void *arg)
{
	bide_scope scope;
	bool goes_on = true;
	(void)arg;
	again(&goes_on);
	(void)!bide_sleep(BIDE_NEVER);
	goes_on = false;
	must(bide_scope_enter(&scope, BIDE_NEVER, BIDE_SHIELD) == 0);
	turns(2);
	must(bide_scope_leave(&scope) == 0);
	return NULL;
}

struct writer {
	int fd;
	_Atomic bide_time wrote_at;
};

static void *write_soon(void *arg)
{
	struct writer *writer = arg;
	usleep(2000);
	writer->wrote_at = clock_monotonic();
	must_write(writer->fd, "x", 1);
	return NULL;
}

static void *beside_storm(void *arg)
{
	bide_fn *storm = *(bide_fn **)arg;
	const int rounds = 10;
	bide_time best = BIDE_NEVER;
	int fds[2];
	make_pipe(fds);
	bide_task *tasks[2] = { must_spawn(storm, NULL), must_spawn(storm, NULL) };
	turns(2);
	for (int i = 0; i < rounds; i++) {
		struct writer writer = { .fd = fds[1] };
		struct io io = { .fd = fds[0] };
		pthread_t thread;
		must(pthread_create(&thread, NULL, write_soon, &writer) == 0);
		must(join_within(io_start(io_read, &io), LONG).err == 0);
		bide_time late = clock_monotonic() - writer.wrote_at;
		best = late < best ? late : best;
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < 2; i++) {
		must(bide_cancel(tasks[i], NULL) == 0);
		must_join(tasks[i]);
	}
	/* The machine may be slow at times, but not each time. */
	must_msg(best < 5 * BIDE_MSEC * suite_scale(), "the reader was %d us late at best",
	    (int)(best / BIDE_USEC));
	close_pair(fds);
	return NULL;
}

/* Statements 3, 5, 6, scenario C1. */
START_TEST(a_storm_does_not_starve_a_reader)
{
	static bide_fn *storms[] = { yields, hands_over, calls_that_never_block, callbacks };
	run_real(beside_storm, &storms[_i]);
}
END_TEST

static void *greedy(void *arg)
{
	int *fd = arg;
	char byte;
	bide_time start = bide_now();
	while (bide_now() - start < BIDE_SEC * suite_scale())
		if (bide_recv(*fd, &byte, 1, 0) != 1)
			return NULL;
	ck_abort_msg("the sleeper never ran");
	return NULL;
}

static void *beside_greedy(void *arg)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	fill(fds[1]);
	bide_task *task = must_spawn(greedy, &fds[0]);
	must(bide_sleep(BIDE_MSEC) == 0);
	/* It had read on and on, and there is still something left to read. */
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	close_pair(fds);
	return NULL;
}

/* Statement 6: asyncio came to 24 ms here. */
START_TEST(a_reader_that_always_finds_data_lets_a_sleeper_wake)
{
	run_real(beside_greedy, NULL);
}
END_TEST

static void *budget(void *arg)
{
	char byte;
	int fds[2];
	(void)arg;
	make_unix(fds);
	fill(fds[1]);
	uint64_t turn = loop_current->ready.turn;
	for (int i = 0; i < 2 * CALL_BUDGET; i++)
		must(bide_recv(fds[0], &byte, 1, 0) == 1);
	must(loop_current->ready.turn - turn >= 2);
	must(loop_current->ready.turn - turn <= 4);
	close_pair(fds);
	return NULL;
}

/* Statement 6. */
START_TEST(every_128_calls_that_do_not_block_others_have_their_turn)
{
	run_virtual(budget, NULL);
}
END_TEST

/* ---- more ready descriptors than one batch ----------------------------------------------------------------- */

struct player {
	int fd;
	long turns;
};

static void *plays(void *arg)
{
	struct player *player = arg;
	char byte;
	while (bide_recv(player->fd, &byte, 1, 0) == 1) {
		player->turns++;
		if (bide_send(player->fd, &byte, 1, 0) != 1)
			break;
	}
	return NULL;
}

static void *many_pairs(void *arg)
{
	enum { MAX = 2000 };
	static struct player players[MAX][2];
	static bide_task *tasks[MAX][2];
	int pairs = suite_scaled_down(MAX, 300);
	long total = 0, least = INT64_MAX;
	(void)arg;
	for (int i = 0; i < pairs; i++) {
		int fds[2];
		make_unix(fds);
		for (int k = 0; k < 2; k++) {
			players[i][k] = (struct player){ fds[k], 0 };
			tasks[i][k] = must_spawn(plays, &players[i][k]);
		}
		must_write(fds[0], "x", 1);
	}
	/* Until each has had ten turns; a loop that serves only one batch never comes so far. */
	for (bide_time end = bide_after(LONG * 3); least < 10;) {
		must(bide_sleep(20 * BIDE_MSEC) == 0);
		total = 0;
		least = INT64_MAX;
		for (int i = 0; i < pairs; i++) {
			total += players[i][0].turns;
			least = players[i][0].turns < least ? players[i][0].turns : least;
		}
		must_msg(bide_now() < end, "after %ld turns there is one of %ld", total, least);
	}
	must_msg(least >= 0.3 * (double)total / pairs, "%ld turns, and the least %ld", total, least);
	for (int i = 0; i < 2 * pairs; i++)
		must(bide_cancel(tasks[i / 2][i % 2], NULL) == 0);
	for (int i = 0; i < 2 * pairs; i++) {
		must_join(tasks[i / 2][i % 2]);
		must(bide_close(players[i / 2][i % 2].fd) == 0);
	}
	return NULL;
}

/* Scenario C4. */
START_TEST(every_ready_descriptor_is_served_in_rotation)
{
	run_real(many_pairs, NULL);
}
END_TEST

/* Reads a byte, and puts one back for itself: always readable. */
static void *feeds_itself(void *arg)
{
	struct player *player = arg;
	char byte;
	while (bide_recv(player->fd, &byte, 1, 0) == 1) {
		player->turns++;
		if (bide_send(player->fd, &byte, 1, 0) != 1)
			break;
	}
	return NULL;
}

static void *always_ready(void *arg)
{
	enum { COUNT = 200 };
	static struct player players[COUNT];
	static bide_task *tasks[COUNT];
	long total = 0, least = INT64_MAX;
	(void)arg;
	for (int i = 0; i < COUNT; i++) {
		int fds[2];
		make_udp(fds);
		struct sockaddr_in self = local_address(fds[0]);
		must(connect(fds[0], (void *)&self, sizeof self) == 0);
		close(fds[1]);
		players[i] = (struct player){ fds[0], 0 };
		must_write(fds[0], "x", 1);
		tasks[i] = must_spawn(feeds_itself, &players[i]);
	}
	must(bide_sleep(100 * BIDE_MSEC) == 0);
	while (least < 500) {
		must(bide_sleep(20 * BIDE_MSEC) == 0);
		total = 0;
		least = INT64_MAX;
		for (int i = 0; i < COUNT; i++) {
			total += players[i].turns;
			least = players[i].turns < least ? players[i].turns : least;
		}
	}
	must_msg(least >= 0.3 * (double)total / COUNT, "%ld turns, and the least %ld", total, least);
	for (int i = 0; i < COUNT; i++)
		must(bide_cancel(tasks[i], NULL) == 0);
	for (int i = 0; i < COUNT; i++) {
		must_join(tasks[i]);
		must(bide_close(players[i].fd) == 0);
	}
	return NULL;
}

/* Scenario C4: nobody ever waits here. */
START_TEST(tasks_whose_descriptors_are_always_ready_share_the_loop)
{
	run_real(always_ready, NULL);
}
END_TEST

/* To fall asleep and to wake. */
#define LOOKS_OF_A_SLEEP (suite_is_hostile() ? 6 : 2)

/* ---- idle ------------------------------------------------------------------------------------------------------ */

/* Connections with a reader each, that were waited for before, so that each wait is doubted at first. */
static void *idle(void *arg)
{
	enum { MAX = 1000 };
	const int *count = arg;
	static struct io io[MAX];
	static bide_task *tasks[MAX];
	static int fds[MAX][2];
	struct rusage before, after;
	for (int i = 0; i < *count; i++) {
		make_tcp(fds[i]);
		io[i] = (struct io){ .fd = fds[i][0] };
		bide_task *first = io_start(io_recv, &io[i]);
		must_write(fds[i][1], "x", 1);
		must(join_within(first, LONG).err == 0);
		tasks[i] = io_start(io_recv, &io[i]);
	}
	/* The doubts are settled at once, and not one after the other. */
	const struct descriptors *descriptors = &loop_current->descriptors;
	for (int i = 0; i < 10 && (i == 0 || !list_is_empty(&descriptors->doubted) ||
	    !list_is_empty(&descriptors->asked)); i++)
		must(bide_sleep(30 * BIDE_MSEC) == 0);
	must(list_is_empty(&descriptors->doubted) && list_is_empty(&descriptors->asked));
	uint64_t turn = loop_current->ready.turn;
	int waits = counted.epoll_wait, controls = counted.epoll_ctl;
	getrusage(RUSAGE_THREAD, &before);
	must(bide_sleep(300 * BIDE_MSEC) == 0);
	getrusage(RUSAGE_THREAD, &after);
	/* One sleep in the kernel, and the turn in which this task wakes. */
	must(counted.epoll_wait - waits <= LOOKS_OF_A_SLEEP && counted.epoll_ctl == controls);
	must(loop_current->ready.turn - turn <= 2);
	must(after.ru_nvcsw - before.ru_nvcsw <= 3);
	for (int i = 0; i < *count; i++) {
		must(io[i].count == -2);
		must_write(fds[i][1], "y", 1);
		must(join_within(tasks[i], LONG).err == 0 && io[i].buf[0] == 'y');
		close_pair(fds[i]);
	}
	return NULL;
}

/* Statements 19 and 179 (small), scenario C6. */
START_TEST(an_idle_loop_sleeps)
{
	static const int counts[] = { 1, 1000 };
	int count = counts[_i];
	if (count > 1)
		count = suite_scaled_down(count, 200);
	run_real(idle, &count);
}
END_TEST

/* The first waits of all are never doubted. */
static void *never_doubted(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_read, &io);
	must(bide_sleep(BIDE_MSEC) == 0);
	int waits = counted.epoll_wait;
	must(bide_sleep(50 * BIDE_MSEC) == 0);
	must(counted.epoll_wait - waits <= LOOKS_OF_A_SLEEP);
	must_write(fds[1], "x", 1);
	must(join_within(reader, LONG).err == 0);
	close_pair(fds);
	return NULL;
}

START_TEST(a_first_wait_costs_one_sleep)
{
	run_real(never_doubted, arg_of(&fd_kinds[_i]));
}
END_TEST

/* A descriptor that is dead, or has unread data, and that nobody waits for. */
static void *unattended(void *arg)
{
	int fds[2][2];
	(void)arg;
	for (int i = 0; i < 2; i++) {
		make_tcp(fds[i]);
		struct io io = { .fd = fds[i][0] };
		bide_task *reader = io_start(io_recv, &io);
		must_write(fds[i][1], "x", 1);
		must(join_within(reader, LONG).err == 0);
	}
	must_write(fds[0][1], "unread", 6);
	reset_connection(fds[1][1]);
	close(fds[1][1]);
	fds[1][1] = -1;
	/* Somebody else waits, so that the loop looks at descriptors at all. */
	int other[2];
	make_pipe(other);
	struct io io = { .fd = other[0] };
	bide_task *reader = io_start(io_read, &io);
	must(bide_sleep(10 * BIDE_MSEC) == 0);
	int waits = counted.epoll_wait;
	must(bide_sleep(100 * BIDE_MSEC) == 0);
	must(counted.epoll_wait - waits <= LOOKS_OF_A_SLEEP);
	must(bide_cancel(reader, NULL) == 0);
	must_join(reader);
	close_pair(fds[0]);
	close_pair(fds[1]);
	close_pair(other);
	return NULL;
}

START_TEST(a_descriptor_that_nobody_waits_for_wakes_nobody)
{
	run_real(unattended, NULL);
}
END_TEST

int main(void)
{
	return SUITE("io_fairness", LOOP(a_storm_does_not_starve_a_reader, 0, 4),
	    TEST(a_reader_that_always_finds_data_lets_a_sleeper_wake),
	    TEST(every_128_calls_that_do_not_block_others_have_their_turn),
	    TEST(every_ready_descriptor_is_served_in_rotation),
	    TEST(tasks_whose_descriptors_are_always_ready_share_the_loop), LOOP(an_idle_loop_sleeps, 0, 2),
	    LOOP(a_first_wait_costs_one_sleep, 0, FD_KINDS),
	    TEST(a_descriptor_that_nobody_waits_for_wakes_nobody));
}
