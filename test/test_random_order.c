/* SPDX-License-Identifier: MIT
 * The seeded random order of ready tasks: bide/testing.h. Semantics 193: the same seed gives the same
 * run, and a thousand seeds of a mixed program find nothing. */
#include <stdlib.h>
#include <unistd.h>

#include "await/record.h"
#include "base/random.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

#define FLAGS (BIDE_VIRTUAL_CLOCK | BIDE_RANDOM_ORDER)

/* ---- a mixed program --------------------------------------------------------------------------------- */

static uint64_t order_hash;
static uint64_t steps;
static bide_time dawdling; /* real time that each step takes besides */

/* Who was here, in which order: the trace of a run, as one number. */
static void step(int who)
{
	order_hash = (order_hash ^ (uint64_t)who) * UINT64_C(1099511628211);
	steps++;
	if (dawdling)
		compute(dawdling);
}

#define STREAM_BYTES 200
#define WORKERS 8

static struct {
	int fds[2];
	int written, read;
	bool has_pipe;
	bide_mutex lock;
	bide_sem sem;
	int inside, entered;
	int defers, drops, callbacks, ticks, yielded;
} world;

static void *writer(void *arg)
{
	(void)arg;
	while (world.written < STREAM_BYTES) {
		unsigned char byte = (unsigned char)world.written++;
		step(1);
		must(bide_write(world.fds[1], &byte, 1) == 1);
		if (byte % 16 == 0)
			pass(byte);
	}
	return NULL;
}

static void *reader(void *arg)
{
	(void)arg;
	while (world.read < STREAM_BYTES) {
		unsigned char bytes[16];
		ssize_t count = bide_read(world.fds[0], bytes, sizeof bytes);
		must(count > 0);
		step(2);
		for (ssize_t i = 0; i < count; i++)
			must(bytes[i] == (unsigned char)world.read++);
	}
	return NULL;
}

static void count_defer(void *arg)
{
	(void)arg;
	must(bide_yield() == 0);
	world.defers++;
}

static void count_drop(void *value)
{
	must(value != NULL);
	world.drops++;
}

static const bide_key key = { .drop = count_drop };

static void *worker(void *arg)
{
	int who = (int)(intptr_t)arg;
	must(bide_defer(count_defer, NULL) == 0);
	must(bide_local_set(&key, arg) == 0);
	for (int i = 0; i < 10; i++) {
		must(bide_mutex_lock(&world.lock) == 0);
		must(world.inside++ == 0);
		step(10 + who);
		if (i % 3 == who % 3)
			must(bide_yield() == 0);
		world.inside--;
		world.entered++;
		must(bide_mutex_unlock(&world.lock) == 0);
		if (i % 4 == 0)
			pass(who);
	}
	must(bide_sem_release(&world.sem, 1) == 0);
	return arg;
}

static void *waiter(void *arg)
{
	return bide_sleep(BIDE_NEVER) == 0 ? arg : bide_fail(errno);
}

static void *canceler(void *arg)
{
	bide_task *victims[4];
	for (int i = 0; i < 4; i++)
		victims[i] = must_spawn(waiter, NULL);
	for (int i = 0; i < 4; i++) {
		step(30 + i);
		if (i % 2)
			must(bide_yield() == 0);
		must(bide_cancel(victims[i], NULL) == 0);
	}
	for (int i = 0; i < 4; i++)
		must(must_join(victims[i]).err == ECANCELED);
	return arg;
}

static void callback(void *arg)
{
	step(50);
	world.callbacks++;
	if (arg)
		must(bide_call_soon(callback, NULL) == 0);
}

static void *generator(void *arg)
{
	for (intptr_t i = 1; i <= 5; i++) {
		must(bide_yield() == 0);
		bide_coro_yield((void *)i);
	}
	return arg;
}

static void *consumer(void *arg)
{
	bide_coro *coro = bide_coro_new(generator, NULL, 0);
	void *out;
	while (bide_coro_resume(coro, NULL, &out) == 1) {
		step(60);
		world.yielded += (int)(intptr_t)out;
	}
	must(bide_coro_close(coro) == 0);
	return arg;
}

static void *ticking(void *arg)
{
	bide_ticker ticker;
	must(bide_ticker_init(&ticker, 7, BIDE_TICK_BURST) == 0);
	for (int i = 0; i < 10; i++) {
		must(bide_tick(&ticker, NULL) == 0);
		step(70);
		world.ticks++;
	}
	return arg;
}

