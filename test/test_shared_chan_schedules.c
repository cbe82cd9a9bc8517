/* SPDX-License-Identifier: MIT
 * Shared channels in every schedule (test/support/schedules.h): sync/shared_chan.c itself, compiled once more with
 * a step at each place where another thread may come in between, before and in each of its locked sections. Tasks
 * of two loops and plain threads are actors; a cancel is one more, which comes to a task that is parked. A loop
 * sleeps until it is woken, which a post alone does not do.
 * Whatever happens in whatever order: what was sent was received once, or is in the channel, or was dropped; a call
 * that failed did nothing; nobody sleeps for ever. Statements 40, 83, 159. */
#include <pthread.h>
#include <setjmp.h>

#include "schedules.h"
#include "suite.h"

#include "await/fork.h"
#include "await/record.h"
#include "await/selectable.h"
#include "sync/ring.h"

static int model_lock(pthread_mutex_t *mutex);
static int model_unlock(pthread_mutex_t *mutex);
static int model_park(struct task *task, bide_time deadline);
static bool model_wake(struct task *task, int status);
static int model_put(bide_loop *handle, struct inbox_post *post);
static int model_wake_owner(bide_loop *handle);
static struct loop *model_loop(void);
static struct task *model_checkpoint(void);

#define SHARED_CHAN_STEP() schedules_step()
#define pthread_mutex_lock model_lock
#define pthread_mutex_unlock model_unlock
#define park model_park
#define task_wake model_wake
#define inbox_put model_put
#define inbox_wake_owner model_wake_owner
#define loop_current model_loop()
#define checkpoint model_checkpoint
#define shared_chan_new model_new /* beside the library's own, which are linked too */
#define shared_chan_move model_move
#define shared_chan_try model_try
#define shared_chan_close model_close
#define shared_chan_look model_look
#define shared_chan_ref model_ref
#define shared_chan_unref model_unref
#include "../src/sync/shared_chan.c"

/* ---- threads, loops, tasks ------------------------------------------------------------------------------ */

#define ITEMS_MAX 8

/* An actor. One with a loop is the loop's only task. */
struct thread {
	int (*call)(int item, int *got); /* what it does; got: an item that it received */
	bool has_loop;
	int item;                        /* what it sends */

	struct run run;
	struct task task;
	struct inbox_post *posts;
	bool is_woken;                   /* the loop need not sleep */
	bool is_parked, has_parked;      /* also if it was woken and has not gone on yet */
	bool wants_lock, is_done;
	jmp_buf gone;                    /* out of a call that never returns */
	int result, err;
};

static struct {
	struct thread threads[ACTORS_MAX], outside;
	int count;
	struct thread *victim;    /* whom the actor behind them cancels, or whose loop it ends; NULL: none */
	bool is_ending, is_over;  /* the victim's loop */
	struct thread *locker;
	bide_chan *chan;
	int sent[ITEMS_MAX], seen[ITEMS_MAX]; /* by item: sends that succeeded; receives and drops */
} world;

static struct thread *running(void)
{
	int actor = schedules_running();
	if (actor < 0)
		return &world.outside;
	return actor < world.count ? &world.threads[actor] : world.victim;
}

static struct loop *model_loop(void)
{
	return running()->has_loop ? &running()->run.loop : NULL;
}

static struct task *model_checkpoint(void)
{
	return &running()->task;
}

static int model_lock(pthread_mutex_t *mutex)
{
	struct thread *thread = running();
	(void)mutex;
	thread->wants_lock = true;
	while (world.locker)
		schedules_step();
	thread->wants_lock = false;
	world.locker = thread;
	return 0;
}

static int model_unlock(pthread_mutex_t *mutex)
{
	(void)mutex;
	must(world.locker == running());
	world.locker = NULL;
	return 0;
}

static bool model_wake(struct task *task, int status)
{
	if (task->state != TASK_SUSPENDED)
		return false;
	task->state = TASK_READY;
	task->wait.status = status;
	return true;
}

static struct thread *owner(bide_loop *handle)
{
	return (struct thread *)handle;
}

