/* SPDX-License-Identifier: MIT
 * Another thread is held where it stands: inspect/freeze.h.
 * valgrind: skip (it has signals of its own) */
#include "inspect/freeze.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/place.h"
#include "death.h"
#include "suite.h"

struct worker {
	pthread_t thread;
	void (*work)(void);
	bool blocks;           /* all signals */
	atomic_int thread_id;  /* 0: not there yet */
	atomic_bool is_to_end;
	atomic_uint count;
};

static struct worker worker;

static void *work(void *arg)
{
	sigset_t all, before;
	(void)arg;
	sigfillset(&all);
	pthread_sigmask(worker.blocks ? SIG_BLOCK : SIG_UNBLOCK, &all, &before);
	atomic_store(&worker.thread_id, (int)syscall(SYS_gettid));
	while (!atomic_load(&worker.is_to_end)) {
		worker.work();
		atomic_fetch_add(&worker.count, 1);
	}
	if (worker.blocks)
		freeze_settle();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return NULL;
}

static void look_at_the_clock(void)
{
	clock_monotonic(); /* a call in which ThreadSanitizer delivers signals */
}

static void worker_start(void (*fn)(void), bool blocks)
{
	worker.work = fn;
	worker.blocks = blocks;
	atomic_store(&worker.thread_id, 0);
	atomic_store(&worker.is_to_end, false);
	must(pthread_create(&worker.thread, NULL, work, NULL) == 0);
	while (!atomic_load(&worker.thread_id))
		sched_yield();
}

static void worker_end(void)
{
	atomic_store(&worker.is_to_end, true);
	must(pthread_join(worker.thread, NULL) == 0);
}

static bool stands_in(const struct dump_frames *frames, const char *function)
{
	char place[PLACE_SIZE];
	for (int i = 0; i < frames->count; i++)
		if (strncmp(place_of(frames->pcs[i], place), function, strlen(function)) == 0)
			return true;
	return false;
}

/* It answers, however long that takes on a busy machine. */
static void hold(struct dump_frames *frames)
{
	while (!freeze_hold((pid_t)atomic_load(&worker.thread_id), frames))
		sched_yield();
}

static void must_begin(void)
{
	modules_note();
	must(freeze_begin());
}

START_TEST(a_held_thread_stands_still_and_tells_where)
{
	struct dump_frames frames;
	int seen = 0;
	must_begin();
	worker_start(look_at_the_clock, false);
	for (int i = 0; i < 20; i++) {
		hold(&frames);
		unsigned count = atomic_load(&worker.count);
		for (int turns = 0; turns < 10; turns++)
			sched_yield();
		must(atomic_load(&worker.count) == count);
		must(frames.count > 0);
		seen += stands_in(&frames, "work ");
		freeze_release();
		while (atomic_load(&worker.count) == count)
			sched_yield();
	}
	worker_end();
	freeze_end();
	ck_assert_int_ge(seen, 4); /* from the linker's stubs of a port that has no unwind tables there it is not */
}
END_TEST

static void use_the_heap(void)
{
	char *volatile memory = malloc(100 + atomic_load(&worker.count) % 5000);
	free(memory);
}

/* Whatever lock it owns meanwhile. */
START_TEST(a_thread_that_is_inside_malloc_can_be_held)
{
	struct dump_frames frames;
	must_begin();
	worker_start(use_the_heap, false);
	for (int i = 0; i < suite_scaled_down(200, 20); i++) {
		hold(&frames);
		must(frames.count > 0);
		freeze_release();
	}
	worker_end();
	freeze_end();
}
END_TEST

START_TEST(two_that_look_take_turns)
{
	struct dump_frames frames;
	must_begin();
	must_begin();
	worker_start(look_at_the_clock, false);
	hold(&frames);
	freeze_release();
	freeze_end();
	hold(&frames); /* the other is still there */
	freeze_release();
	worker_end();
	freeze_end();
}
END_TEST

/* And its signal does not come when nobody handles it any more, which would end the process. */
START_TEST(a_thread_that_blocks_the_signal_is_given_up)
{
	struct dump_frames frames;
	must_begin();
	worker_start(look_at_the_clock, true);
	must(!freeze_hold((pid_t)atomic_load(&worker.thread_id), &frames));
	worker_end();
	freeze_end();
}
END_TEST

START_TEST(a_thread_that_has_ended_is_given_up)
{
	struct dump_frames frames;
	must_begin();
	worker_start(look_at_the_clock, false);
	worker_end();
	must(!freeze_hold((pid_t)atomic_load(&worker.thread_id), &frames));
	freeze_end();
}
END_TEST

/* ---- the host's signals --------------------------------------------------------------------------- */

static int handled_signals(int *last)
{
	int count = 0;
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
		struct sigaction now;
		if (sigaction(number, NULL, &now) < 0 || now.sa_handler == SIG_DFL)
			continue;
		count++;
		*last = number;
	}
	return count;
}

static atomic_int heard;

static void host_handler(int number)
{
	atomic_store(&heard, number);
}

START_TEST(a_signal_of_the_hosts_is_not_taken_and_ours_is_given_back)
{
	int hosts, ours = 0, none;
	must_begin();
	must(handled_signals(&hosts) == 1); /* the one that would be taken */
	freeze_end();
	must(handled_signals(&none) == 0);
	must(signal(hosts, host_handler) == SIG_DFL);
	must_begin();
	must(handled_signals(&ours) == 2);
	raise(hosts);
	ck_assert_int_eq(atomic_load(&heard), hosts);
	freeze_end();
	must(handled_signals(&none) == 1 && none == hosts);
	signal(hosts, SIG_DFL);
}
END_TEST

/* Its host takes the signal while we have it. */
START_TEST(a_handler_that_was_put_over_ours_stays_and_nobody_is_held)
{
	struct dump_frames frames;
	int number;
	must_begin();
	must(handled_signals(&number) == 1);
	signal(number, host_handler);
	worker_start(look_at_the_clock, false);
	must(!freeze_hold((pid_t)atomic_load(&worker.thread_id), &frames));
	worker_end();
	freeze_end();
	must(signal(number, SIG_DFL) == host_handler);
}
END_TEST

static void get_a_strange_one(void *arg)
{
	int number = 0;
	(void)arg;
	if (freeze_begin() && handled_signals(&number) == 1)
		raise(number);
	freeze_end();
}

START_TEST(one_that_is_not_ours_acts_by_default)
{
	struct death death = death_of(get_a_strange_one, NULL);
	ck_assert_msg(death.signal >= SIGRTMIN, "signal %d, status %d: %s", death.signal, death.exit_status, death.text);
}
END_TEST

START_TEST(where_no_handler_can_be_had_nobody_is_held)
{
	struct dump_frames frames;
	must(bide_fault("sigaction:EINVAL") == 0);
	must(!freeze_begin());
	must(bide_fault(NULL) == 0);
	must(!freeze_hold((pid_t)syscall(SYS_gettid), &frames));
}
END_TEST

int main(void)
{
	return SUITE("freeze", TEST(a_held_thread_stands_still_and_tells_where),
	    TEST(a_thread_that_is_inside_malloc_can_be_held), TEST(two_that_look_take_turns),
	    TEST(a_thread_that_blocks_the_signal_is_given_up), TEST(a_thread_that_has_ended_is_given_up),
	    TEST(a_signal_of_the_hosts_is_not_taken_and_ours_is_given_back),
	    TEST(a_handler_that_was_put_over_ours_stays_and_nobody_is_held), TEST(one_that_is_not_ours_acts_by_default),
	    TEST(where_no_handler_can_be_had_nobody_is_held));
}
