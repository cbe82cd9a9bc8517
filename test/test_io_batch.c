/* SPDX-License-Identifier: MIT
 * How many tasks a look at the descriptors wakes: a handful when the loop serves nothing else, all when
 * others are at work too. Statements 3 to 5, scenario C4. */
#include <poll.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

#define HANDFUL 16

/* ---- alone ---------------------------------------------------------------------------------------------- */

#define READERS 100

struct crowd {
	int fds[READERS][2];
	bide_task *tasks[READERS];
	size_t most; /* woken and not run yet, at one time */
	int served;
};

struct reader {
	struct crowd *crowd;
	int fd;
};

static void *reads_once(void *arg)
{
	struct reader *reader = arg;
	char byte;
	must(bide_recv(reader->fd, &byte, 1, 0) == 1);
	size_t awake = loop_current->descriptors.fired + 1;
	if (awake > reader->crowd->most)
		reader->crowd->most = awake;
	reader->crowd->served++;
	return NULL;
}

/* Everybody waits, and then everybody's descriptor is ready. */
static void serve_all(struct crowd *crowd, void (*let_run)(void))
{
	static struct reader readers[READERS];
	for (int i = 0; i < READERS; i++) {
		make_unix(crowd->fds[i]);
		readers[i] = (struct reader){ crowd, crowd->fds[i][0] };
		crowd->tasks[i] = must_spawn(reads_once, &readers[i]);
	}
	turns(2);
	must(loop_current->descriptors.waiting == READERS);
	for (int i = 0; i < READERS; i++)
		must_write(crowd->fds[i][1], "x", 1);
	let_run();
	must(crowd->served == READERS);
	for (int i = 0; i < READERS; i++) {
		must_end_well(crowd->tasks[i]);
		close_pair(crowd->fds[i]);
	}
	must(loop_current->descriptors.fired == 0 && loop_current->descriptors.waiting == 0);
}

static void sleep_until_idle(void)
{
	pass(BIDE_SEC);
}

VIRTUAL_TEST(a_loop_that_serves_descriptors_alone_wakes_a_handful_at_a_time)
{
	static struct crowd crowd;
	crowd = (struct crowd){ 0 };
	serve_all(&crowd, sleep_until_idle);
	/* A look may come when some of the last handful have not run. */
	must_msg(crowd.most < 2 * HANDFUL, "%zu at once", crowd.most);
}

static void be_at_work(void)
{
	turns(100);
}

VIRTUAL_TEST(beside_another_task_all_who_are_ready_are_woken)
{
	static struct crowd crowd;
	crowd = (struct crowd){ 0 };
	serve_all(&crowd, be_at_work);
	must_msg(crowd.most >= READERS - HANDFUL, "%zu at once", crowd.most);
}

/* ---- beside others ---------------------------------------------------------------------------------------- */

#define PAIRS  400
#define OTHERS 40
#define TURNS  100

struct player {
	int fd;
	int turns;
};

static void *yields_until(void *arg)
{
	const bool *is_over = arg;
	while (!*is_over)
		must(bide_yield() == 0);
	return NULL;
}

/* Hands the byte back, and has to wait for it each time. */
static void *plays(void *arg)
{
	struct player *player = arg;
	char byte;
	while (bide_recv(player->fd, &byte, 1, 0) == 1) {
		player->turns++;
		must_write(player->fd, &byte, 1);
	}
	return NULL;
}

/* Statements 3 and 5, scenario C4: who waited for a descriptor that is ready has its turn when those who only
 * yield have theirs, or in the next one; looks that come while some who were woken have not run yet must not
 * make it a handful a turn. */