static int model_put(bide_loop *handle, struct inbox_post *post)
{
	struct thread *thread = owner(handle);
	must(world.locker == running() && !(world.is_over && thread == world.victim));
	post->next = thread->posts;
	thread->posts = post;
	return 0;
}

static int model_wake_owner(bide_loop *handle)
{
	must(world.locker != running());
	owner(handle)->is_woken = true;
	return 0;
}

static void run_posts(struct thread *thread)
{
	struct inbox_post *post = thread->posts;
	thread->is_woken = false;
	thread->posts = NULL;
	while (post) {
		struct inbox_post *next = post->next;
		post->run(post);
		post = next;
	}
}

static void let_others_come(struct thread *thread)
{
	schedules_step();
	if (world.is_over && thread == world.victim)
		longjmp(thread->gone, 1);
}

/* The loop runs posts when it is awake. When it has ended the task never goes on. */
static int model_park(struct task *task, bide_time deadline)
{
	struct thread *thread = container_of(task, struct thread, task);
	must(deadline == BIDE_NEVER && world.locker != thread);
	task->state = TASK_SUSPENDED;
	thread->is_parked = thread->has_parked = true;
	while (task->state == TASK_SUSPENDED) {
		let_others_come(thread);
		if (thread->is_woken)
			run_posts(thread);
	}
	let_others_come(thread); /* in the ready queue */
	thread->is_parked = false;
	return task->wait.status;
}

/* ---- actors ------------------------------------------------------------------------------------------------ */

static void *act(void *arg)
{
	struct thread *thread = arg;
	static int got[ACTORS_MAX]; /* not on a stack that is jumped out of */
	int *mine = &got[thread - world.threads];
	*mine = 0;
	if (setjmp(thread->gone) == 0) {
		thread->result = thread->call(thread->item, mine);
		thread->err = thread->result < 0 ? errno : 0;
		must(!thread->posts); /* it lay on the stack of the call */
		world.seen[*mine]++;
	}
	thread->is_done = true;
	return NULL;
}

/* To a task that is parked, and not shielded. If it never is there is nothing to do. */
static void *cancel(void *arg)
{
	struct thread *victim = arg;
	if (!victim->is_done)
		model_wake(&victim->task, ECANCELED);
	return NULL;
}

/* The run of a task that waits is over. */
static void *end_loop(void *arg)
{
	struct thread *victim = arg;
	if (victim->is_done)
		return NULL;
	world.is_ending = true;
	if (victim->run.abandon_outside_waits)
		victim->run.abandon_outside_waits(&victim->run);
	world.is_over = true;
	run_posts(victim);
	return NULL;
}

static bool sleeps(const struct thread *thread)
{
	return thread->task.state == TASK_SUSPENDED && !thread->is_woken;
}

static int unref(int item, int *got);

static bool is_blocked(int actor)
{
	const struct thread *thread = actor < world.count ? &world.threads[actor] : world.victim;
	if (actor == world.count && !world.is_ending) /* it has yet to begin */
		return !thread->is_done && (!thread->is_parked || thread->task.wait.is_shielded);
	if (actor == world.count)
		return thread->wants_lock && world.locker;
	if (world.is_ending && thread == world.victim)
		return !world.is_over;
	if (thread->call == unref && !world.threads[0].has_parked)
		return !world.threads[0].is_done;
	return thread->wants_lock ? world.locker != NULL : sleeps(thread);
}

static int await_send(int item, int *got)
{
	(void)got;
	int result = model_move(world.chan, SHARED_CHAN_SEND, &item);
	world.sent[item] += result == 0;
	return result;
}

static int try_send(int item, int *got)
{
	(void)got;
	int result = model_try(world.chan, SHARED_CHAN_SEND, &item);
	world.sent[item] += result == 0;
	return result;
}

static int await_recv(int item, int *got)
{
	(void)item;
	return model_move(world.chan, SHARED_CHAN_RECV, got);
}

static int try_recv(int item, int *got)
{
	(void)item;
	return model_try(world.chan, SHARED_CHAN_RECV, got);
}

static int close_it(int item, int *got)
{
	(void)got;
	return model_close(world.chan, item % 2 ? BIDE_DISCARD : 0);
}

static int unref(int item, int *got)
{
	(void)item;
	(void)got;
	model_unref(world.chan);
	return 0;
}

