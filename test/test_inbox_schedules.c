/* SPDX-License-Identifier: MIT
 * The handshake of sched/inbox.c in every schedule: the code itself, compiled once more with a switch to the
 * scheduler of this test at each place where another thread may come in between. Posters and the loop are
 * coroutines; which one makes the next step is chosen by counting through all sequences of choices: for one
 * poster without limit, for more with so many preemptions at most. All of the atomic operations that matter
 * are seq_cst, so an interleaving is all that a machine can do.
 * Scenarios H1, H2. The model test/model/inbox.pml says the same of an abstraction with more threads. */
#include <bide/coro.h>

#include <sched.h>

#include "suite.h"

#include "base/system.h"

static void step(void);
static int raised(int fd);
static int let_wakers_finish(void);

#define INBOX_STEP() step()
#define sched_yield let_wakers_finish
#define system_eventfd_raise raised
#define inbox_handle model_handle /* beside the library's own, which is linked too */
#define inbox_open model_open
#define inbox_close model_close
#define inbox_take model_take
#define inbox_fall_asleep model_fall_asleep
#define inbox_wake_up model_wake_up
#define inbox_post model_post
#define inbox_hold model_hold
#define inbox_release model_release
#define inboxes_forget model_forget
#define inbox_read_board model_read_board
#include "../src/sched/inbox.c"

#define POSTERS_MAX 3
#define ACTORS_MAX (POSTERS_MAX + 1)
#define DEPTH_MAX 100

/* ---- one schedule ------------------------------------------------------------------------------------- */

static struct {
	int count;                 /* of actors; the last one is the loop */
	bide_coro *coro[ACTORS_MAX];
	bool is_done[ACTORS_MAX];
	struct inbox *inbox;
	bide_loop *handle;
	struct inbox_post posts[POSTERS_MAX];
	int accepted, refused, run;
	bool flag_is_up;           /* the eventfd */
	bool is_open;              /* may be written to */
	bool waits;                /* the loop is in its wait, */
	bool lets_finish;          /* or closes the inbox while somebody is about to write */
	int writes;
	int latest;                /* actor, and how often one was stopped that could have gone on */
	int preemptions;
} world;

static void step(void)
{
	if (world.count > 0)
		bide_coro_yield(NULL);
}

static int raised(int fd)
{
	(void)fd;
	must_msg(world.is_open, "a write to a descriptor that is closed");
	world.flag_is_up = true;
	world.writes++;
	return 0;
}

static int let_wakers_finish(void)
{
	world.lets_finish = true;
	return 0;
}

static void *poster(void *arg)
{
	struct inbox_post *post = arg;
	if (inbox_post(world.handle, post) == 0) {
		world.accepted++;
	} else {
		must(errno == ESHUTDOWN);
		world.refused++;
	}
	return NULL;
}

static void run_posts(struct inbox_post *post)
{
	for (; post; post = post->next)
		world.run++;
}

/* As the loop does it: it sleeps only if the inbox says so, and its wait ends when the flag is up. */
static void *loop_until_all_ran(void *arg)
{
	int wanted = *(int *)arg;
	while (world.run < wanted) {
		step();
		run_posts(inbox_take(world.inbox));
		step();
		if (world.run == wanted || !inbox_fall_asleep(world.inbox))
			continue;
		while (!world.flag_is_up) {
			world.waits = true;
			step();
		}
		world.waits = world.flag_is_up = false;
		inbox_wake_up(world.inbox);
	}
	return NULL;
}

/* Sleeps once if it can, for so long as it likes, and ends. */
static void *loop_that_ends(void *arg)
{
	(void)arg;
	bool is_asleep = inbox_fall_asleep(world.inbox);
	step();
	if (is_asleep)
		inbox_wake_up(world.inbox);
	step();
	run_posts(inbox_close(world.inbox));
	world.is_open = false;
	return NULL;
}

/* Who cannot go on is not chosen: the loop in its wait, or while it lets a waker finish. */
static bool can_run(int actor)
{
	if (world.is_done[actor] || actor < world.count - 1)
		return !world.is_done[actor];
	bool sleeps = world.waits && !world.flag_is_up;
	return !sleeps && !(world.lets_finish && atomic_load(&world.inbox->wakers) > 0);
}

/* ---- all schedules ------------------------------------------------------------------------------------ */

