/* SPDX-License-Identifier: MIT
 * What goes in comes out: for each primitive of bide/sync.h tasks that wait, are canceled, run out of time,
 * are served, a great many times under the seeded random order. Whenever the loop has settled nobody may
 * be asleep while what it waits for is free, and at the end all must be as at the start.
 *
 * A failure names the seed. Each object begins with its line, at which these tests look. */
#include <stdlib.h>

#include "base/random.h"
#include "runs.h"

#define WORKERS 8
#define SEEDS 10
#define STEPS 1000000 /* of each primitive, with all seeds together */

static uint64_t seed;
static struct random dice;

#define holds(condition)                                                                           \
	must_msg(condition, "seed %llu, line %d: '%s' does not hold", (unsigned long long)seed, __LINE__, #condition)

static int below(int limit)
{
	return (int)random_below(&dice, (uint64_t)limit);
}

static int line_length(const void *object)
{
	int length = 0;
	list_each(link, (const struct list *)object)
		length++;
	return length;
}

static int line_head_wants(const void *object)
{
	struct link *head = list_head(object);
	return head ? container_of(head, struct wait, link)->detail : 0;
}

/* ---- the frame --------------------------------------------------------------------------------------- */

/* A primitive: what a worker does in a step, what holds whenever all are parked, and at the end. */
struct primitive {
	const char *name;
	void (*begin)(void);
	void (*step)(int who);
	void (*check)(void);
	void (*end)(void);
	void (*release)(void); /* lets those go who wait for what none of the others will do; NULL: none do */
};

static const struct primitive *primitive;
static bide_task *workers[WORKERS];
static int steps_left, running, cancels;

/* A call failed. Only a cancel or a deadline may be the reason; returns -1 for a guard. */
static void forgive(void)
{
	holds(errno == ECANCELED || errno == ETIMEDOUT);
	while (bide_uncancel() > 0)
		;
}

static void rest(void)
{
	if (below(3) == 0 ? bide_sleep(below(4)) < 0 : bide_yield() < 0)
		forgive();
}

static void cancel_somebody(void)
{
	bide_task *victim = workers[below(WORKERS)];
	if (victim && bide_cancel(victim, NULL) == 0)
		cancels++;
}

/* Some steps have a deadline. */
static void step_in_a_scope(int who)
{
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(below(5)), 0) == 0);
	primitive->step(who);
	bide_scope_leave(&scope);
}

static void *worker(void *arg)
{
	int who = (int)(intptr_t)arg;
	while (steps_left-- > 0) {
		rest();
		if (below(4) == 0)
			cancel_somebody();
		if (below(3) == 0)
			step_in_a_scope(who);
		else
			primitive->step(who);
	}
	running--;
	return NULL;
}

static void *whole_run(void *arg)
{
	primitive->begin();
	running = WORKERS;
	for (intptr_t i = 0; i < WORKERS; i++)
		workers[i] = must_spawn(worker, (void *)i);
	for (int before = 0; running > 0; before = steps_left) {
		pass(1 + below(10));
		settle();
		primitive->check();
		if (steps_left == before && primitive->release)
			primitive->release(); /* all may be waiting for each other */
	}
	for (int i = 0; i < WORKERS; i++) {
		must_join(workers[i]);
		workers[i] = NULL;
	}
	primitive->end();
	sched_check(loop_current);
	return arg;
}

/* ---- mutex --------------------------------------------------------------------------------------------- */

static bide_mutex mutex;
static int inside;

static void mutex_begin(void)
{
	memset(&mutex, 0, sizeof mutex);
	inside = 0;
}

static void hold_mutex(void)
{
	holds(inside++ == 0);
	if (below(2))
		rest();
	inside--;
	holds(bide_mutex_unlock(&mutex) == 0);
}

static void mutex_step(int who)
{
	(void)who;
	if (below(5) == 0) {
		if (bide_mutex_trylock(&mutex) == 0)
			hold_mutex();
		else
			holds(errno == EBUSY);
		return;
	}
	if (bide_mutex_lock(&mutex) < 0)
		forgive();
	else
		hold_mutex();
}

static void mutex_check(void)
{
	holds(inside > 0 || line_length(&mutex) == 0);
}

static void mutex_end(void)
{
	holds(inside == 0 && bide_mutex_destroy(&mutex) == 0);
}

/* ---- semaphore -------------------------------------------------------------------------------------------- */

#define PERMITS 5

static bide_sem sem;
static int taken;

static void sem_begin(void)
{
	holds(bide_sem_init(&sem, PERMITS, PERMITS) == 0);
	taken = 0;
}