static void dropped(void *item)
{
	must(world.locker != running());
	world.seen[*(int *)item]++;
}

/* ---- what is tried --------------------------------------------------------------------------------------- */

static const struct scenario {
	size_t capacity;
	int before;      /* items that are in it */
	struct {
		int (*call)(int item, int *got);
		bool has_loop;
	} threads[ACTORS_MAX];
	enum { NOTHING, CANCEL, END } happens; /* to the first one */
} scenarios[] = {
	{ 0, 0, { { await_recv, true }, { try_send, false }, { try_send, false } }, CANCEL },
	{ 1, 0, { { await_recv, true }, { try_send, false }, { try_send, false } }, CANCEL },
	{ 1, 1, { { await_send, true }, { try_recv, false }, { try_recv, false } }, CANCEL },
	{ 0, 0, { { await_send, true }, { try_recv, false }, { try_recv, false } }, CANCEL },
	{ 0, 0, { { await_recv, true }, { await_send, true } }, NOTHING },
	{ 1, 1, { { await_send, true }, { await_recv, true }, { await_recv, true } }, NOTHING },
	{ 0, 0, { { await_recv, true }, { await_send, true }, { close_it, false } }, CANCEL },
	{ 1, 1, { { await_send, true }, { try_recv, false }, { close_it, false } }, CANCEL },
	{ 0, 0, { { await_recv, true }, { await_recv, true }, { await_send, true }, { close_it, false } }, NOTHING },
	{ 1, 0, { { await_recv, true }, { unref, false } }, CANCEL },
	{ 1, 1, { { await_send, true }, { unref, false } }, CANCEL },
	{ 0, 0, { { await_recv, true }, { try_send, false }, { try_send, false } }, END },
	{ 1, 1, { { await_send, true }, { try_recv, false }, { try_recv, false } }, END },
	{ 0, 0, { { await_recv, true }, { close_it, false } }, END },
};

static const struct scenario *scenario;

static void begin(void)
{
	memset(&world, 0, sizeof world);
	world.chan = model_new(sizeof(int), scenario->capacity, dropped);
	for (int i = 0; i < scenario->before; i++)
		must(try_send(ITEMS_MAX - 1 - i, NULL) == 0);
	for (; world.count < ACTORS_MAX && scenario->threads[world.count].call; world.count++) {
		struct thread *thread = &world.threads[world.count];
		thread->call = scenario->threads[world.count].call;
		thread->has_loop = scenario->threads[world.count].has_loop;
		thread->item = world.count + 1;
		thread->run.loop.handle = (bide_loop *)thread;
		thread->task.loop = &thread->run.loop;
		schedules_actor(act, thread);
	}
	if (scenario->happens == NOTHING)
		return;
	world.victim = &world.threads[0];
	schedules_actor(scenario->happens == CANCEL ? cancel : end_loop, world.victim);
}

/* A try form need not find anything. The call of a task whose loop has ended never returned: its item may have
 * been sent. */
static void end(void)
{
	bool is_unreffed = scenario->threads[1].call == unref;
	for (int i = 0; i < world.count; i++) {
		const struct thread *thread = &world.threads[i];
		must(thread->err != ECANCELED || (thread == world.victim && scenario->happens == CANCEL));
		must(thread->err != EAGAIN || !thread->has_loop);
	}
	if (!is_unreffed)
		model_unref(world.chan);
	for (int item = 1; item < ITEMS_MAX; item++)
		must(world.seen[item] == world.sent[item] ||
		    (world.is_over && item == world.victim->item && world.seen[item] == 1));
}

START_TEST(whatever_comes_first_nothing_is_lost_or_done_twice)
{
	bool is_fast = suite_is_native() && !suite_is_hostile(); /* there each actor's stack is mapped anew */
	struct schedules schedules = { begin, is_blocked, end, is_fast ? 2 : 1 };
	scenario = &scenarios[_i];
	long count = schedules_try_all(&schedules);
	printf("scenario %d: %ld schedules\n", _i, count);
	must(count > 5);
}
END_TEST

int main(void)
{
	return SUITE("shared channel schedules", TABLE(whatever_comes_first_nothing_is_lost_or_done_twice, scenarios));
}