static void *mixed_program(void *arg)
{
	static bide_timer timers[10];
	bide_task *tasks[WORKERS + 6];
	int count = 0;
	memset(&world, 0, sizeof world);
	world.has_pipe = arg != NULL;
	order_hash = UINT64_C(14695981039346656037);
	steps = 0;
	must(pipe(world.fds) == 0);
	if (world.has_pipe) {
		tasks[count++] = must_spawn(reader, NULL);
		tasks[count++] = must_spawn(writer, NULL);
	}
	for (intptr_t i = 0; i < WORKERS; i++)
		tasks[count++] = must_spawn(worker, (void *)(i + 1));
	tasks[count++] = must_spawn(canceler, NULL);
	tasks[count++] = must_spawn(consumer, NULL);
	tasks[count++] = must_spawn(ticking, NULL);
	for (int i = 0; i < 10; i++)
		must(bide_call_later(&timers[i], i % 4, callback, &world) == 0);
	must(bide_sem_acquire(&world.sem, WORKERS) == 0);
	sched_check(loop_current);
	for (int i = 0; i < count; i++)
		must_end_well(tasks[i]);
	pass(100);
	must(world.read == (world.has_pipe ? STREAM_BYTES : 0) && world.entered == WORKERS * 10 && world.defers == WORKERS);
	must(world.drops == WORKERS && world.callbacks == 20 && world.ticks == 10 && world.yielded == 15);
	must(loop_current->timers.heap.count == 0 && loop_current->tasks.live == 1);
	sched_check(loop_current);
	must(bide_close(world.fds[0]) == 0 && bide_close(world.fds[1]) == 0);
	return arg;
}

/* While a task waits for a descriptor each jump of the clock costs a millisecond of real time: not every
 * run can afford one. */
static uint64_t hash_of_run(unsigned flags, uint64_t seed, bool with_pipe)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(flags, &reports);
	bide_result result = { NULL, -1 };
	config.seed = seed;
	must_msg(bide_run(mixed_program, with_pipe ? &world : NULL, &config, &result) == 0 && result.err == 0, "seed %llu: %s",
	    (unsigned long long)seed, strerror(errno));
	for (int kind = 0; kind < REPORT_KINDS; kind++)
		must_msg(reports.count[kind] == 0, "seed %llu: %s", (unsigned long long)seed, reports.text[kind]);
	return order_hash;
}

START_TEST(the_mixed_program_runs_in_order_too)
{
	uint64_t hash = hash_of_run(BIDE_VIRTUAL_CLOCK, 0, true);
	for (int i = 0; i < 10; i++)
		ck_assert(hash_of_run(BIDE_VIRTUAL_CLOCK, 0, true) == hash);
}
END_TEST

/* However long things take: the order must not depend on the machine. */
START_TEST(the_same_seed_gives_the_same_run)
{
	static const bide_time slow[] = { 0, 200, 3 * BIDE_USEC, 40 * BIDE_USEC };
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t hash = hash_of_run(FLAGS, seed, seed % 4 == 0), length = steps;
		for (int i = 0; i < 4; i++) {
			dawdling = slow[i];
			must_msg(hash_of_run(FLAGS, seed, seed % 4 == 0) == hash, "seed %llu", (unsigned long long)seed);
			must(steps == length);
		}
		dawdling = 0;
	}
}
END_TEST

START_TEST(different_seeds_give_different_runs)
{
	uint64_t hashes[20];
	for (uint64_t seed = 0; seed < 20; seed++) {
		hashes[seed] = hash_of_run(FLAGS, seed + 1, false);
		for (uint64_t other = 0; other < seed; other++)
			must_msg(hashes[other] != hashes[seed], "seeds %llu and %llu", (unsigned long long)other + 1,
			    (unsigned long long)seed + 1);
	}
}
END_TEST

START_TEST(a_thousand_seeds_find_nothing)
{
	int seeds = suite_scaled_down(1000, 100);
	for (int seed = 1; seed <= seeds; seed++)
		hash_of_run(FLAGS, (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15), seed % 20 == 0);
}
END_TEST

/* ---- what is random and what is not ---------------------------------------------------------------------- */

static void *note_task(void *arg)
{
	note_arg(arg);
	return NULL;
}

static void *five_tasks_and_callbacks(void *arg)
{
	static char *names[] = { "a", "b", "c", "d", "e" };
	for (int i = 0; i < 5; i++) {
		must_spawn(note_task, names[i]);
		if (i % 2)
			must(bide_call_soon(note_arg, i == 1 ? "1" : "2") == 0);
	}
	note("spawned"); /* the line after a spawn comes first, whatever the order */
	undisturbed();
	settle();
	return arg;
}