static void sem_step(int who)
{
	int n = 1 + below(who == 0 ? PERMITS : 2);
	bool waits = below(5) > 0;
	if ((waits ? bide_sem_acquire(&sem, n) : bide_sem_tryacquire(&sem, n)) < 0) {
		if (waits)
			forgive();
		else
			holds(errno == EAGAIN);
		return;
	}
	taken += n;
	holds(taken <= PERMITS);
	if (below(2))
		rest();
	taken -= n;
	holds(bide_sem_release(&sem, n) == 0);
}

static void sem_check(void)
{
	holds(bide_sem_value(&sem) == PERMITS - taken);
	holds(line_length(&sem) == 0 || line_head_wants(&sem) > bide_sem_value(&sem));
}

static void sem_end(void)
{
	holds(taken == 0 && bide_sem_value(&sem) == PERMITS);
	errno = 0;
	holds(bide_sem_release(&sem, 1) < 0 && errno == EOVERFLOW);
	holds(bide_sem_destroy(&sem) == 0);
}

/* ---- readers and writers ------------------------------------------------------------------------------------ */

static bide_rwlock rwlock;
static int readers, writers;

static void rwlock_begin(void)
{
	memset(&rwlock, 0, sizeof rwlock);
	readers = writers = 0;
}

static int enter(bool writes, bool waits)
{
	if (waits)
		return writes ? bide_rwlock_wrlock(&rwlock) : bide_rwlock_rdlock(&rwlock);
	return writes ? bide_rwlock_trywrlock(&rwlock) : bide_rwlock_tryrdlock(&rwlock);
}

static void rwlock_step(int who)
{
	bool writes = below(3) == 0, waits = below(5) > 0;
	int *mine = writes ? &writers : &readers;
	(void)who;
	if (enter(writes, waits) < 0) {
		if (waits)
			forgive();
		else
			holds(errno == EBUSY);
		return;
	}
	++*mine;
	holds(writers == 0 || (writers == 1 && readers == 0));
	if (below(2))
		rest();
	--*mine;
	holds(bide_rwlock_unlock(&rwlock) == 0);
}

static void rwlock_check(void)
{
	bool waits = line_length(&rwlock) > 0, head_writes = line_head_wants(&rwlock) == 1;
	holds(!waits || writers > 0 || (readers > 0 && head_writes));
}

static void rwlock_end(void)
{
	holds(readers == 0 && writers == 0 && bide_rwlock_destroy(&rwlock) == 0);
}

/* ---- condition ------------------------------------------------------------------------------------------------ */

static bide_cond cond;
static int signaled, woken;

static void cond_begin(void)
{
	mutex_begin();
	memset(&cond, 0, sizeof cond);
	signaled = woken = 0;
}

static void signal_some(void)
{
	int in_line = line_length(&cond), n = 1 + below(3);
	bool all = below(8) == 0;
	holds((all ? bide_cond_broadcast(&cond) : bide_cond_signal(&cond, n)) == 0);
	signaled += all || n > in_line ? in_line : n;
}

static void wait_for_a_signal(void)
{
	inside--;
	if (bide_cond_wait(&cond, &mutex) < 0)
		forgive();
	else
		woken++;
	holds(inside++ == 0); /* it has the mutex, whatever came of it */
}

static void cond_step(int who)
{
	(void)who;
	if (below(3) == 0) {
		signal_some(); /* without the mutex */
		return;
	}
	if (bide_mutex_lock(&mutex) < 0) {
		forgive();
		return;
	}
	holds(inside++ == 0);
	if (below(3))
		wait_for_a_signal();
	else
		signal_some();
	if (below(2))
		rest();
	inside--;
	holds(bide_mutex_unlock(&mutex) == 0);
}

static void cond_release(void)
{
	signaled += line_length(&cond);
	holds(bide_cond_broadcast(&cond) == 0);
}

static void cond_end(void)
{
	holds(signaled == woken); /* each signal that met somebody woke one, and nobody woke without */
	holds(woken > 0 && bide_cond_destroy(&cond) == 0);
	mutex_end();
}

/* ---- event ------------------------------------------------------------------------------------------------------ */

static bide_event event;
static int set_for, woke_by_set;

static void event_begin(void)
{
	memset(&event, 0, sizeof event);
	set_for = woke_by_set = 0;
}

static void set_event(void)
{
	set_for += line_length(&event);
	holds(bide_event_set(&event) == 0);
	holds(line_length(&event) == 0);
}

static void event_step(int who)
{
	(void)who;
	switch (below(4)) {
	case 0:
		set_event();
		if (below(2) == 0)
			break;
		/* fall through */
	case 1:
		holds(bide_event_clear(&event) == 0);
		break;
	default: {
		undisturbed();
		uint64_t turn = loop_current->ready.turn;
		if (bide_event_wait(&event) < 0)
			forgive();
		else if (loop_current->ready.turn != turn)
			woke_by_set++;
	}
	}
}

static void event_check(void)
{
	holds(!bide_event_is_set(&event) || line_length(&event) == 0);
}