VIRTUAL_TEST(each_ready_descriptor_has_its_turn_as_those_who_yield)
{
	static struct player players[PAIRS][2];
	static bide_task *tasks[PAIRS][2];
	bide_task *others[OTHERS];
	bool is_over = false;
	int least = INT32_MAX;
	for (int i = 0; i < PAIRS; i++) {
		int fds[2];
		make_unix(fds);
		for (int k = 0; k < 2; k++) {
			players[i][k] = (struct player){ fds[k], 0 };
			tasks[i][k] = must_spawn(plays, &players[i][k]);
		}
	}
	turns(2);
	for (int i = 0; i < OTHERS; i++)
		others[i] = must_spawn(yields_until, &is_over);
	for (int i = 0; i < PAIRS; i++) {
		must_write(players[i][0].fd, "x", 1);
		if (i % 7 == 0)
			turns(1); /* so that they are not ready all at once */
	}
	for (int i = 0; i < PAIRS; i++)
		players[i][0].turns = players[i][1].turns = 0;
	turns(TURNS);
	for (int i = 0; i < PAIRS; i++) {
		int played = players[i][0].turns + players[i][1].turns;
		least = played < least ? played : least;
	}
	must_msg(least >= TURNS / 4, "%d in %d turns", least, TURNS);
	is_over = true;
	for (int i = 0; i < OTHERS; i++)
		must_join(others[i]);
	for (int i = 0; i < 2 * PAIRS; i++) {
		must(bide_cancel(tasks[i / 2][i % 2], NULL) == 0);
		must_join(tasks[i / 2][i % 2]);
		must(bide_close(players[i / 2][i % 2].fd) == 0);
	}
	must(loop_current->descriptors.fired == 0 && loop_current->descriptors.waiting == 0);
}

/* ---- counting who was woken --------------------------------------------------------------------------------- */

static void look_now(void)
{
	struct poller_event events[POLLER_BATCH];
	descriptors_fire(loop_current, events, poller_wait(&loop_current->poller, events, POLLER_BATCH, 0, 0));
}

static void cancels(const struct io *io, bide_task *task)
{
	(void)io;
	must(bide_cancel(task, NULL) == 0);
}

static void closes(const struct io *io, bide_task *task)
{
	(void)task;
	must(bide_close(io->fd) == 0);
}

static void forgets(const struct io *io, bide_task *task)
{
	(void)task;
	must(bide_fd_forget(io->fd) == 0);
}

static void steals(const struct io *io, bide_task *task)
{
	must(drain(io->fd) == 1); /* woken for nothing: it waits again */
	turns(2);
	must(loop_current->descriptors.fired == 0 && loop_current->descriptors.waiting > 0);
	cancels(io, task);
}

static void *selects(void *arg)
{
	struct io *io = arg;
	bide_case cases[2] = {
		{ .op = BIDE_CASE_FD, .fd = io->fd, .events = POLLIN },
		{ .op = BIDE_CASE_FD, .fd = io->fd, .events = POLLRDHUP },
	};
	io->count = bide_select(cases, 2, 0);
	return NULL;
}

static bide_fn *const waiters[] = { io_recv, io_wait, selects };
static void (*const between[])(const struct io *, bide_task *) = { cancels, closes, forgets, steals };

#define WAYS (int)(sizeof between / sizeof *between)

/* Whatever happens between the wake by an event and the turn of who was woken. */
VIRTUAL_TEST(who_was_woken_is_counted_until_it_runs)
{
	struct io io = { .events = POLLIN };
	int fds[2];
	make_unix(fds);
	io.fd = fds[0];
	bide_task *task = io_start(waiters[_i / WAYS], &io);
	must(loop_current->descriptors.fired == 0 && loop_current->descriptors.waiting > 0);
	must_write(fds[1], "x", 1);
	look_now();
	must(loop_current->descriptors.fired == 1);
	between[_i % WAYS](&io, task);
	must_join(task);
	must(loop_current->descriptors.fired == 0 && loop_current->descriptors.waiting == 0);
	if (is_open(fds[0]))
		must(bide_close(fds[0]) == 0);
	close(fds[1]);
}

int main(void)
{
	const int has_batches = !suite_is_hostile(); /* there each event comes alone, and a call takes its time */
	return SUITE("io_batch", LOOP(a_loop_that_serves_descriptors_alone_wakes_a_handful_at_a_time, 0, has_batches),
	    LOOP(beside_another_task_all_who_are_ready_are_woken, 0, has_batches),
	    LOOP(each_ready_descriptor_has_its_turn_as_those_who_yield, 0, has_batches),
	    LOOP(who_was_woken_is_counted_until_it_runs, 0, 3 * WAYS));
}