static void run_five(uint64_t seed, char order[64])
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.flags = FLAGS;
	config.seed = seed;
	forget_notes();
	must(bide_run(five_tasks_and_callbacks, NULL, &config, &result) == 0 && result.err == 0);
	snprintf(order, 64, "%s", notes());
}

/* bide/testing.h: callbacks keep their order */
START_TEST(tasks_of_a_turn_are_shuffled_and_callbacks_keep_their_places)
{
	char first[64], order[64];
	int different = 0;
	run_five(1, first);
	for (uint64_t seed = 1; seed <= 50; seed++) {
		run_five(seed, order);
		different += strcmp(order, first) != 0;
		must_msg(strncmp(order, "spawned ", 8) == 0 && strlen(order) == strlen("spawned a b 1 c d 2 e"), "%s", order);
		must_msg(order[12] == '1' && order[18] == '2', "%s", order);
		for (const char *name = "abcde"; *name; name++)
			must_msg(strchr(order + 8, *name), "%s", order);
	}
	ck_assert_int_gt(different, 25);
	forget_notes();
}
END_TEST

static void *fail_unseen(void *arg)
{
	(void)arg;
	must(bide_detach(bide_self()) == 0);
	return bide_fail(EIO);
}

static void *spawn_one_that_fails(void *arg)
{
	must_spawn(fail_unseen, NULL);
	settle();
	return arg;
}

/* bide/loop.h: named in every report */
START_TEST(a_report_names_the_seed)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(_i == 2 ? BIDE_VIRTUAL_CLOCK : FLAGS, &reports);
	config.seed = _i ? 0 : 4242;
	ck_assert_int_eq(bide_run(spawn_one_that_fails, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_FAILURE], 1);
	const char *text = reports.text[BIDE_REPORT_FAILURE], *seed = strstr(text, "[seed ");
	ck_assert_msg((seed != NULL) == (_i < 2), "%s", text);
	if (_i == 0)
		ck_assert_ptr_nonnull(strstr(text, "[seed 4242]"));
	if (_i == 1) /* chosen by the clock: with that number the run can be had again */
		ck_assert(strtoull(seed + 6, NULL, 10) != 0);
}
END_TEST

static void *report_at_length(void *arg)
{
	run_report(run_of(loop_current), BIDE_REPORT_LIMIT, "%02000d", 0);
	return arg;
}

/* The text is cut, the seed is not. */
START_TEST(a_report_that_is_too_long_names_the_seed_too)
{
	static const char end[] = "00 [seed 4242]";
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(FLAGS, &reports);
	config.seed = 4242;
	ck_assert_int_eq(bide_run(report_at_length, NULL, &config, NULL), 0);
	const char *text = reports.text[BIDE_REPORT_LIMIT];
	ck_assert_uint_gt(strlen(text), 1000);
	ck_assert_str_eq(text + strlen(text) - strlen(end), end);
}
END_TEST

static void *join_in_a_circle(void *arg)
{
	bide_task *tasks[10];
	for (int i = 0; i < 10; i++)
		tasks[i] = must_spawn(i ? waiter : nothing, NULL);
	for (int i = 1; i < 10; i++)
		must(bide_cancel(tasks[i], NULL) == 0); /* before their first run: they are callbacks then */
	for (int i = 0; i < 10; i++)
		must(must_join(tasks[i]).err == (i ? ECANCELED : 0));
	return arg;
}

START_TEST(tasks_canceled_before_their_first_run_end_in_a_random_turn_too)
{
	for (uint64_t seed = 1; seed < 50; seed++) {
		bide_config config = BIDE_CONFIG_INIT;
		bide_result result;
		config.flags = FLAGS;
		config.seed = seed;
		must(bide_run(join_in_a_circle, NULL, &config, &result) == 0 && result.err == 0);
	}
}
END_TEST

int main(void)
{
	return SUITE_EXACT("random order",
	    TEST(the_mixed_program_runs_in_order_too),
	    TEST(the_same_seed_gives_the_same_run),
	    TEST(different_seeds_give_different_runs),
	    TEST(a_thousand_seeds_find_nothing),
	    TEST(tasks_of_a_turn_are_shuffled_and_callbacks_keep_their_places),
	    LOOP(a_report_names_the_seed, 0, 3),
	    TEST(a_report_that_is_too_long_names_the_seed_too),
	    TEST(tasks_canceled_before_their_first_run_end_in_a_random_turn_too));
}