static void event_end(void)
{
	holds(woke_by_set == set_for && woke_by_set > 0 && bide_event_destroy(&event) == 0);
}

/* ---- barrier ------------------------------------------------------------------------------------------------------ */

#define PARTY 3

static bide_barrier barrier;
static int at_place[PARTY], aborted_for, told_of_abort;

static void barrier_begin(void)
{
	holds(bide_barrier_init(&barrier, PARTY) == 0);
	memset(at_place, 0, sizeof at_place);
	aborted_for = told_of_abort = 0;
}

static void abort_barrier(void)
{
	aborted_for += line_length(&barrier);
	holds(bide_barrier_abort(&barrier) == 0);
	holds(bide_barrier_init(&barrier, PARTY) == 0);
}

static void barrier_step(int who)
{
	(void)who;
	if (below(200) == 0) {
		abort_barrier();
		return;
	}
	int place = bide_barrier_wait(&barrier);
	if (place >= 0) {
		holds(place < PARTY);
		at_place[place]++;
	} else if (errno == EPIPE) {
		told_of_abort++;
	} else {
		forgive();
	}
}

static void barrier_check(void)
{
	holds(line_length(&barrier) < PARTY);
}

static void barrier_end(void)
{
	for (int i = 1; i < PARTY; i++)
		holds(at_place[i] == at_place[0]); /* each generation was whole */
	holds(at_place[0] > 0 && told_of_abort == aborted_for && bide_barrier_destroy(&barrier) == 0);
}

/* ---- once ----------------------------------------------------------------------------------------------------------- */

static bide_once once;
static int under_way, succeeded, generation;

static void once_begin(void)
{
	generation++;
	memset(&once, 0, sizeof once);
	under_way = succeeded = 0;
}

static int initialize(void *arg)
{
	(void)arg;
	holds(under_way++ == 0 && !succeeded);
	int status = below(2) ? bide_sleep(below(3)) : bide_yield();
	under_way--;
	if (status < 0)
		return -1;
	if (below(4)) {
		errno = EIO;
		return -1;
	}
	succeeded = 1;
	return 0;
}

static void once_step(int who)
{
	(void)who;
	if (succeeded && under_way == 0 && line_length(&once) == 0 && below(20) == 0)
		once_begin(); /* those who woke and have not run yet do not mind */
	int mine = generation;
	if (bide_once_run(&once, initialize, NULL) < 0) {
		if (errno != EIO)
			forgive();
	} else {
		holds(succeeded || mine != generation);
	}
}

static void once_check(void)
{
	holds(under_way == 1 || line_length(&once) == 0);
}

static void once_end(void)
{
	holds(under_way == 0);
}

/* ---- all of them ---------------------------------------------------------------------------------------------------------- */

static const struct primitive primitives[] = {
	{ "mutex", mutex_begin, mutex_step, mutex_check, mutex_end, NULL },
	{ "semaphore", sem_begin, sem_step, sem_check, sem_end, NULL },
	{ "rwlock", rwlock_begin, rwlock_step, rwlock_check, rwlock_end, NULL },
	{ "condition", cond_begin, cond_step, mutex_check, cond_end, cond_release },
	{ "event", event_begin, event_step, event_check, event_end, set_event },
	{ "barrier", barrier_begin, barrier_step, barrier_check, barrier_end, abort_barrier },
	{ "once", once_begin, once_step, once_check, once_end, NULL },
};

START_TEST(what_goes_in_comes_out_and_nobody_sleeps_while_something_is_free)
{
	struct reports reports = { { 0 }, { "" } };
	primitive = &primitives[_i];
	for (uint64_t number = 1; number <= SEEDS; number++) {
		bide_config config = config_with(BIDE_VIRTUAL_CLOCK | BIDE_RANDOM_ORDER, &reports);
		bide_result result = { NULL, -1 };
		seed = number * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)_i;
		dice = (struct random){ seed };
		config.seed = seed;
		cancels = 0;
		steps_left = suite_scaled_down(STEPS / SEEDS, 500);
		must_msg(bide_run(whole_run, NULL, &config, &result) == 0, "%s, seed %llu: %s; %s", primitive->name,
		    (unsigned long long)seed, strerror(errno), reports.text[BIDE_REPORT_DEADLOCK]);
		must_msg(result.err == 0 && cancels > 10, "%s, seed %llu", primitive->name, (unsigned long long)seed);
		for (int kind = 0; kind < REPORT_KINDS; kind++)
			must_msg(reports.count[kind] == 0, "%s: %s", primitive->name, reports.text[kind]);
	}
}
END_TEST

int main(void)
{
	return SUITE("sync property", TABLE(what_goes_in_comes_out_and_nobody_sleeps_while_something_is_free, primitives));
}
