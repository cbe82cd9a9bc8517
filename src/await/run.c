/* SPDX-License-Identifier: MIT
 * Layer await: bide_run(): the loop's beginning, its end, and what is reported on the way. */
#include "await/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "await/deadlock.h"
#include "await/figures.h"
#include "await/fork.h"
#include "await/group.h"
#include "await/record.h"
#include "await/scratch.h"
#include "await/stop.h"
#include "await/tower.h"
#include "base/fail.h"
#include "base/output.h"
#include "base/place.h"
#include "sched/elsewhere.h"
#include "sched/posts.h"

#define KNOWN_FLAGS (BIDE_DEBUG | BIDE_NO_SIGNALS | BIDE_VIRTUAL_CLOCK | BIDE_RANDOM_ORDER |      \
	BIDE_UNGUARDED_STACKS | BIDE_PAINT_STACKS)
#define DEFAULT_GRACE (5 * BIDE_SEC)

/* ---- reports ----------------------------------------------------------------------------------- */

#define BEFORE "bide: "
#define FRAME (sizeof BEFORE) /* it, and the end of the line */

/* No stdio: an unbuffered stream needs 10 KiB of stack, and this may run on a task's. The line is made where the text
 * is, and written at once, so that two threads' lines do not mix. */
static void write_to_stderr(char *text, size_t size)
{
	size_t length = strlen(text);
	if (length > size - FRAME)
		length = size - FRAME;
	memmove(text + FRAME - 1, text, length);
	memcpy(text, BEFORE, FRAME - 1);
	text[FRAME - 1 + length] = '\n';
	output_to_stderr(text, length + FRAME);
}

/* The text is cut rather than the seed, without which a random order cannot be had again. */
static void add_seed(char *text, size_t size, uint64_t seed)
{
	char end[40];
	size_t length = strlen(text), added = (size_t)snprintf(end, sizeof end, " [seed %llu]", (unsigned long long)seed);
	if (length + added >= size)
		length = size - added - 1;
	memcpy(text + length, end, added + 1);
}

void run_tell(struct run *run, int kind, char *text, size_t size)
{
	int saved = errno;
	if (run->config.flags & BIDE_RANDOM_ORDER)
		add_seed(text, size - FRAME, run->config.seed);
	if (run->config.report)
		run->config.report(kind, text, run->config.report_ctx);
	else
		write_to_stderr(text, size);
	errno = saved;
}

