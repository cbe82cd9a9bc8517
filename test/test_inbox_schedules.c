/* SPDX-License-Identifier: MIT
 * The handshake of sched/inbox.c in every schedule (test/support/schedules.h): the code itself, compiled once more
 * with a step at each place where another thread may come in between. One poster without limit, more of them with
 * so many preemptions at most.
 * Scenarios H1, H2. The model test/model/inbox.pml says the same of an abstraction with more threads. */
#include <sched.h>

#include "schedules.h"
#include "suite.h"

#include "base/system.h"

static int raised(int fd);
static int let_wakers_finish(void);

#define INBOX_STEP() schedules_step()
#define sched_yield let_wakers_finish
#define system_eventfd_raise raised
#define inbox_handle model_handle /* beside the library's own, which is linked too */
#define inbox_open model_open
#define inbox_close model_close
#define inbox_take model_take
#define inbox_fall_asleep model_fall_asleep
#define inbox_wake_up model_wake_up
#define inbox_post model_post
#define inbox_put model_put
#define inbox_wake_owner model_wake_owner
#define inbox_process model_process
#define inbox_hold model_hold
#define inbox_release model_release
#define inboxes_forget model_forget
#define inbox_read_board model_read_board
#include "../src/sched/inbox.c"

#define POSTERS_MAX 3

/* ---- one schedule ------------------------------------------------------------------------------------- */

static struct {
	int posters;               /* the actor behind them is the loop */
	struct inbox *inbox;
	bide_loop *handle;
	struct inbox_post posts[POSTERS_MAX];
	int accepted, refused, run;
	bool flag_is_up;           /* the eventfd */
	bool is_open;              /* may be written to */
	bool waits;                /* the loop is in its wait, */
	bool lets_finish;          /* or closes the inbox while somebody is about to write */
	int writes;
} world;

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
	while (world.run < world.posters) {
		schedules_step();
		run_posts(inbox_take(world.inbox));
		schedules_step();
		if (world.run == world.posters || !inbox_fall_asleep(world.inbox))
			continue;
		while (!world.flag_is_up) {
			world.waits = true;
			schedules_step();
		}
		world.waits = world.flag_is_up = false;
		inbox_wake_up(world.inbox);
	}
	return arg;
}

/* Sleeps once if it can, for so long as it likes, and ends. */
static void *loop_that_ends(void *arg)
{
	bool is_asleep = inbox_fall_asleep(world.inbox);
	schedules_step();
	if (is_asleep)
		inbox_wake_up(world.inbox);
	schedules_step();
	run_posts(inbox_close(world.inbox));
	world.is_open = false;
	return arg;
}

/* The loop in its wait, or while it lets a waker finish. */
static bool is_blocked(int actor)
{
	bool sleeps = world.waits && !world.flag_is_up;
	return actor == world.posters && (sleeps || (world.lets_finish && atomic_load(&world.inbox->wakers) > 0));
}

static struct {
	int posters;
	bide_fn *loop;
} chosen;

static void begin(void)
{
	memset(&world, 0, sizeof world);
	world.posters = chosen.posters;
	world.is_open = true;
	world.inbox = inbox_open(3);
	world.handle = inbox_handle(world.inbox);
	for (int i = 0; i < world.posters; i++)
		schedules_actor(poster, &world.posts[i]);
	schedules_actor(chosen.loop, NULL);
}

static long try_all(int posters, bide_fn *loop, void (*end)(void))
{
	static const int native[] = { 0, PREEMPTIONS_ANY, 6, 4 }, slow[] = { 0, 5, 2, 1 };
	bool is_fast = suite_is_native() && !suite_is_hostile(); /* there each actor's stack is mapped anew */
	struct schedules schedules = { begin, is_blocked, end, (is_fast ? native : slow)[posters] };
	chosen.posters = posters;
	chosen.loop = loop;
	return schedules_try_all(&schedules);
}

/* ---- what holds --------------------------------------------------------------------------------------- */

static void all_ran(void)
{
	must(world.accepted == world.posters && world.run == world.posters && world.refused == 0);
	must(world.writes <= world.posters);
	run_posts(inbox_close(world.inbox));
}

START_TEST(no_wake_up_is_lost_in_any_schedule)
{
	long schedules = try_all(_i, loop_until_all_ran, all_ran);
	printf("%d posters: %ld schedules\n", _i, schedules);
	must(schedules > 10);
}
END_TEST

static void run_or_refused(void)
{
	must(world.accepted == world.run && world.accepted + world.refused == world.posters);
}

START_TEST(at_the_end_of_a_loop_a_post_is_run_or_refused_and_no_closed_descriptor_is_written)
{
	long schedules = try_all(_i, loop_that_ends, run_or_refused);
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