static struct {
	uint8_t chosen[DEPTH_MAX], options[DEPTH_MAX];
	int depth;
} path;

/* Those that can run, the latest first; it alone when there were preemptions enough. */
static int list_able(int able[ACTORS_MAX], int preemptions_max)
{
	int count = 0;
	bool goes_on = can_run(world.latest);
	if (goes_on)
		able[count++] = world.latest;
	for (int i = 0; i < world.count && (!goes_on || world.preemptions < preemptions_max); i++)
		if (i != world.latest && can_run(i))
			able[count++] = i;
	return count;
}

/* Who makes step number `at`; -1 if nobody can. */
static int choose(int at, int preemptions_max)
{
	int able[ACTORS_MAX];
	int count = list_able(able, preemptions_max);
	if (count == 0)
		return -1;
	must(at < DEPTH_MAX);
	if (at >= path.depth) {
		path.chosen[at] = 0;
		path.options[at] = (uint8_t)count;
		path.depth = at + 1;
	}
	int actor = able[path.chosen[at]];
	if (actor != world.latest && can_run(world.latest))
		world.preemptions++;
	world.latest = actor;
	return actor;
}

/* The next path, depth first; false after the last. */
static bool advance(void)
{
	while (path.depth > 0 && path.chosen[path.depth - 1] + 1 == path.options[path.depth - 1])
		path.depth--;
	if (path.depth == 0)
		return false;
	path.chosen[path.depth - 1]++;
	return true;
}

static void begin(int posters, bide_fn *loop, void *arg)
{
	memset(&world, 0, sizeof world);
	world.is_open = true;
	world.inbox = inbox_open(3);
	world.handle = inbox_handle(world.inbox);
	for (int i = 0; i < posters; i++)
		world.coro[i] = bide_coro_new(poster, &world.posts[i], 0);
	world.coro[posters] = bide_coro_new(loop, arg, 0);
	world.count = posters + 1;
}

static void run_one(int preemptions_max)
{
	int actor;
	for (int at = 0; (actor = choose(at, preemptions_max)) >= 0; at++)
		world.is_done[actor] = bide_coro_resume(world.coro[actor], NULL, NULL) == 0;
	for (int i = 0; i < world.count; i++) {
		must_msg(world.is_done[i], "actor %d of %d never goes on: a lost wake-up", i, world.count);
		must(bide_coro_close(world.coro[i]) == 0);
	}
	world.count = 0;
}

static long try_all(int posters, bide_fn *loop, void *arg, void (*check)(int posters))
{
	static const int native[] = { 0, DEPTH_MAX, 6, 4 }, slow[] = { 0, 5, 2, 1 };
	bool is_fast = suite_is_native() && !suite_is_hostile(); /* there each actor's stack is mapped anew */
	int preemptions = (is_fast ? native : slow)[posters];
	long schedules = 0;
	path.depth = 0;
	do {
		begin(posters, loop, arg);
		run_one(preemptions);
		check(posters);
		schedules++;
	} while (advance());
	return schedules;
}

/* ---- what holds --------------------------------------------------------------------------------------- */

static void all_ran(int posters)
{
	must(world.accepted == posters && world.run == posters && world.refused == 0);
	must(world.writes <= posters);
	run_posts(inbox_close(world.inbox));
}

START_TEST(no_wake_up_is_lost_in_any_schedule)
{
	long schedules = try_all(_i, loop_until_all_ran, &_i, all_ran);
	printf("%d posters: %ld schedules\n", _i, schedules);
	must(schedules > 10);
}
END_TEST

static void run_or_refused(int posters)
{
	must(world.accepted == world.run && world.accepted + world.refused == posters);
}

START_TEST(at_the_end_of_a_loop_a_post_is_run_or_refused_and_no_closed_descriptor_is_written)
{
	long schedules = try_all(_i, loop_that_ends, NULL, run_or_refused);
	printf("%d posters and an end: %ld schedules\n", _i, schedules);
	must(schedules > 10);
}
END_TEST

int main(void)
{
	return SUITE("inbox schedules",
	    LOOP(no_wake_up_is_lost_in_any_schedule, 1, POSTERS_MAX + 1),
	    LOOP(at_the_end_of_a_loop_a_post_is_run_or_refused_and_no_closed_descriptor_is_written, 1, POSTERS_MAX + 1));
}