void run_report(struct run *run, int kind, const char *format, ...)
{
	char text[1024];
	int saved = errno;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	run_tell(run, kind, text, sizeof text);
	errno = saved;
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void cancel_one(void *record, void *arg)
{
	struct await_task *task = record;
	(void)arg;
	if (record_is_live(task) && task->task.state != TASK_DONE)
		cancel_request(task, "main ended");
}

static void grace_over(struct timer *timer)
{
	struct loop *loop = loop_current;
	(void)timer;
	loop_stop(loop);
}

/* Tasks that main left behind are canceled and run until they end, or until the grace is over. A virtual
 * clock, which waits for other threads, measures it in real time then. */
static void end_leftovers(struct run *run, bide_time until)
{
	if (run->alive == 0)
		return;
	struct timer grace = { .expired = grace_over };
	run->is_main_done = true; /* no task is spawned any more */
	run->loop.patience = until;
	slab_each(&run->loop.tasks, cancel_one, NULL);
	loop_arm(&run->loop, &grace, time_add(loop_now(&run->loop), run->config.shutdown_grace));
	loop_run(&run->loop);
	timer_disarm(&run->loop.timers, &grace);
}

/* All that main has left, by the end of the grace. How much of it there still is. */
static unsigned end_all(struct run *run)
{
	bide_time until = time_add(clock_monotonic(), run->config.shutdown_grace);
	end_leftovers(run, until);
	stop_watch_end(run);
	if (run->abandon_outside_waits)
		run->abandon_outside_waits(run);
	posts_close(&run->loop);
	unsigned jobs = run->host ? run->host->end(run, until) : 0;
	return run->alive + jobs;
}

static void report_leftover(void *record, void *arg)
{
	struct await_task *task = record;
	char label[TASK_LABEL_SIZE], place[PLACE_SIZE];
	if (record_is_live(task) && task->task.state != TASK_DONE)
		run_report(arg, BIDE_REPORT_LEFTOVER,
		    "task %s ignored its cancel beyond the shutdown grace, waiting for %s; it will never run again; "
		    "spawned at %s", task_label(task, label), wait_kind_names[task->task.wait.kind],
		    place_of_call(task->spawn_site, place));
}

static void free_record(void *record, void *arg)
{
	struct await_task *task = record;
	struct run *run = arg;
	char label[TASK_LABEL_SIZE], place[PLACE_SIZE];
	if (!record_is_live(task))
		return;
	if (task->task.state == TASK_DONE) {
		if (run->config.flags & BIDE_DEBUG && !task->is_joined && !task->is_detached && task != run->main)
			run_report(run, BIDE_REPORT_LEAK, "task %s was never joined; spawned at %s",
			    task_label(task, label), place_of_call(task->spawn_site, place));
		if (task != run->main && task_outcome(task)->err)
			report_unread(task);
	} else if (task->task.state != TASK_CREATED) {
		coros_disown(task);
		strand_destroy(&task->task.strand);
	} else if (annex_peek(task)->drop) {
		annex_peek(task)->drop(task->arg);
	}
	child_free(task);
	deferred_free(task);
	locals_free(task);
	scratch_free(task);
	if (!run->loop.keeps_stacks)
		stack_put(&run->loop.stacks, &task->task.stack);
}

/* ---- the beginning ----------------------------------------------------------------------------- */

static int check_config(const bide_config *config)
{
	if (config->size != sizeof *config || (config->flags & ~KNOWN_FLAGS) || config->shutdown_grace < 0 ||
	    config->trim_after < 0 || config->slow_slice < 0 || config->stall < 0 ||
	    config->deadlock < BIDE_DEADLOCK_FAIL || config->deadlock > BIDE_DEADLOCK_WAIT ||
	    (config->stack_size && !stack_size_is_valid(config->stack_size)))
		return fail_with(EINVAL);
	const bide_allocator *allocator = config->allocator;
	if (allocator && (!allocator->alloc != !allocator->free ||
	    !allocator->stack_alloc != !allocator->stack_free))
		return fail_with(EINVAL);
	return 0;
}

static void fill_in_defaults(struct run *run, const bide_config *config)
{
	static const bide_config defaults = BIDE_CONFIG_INIT;
	static atomic_uint_least64_t serials;
	const char *debug = getenv("BIDE_DEBUG");
	run->serial = 1 + atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed);
	run->config = config ? *config : defaults;
	if (debug && *debug && strcmp(debug, "0") != 0)
		run->config.flags |= BIDE_DEBUG;
	if (!run->config.shutdown_grace)
		run->config.shutdown_grace = DEFAULT_GRACE;
	if (!run->config.stack_size)
		run->config.stack_size = STACK_SIZE_DEFAULT;
	if (!run->config.seed)
		run->config.seed = (uint64_t)clock_monotonic();
}

static struct stack_options stack_options(const bide_config *config)
{
	struct stack_options options = STACK_OPTIONS_DEFAULT;
	if (config->stack_cache)
		options.warm_limit = config->stack_cache;
	options.paints = config->flags & BIDE_PAINT_STACKS;
	options.has_canaries = config->flags & BIDE_DEBUG;
	options.may_be_unguarded = config->flags & BIDE_UNGUARDED_STACKS;
	return options;
}

static void slice_ended(struct loop *loop, struct task *task)
{
	const struct lock_hooks *locks = run_of(loop)->locks;
	check_slice(loop, task);
	if (locks)
		locks->slice_ended(await_task_of(task));
}

static int watch_signals(struct run *run)
{
	if (stop_watch_begin(run) < 0)
		return -1;
	if (overflow_watch(&run->overflow_watch, find_victim) == 0)
		return 0;
	int err = errno;
	stop_watch_end(run);
	return fail_with(err);
}

static int init_loop(struct run *run)
{
	const bide_allocator *allocator = run->config.allocator;
	struct stack_hooks hooks = { 0 };
	run->memory = memory_default;
	if (allocator && allocator->alloc)
		run->memory = (struct memory){ allocator->alloc, allocator->free, allocator->ctx };
	if (allocator && allocator->stack_alloc)
		hooks = (struct stack_hooks){ allocator->stack_alloc, allocator->stack_free, allocator->ctx };
	struct loop_settings settings = {
		.record_size = sizeof(struct await_task),
		.annex_size = sizeof(struct annex),
		.memory = &run->memory,
		.stack_hooks = &hooks,
		.stacks = stack_options(&run->config),
		.is_virtual = run->config.flags & BIDE_VIRTUAL_CLOCK,
		.is_random = run->config.flags & BIDE_RANDOM_ORDER,
		.seed = run->config.seed,
		.task_main = life_main,
		.task_buried = life_buried,
		.deadlocked = deadlock_report,
		.publish = figures_publish,
	};
	list_init(&run->soons);
	list_init(&run->done_callbacks);
	if (loop_init(&run->loop, &settings) < 0)
		return -1;
	/* One timer is for the shutdown grace: it must not fail when it is needed. */
	if (timers_pledge(&run->loop.timers, 1) < 0 ||
	    (!(run->config.flags & BIDE_NO_SIGNALS) && watch_signals(run) < 0)) {
		int err = errno;
		loop_destroy(&run->loop);
		return fail_with(err);
	}
	if (run->config.flags & BIDE_DEBUG) {
		run->loop.after_slice = slice_ended;
		leaks_begin(run);
		elsewhere_debug(1);
	}
	sweep_init(run, run->config.trim_after);
	return 0;
}

static void destroy_run(struct run *run)
{
	leaks_end(run);
	if (run->config.flags & BIDE_DEBUG)
		elsewhere_debug(-1);
	timers_abandon(run);
	soons_free(run);
	done_callbacks_free(run);
	slab_each(&run->loop.tasks, free_record, run);
	if (run->locks)
		run->locks->run_ended(run);
	sites_destroy(run);
	loop_current = NULL;
	loop_destroy(&run->loop);
	overflow_unwatch(&run->overflow_watch);
}

/* Runs main and what it leaves. 0, or the errno of bide_run(). */
static int run_main(struct run *run, bide_fn *main_fn, void *arg, void *site, bide_result *out)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "main";
	run->main = task_spawn(main_fn, arg, &attr, site);
	if (!run->main)
		return errno;
	task_hold(run->main); /* whatever main does with its own handle */
	while (!run->is_main_done) {
		loop_run(&run->loop);
		if (!loop_current)
			return EPERM;
		if (!run->is_main_done && run->deadlock_rounds > DEADLOCK_ROUNDS_MAX)
			break;
	}
	unsigned left = end_all(run);
	if (run->main->task.state == TASK_DONE)
		*out = (bide_result){ task_outcome(run->main)->value, task_outcome(run->main)->err };
	if (run->alive > 0)
		slab_each(&run->loop.tasks, report_leftover, run);
	if (run->is_deadlocked)
		return EDEADLK;
	return left > 0 ? EBUSY : 0;
}

/* 0, or the errno of bide_run(); *out is the outcome of main, as far as it got. */
static int run_whole(bide_fn *main_fn, void *arg, const bide_config *config, void *site, bide_result *out)
{
	struct run run = { 0 };
	if (!main_fn || (config && check_config(config) < 0))
		return EINVAL;
	if (fork_watch() < 0)
		return errno;
	if (loop_current)
		return EBUSY;
	fill_in_defaults(&run, config);
	if (init_loop(&run) < 0)
		return errno;
	inspector.run_begins(&run);
	loop_current = &run.loop;
	int err = run_main(&run, main_fn, arg, site, out);
	inspector.run_ends(&run);
	if (loop_current)
		destroy_run(&run);
	else
		overflow_unwatch(&run.overflow_watch); /* a forked process: the rest is the parent's */
	return err;
}

#define NOT_ENDED (-1) /* in a result's err */

__attribute__((noinline)) int bide_run(bide_fn *main_fn, void *arg, const bide_config *config, bide_result *out)
{
	bide_result result = { NULL, NOT_ENDED };
	int saved = errno;
	int err = run_whole(main_fn, arg, config, __builtin_return_address(0), &result);
	if (result.err == NOT_ENDED)
		result.err = err;
	if (out)
		*out = result;
	else if (!err)
		err = result.err;
	errno = err ? err : saved;
	return err ? -1 : 0;
}

bide_loop *bide_loop_self(void)
{
	return loop_current ? loop_handle(loop_current) : NULL;
}
