/* SPDX-License-Identifier: MIT
 * A loop that is held may be in the middle of anything: inspect/sound.h. A dump of it ends, follows nothing that is not
 * there, and says what it has left out. Statement 189.
 * valgrind: skip (it has signals of its own, and says what can be read) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "await/coro.h"
#include "await/crew.h"
#include "base/clock.h"
#include "base/modules.h"
#include "base/writer.h"
#include "inspect/dump.h"
#include "inspect/sound.h"
#include "inspect/watch.h"
#include "runs.h"

#define LEFT_OUT "bide: some of it is left out"
#define ALL (BIDE_DUMP_BACKTRACES | BIDE_DUMP_ALL)

static char text[1 << 20];
static FILE *file;

static void write_dump(struct loop *loop, const struct dump_frames *frames, struct sound *sound)
{
	struct writer writer;
	must(ftruncate(fileno(file), 0) == 0 && lseek(fileno(file), 0, SEEK_SET) == 0);
	writer_to_fd(&writer, fileno(file), BIDE_NEVER);
	dump_write(loop, &writer, ALL, frames, sound);
	must(writer_flush(&writer) == 0);
}

static void read_dump(void)
{
	ssize_t count = pread(fileno(file), text, sizeof text - 1, 0);
	must(count > 0);
	text[count] = '\0';
}

static void must_say(const char *what)
{
	must_msg(strstr(text, what), "no %s in: %.2000s", what, text);
}

/* ---- records that are broken on purpose -------------------------------------------------------------------- */

/* Tasks of every kind that a dump looks at; all are parked. */
static struct await_task *child, *sibling, *joiner, *gatherer, *locker, *selector, *scoped, *built;
static bide_mutex mutex;
static bide_task *for_ever;

static void *sit_in_a_scope(void *arg)
{
	bide_scope scopes[2];
	bide_scope_enter(&scopes[0], BIDE_NEVER, 0);
	bide_scope_enter(&scopes[1], 1000 * BIDE_SEC, 0);
	forever_sleeper(NULL);
	bide_scope_leave(&scopes[1]);
	bide_scope_leave(&scopes[0]);
	return arg;
}

static void *join_it(void *arg)
{
	bide_result result;
	return bide_join(arg, &result) < 0 ? bide_fail(errno) : NULL;
}

static void *gather_it(void *arg)
{
	bide_task *tasks[] = { must_spawn(forever_sleeper, arg), must_spawn(forever_sleeper, arg) };
	return bide_gather(tasks, 2, NULL, 0) < 0 ? bide_fail(errno) : NULL;
}

static void *lock_it(void *arg)
{
	if (bide_mutex_lock(arg) < 0)
		return bide_fail(errno);
	bide_mutex_unlock(arg);
	return NULL;
}

static void *sleep_in_a_coroutine(void *arg)
{
	return forever_sleeper(arg);
}

static void *stand_on_two_stacks(void *arg)
{
	bide_coro *coro = bide_coro_new(sleep_in_a_coroutine, arg, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) >= 0);
	bide_coro_close(coro);
	return arg;
}

static struct await_task *named(const char *name, bide_fn *fn, void *arg)
{
	return handle_resolve(must_spawn_named(name, fn, arg));
}

struct breakage {
	const char *name;
	void *at;      /* eight bytes */
	uint64_t value;
	const char *but; /* is told all the same */
};

static char *no_memory; /* a page that cannot be read */

static uint64_t bits(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static uint64_t with_kind(const struct wait *wait, unsigned kind)
{
	struct wait other = *wait;
	uint64_t word;
	other.kind = (uint8_t)kind;
	memcpy(&word, (char *)&other + offsetof(struct wait, detail), sizeof word);
	return word;
}

/* Dumps with eight bytes changed, for as long as that takes. */
static void dump_broken(const struct breakage *broken)
{
	struct dump_frames frames = { .count = 0 };
	struct sound sound;
	uint64_t before;
	must(sound_begin(&sound, loop_current) == 0);
	memcpy(&before, broken->at, sizeof before);
	memcpy(broken->at, &broken->value, sizeof before);
	write_dump(loop_current, &frames, &sound);
	memcpy(broken->at, &before, sizeof before);
	sound_end(&sound);
	read_dump();
	must_msg(strstr(text, LEFT_OUT), "%s: nothing is left out of: %.2000s", broken->name, text);
	must_say(broken->but);
}

static void dump_whole(void)
{
	struct dump_frames frames = { .count = 0 };
	struct sound sound;
	must(sound_begin(&sound, loop_current) == 0);
	write_dump(loop_current, &frames, &sound);
	sound_end(&sound);
	read_dump();
	must_msg(!strstr(text, LEFT_OUT), "left out of: %.2000s", text);
	must_say("\"joiner\" suspended, waits for task ");
	must_say("\"gatherer\" suspended, waits for its tasks");
	must_say(", held by task ");
	must_say("\"sibling\" suspended");
	must_say("in a coroutine resumed");
}

static void break_one_after_the_other(void)
{
	struct group *group = child->child->group;
	struct crew *crew = (struct crew *)(uintptr_t)gatherer->task.wait.object;
	struct wait *join = &joiner->task.wait, *kind = &locker->task.wait;
	struct bide_coro *coro = built->coro;
	const struct breakage all[] = {
		{ "child nowhere", &child->child, 0x5a5a5a5a5a5a5a58, "\"joiner\"" },
		{ "child not to be read", &child->child, bits(no_memory), "\"joiner\"" },
		{ "child not aligned", &child->child, bits((char *)child->child + 3), "\"joiner\"" },
		{ "group nowhere", &child->child->group, 16, "\"joiner\"" },
		{ "child of nobody", &child->child->task, bits(&mutex), "\"joiner\"" },
		{ "owner is none", &group->owner, bits(&mutex), "\"joiner\"" },
		{ "sibling nowhere", &child->child->link.next, bits(no_memory + 8), "\"child\"" },
		{ "sibling mangled", &child->child->link.next, 0x0000123456789abc, "\"child\"" },
		{ "siblings that go round", &sibling->child->link.next, bits(&child->child->link), "\"sibling\"" },
		{ "first child nowhere", &group->children.head.next, bits(no_memory), "\"joiner\"" },
		{ "scope nowhere", &scoped->scope, bits(no_memory), "\"scoped\" suspended" },
		{ "scope of another", &scoped->scope->task, bits(child), "\"scoped\" suspended" },
		{ "outer scope nowhere", &scoped->scope->outer, 0xffff000000000000, "\"scoped\" suspended" },
		{ "scopes that go round", &scoped->scope->outer, bits(scoped->scope), "\"scoped\" suspended" },
		{ "no such kind of wait", &kind->detail, with_kind(kind, 250), "waits for ?" },
		{ "waits for no task", &join->object, bits(&mutex), "waits for ?" },
		{ "waits for nothing", &join->object, 0, "waits for ?" },
		{ "between two records", &join->object, bits((char *)child + 64), "waits for ?" },
		{ "mutex nowhere", &kind->object, bits(no_memory), "waits for ?" },
		{ "crew nowhere", &gatherer->task.wait.object, bits(no_memory), "waits for ?" },
		{ "members nowhere", &crew->members, bits(no_memory), "waits for ?" },
		{ "member is no task", &crew->members[0].task, bits(&mutex), "waits for ?" },
		{ "selects nowhere", &selector->task.wait.more, bits(no_memory), "waits for ?" },
		{ "selects that go round", &selector->task.wait.more->more, bits(selector->task.wait.more), "\"selector\" suspended" },
		{ "annex of another", &scoped->task.annex, bits(child->task.annex), "\"joiner\"" },
		{ "loop of another", &scoped->task.loop, bits(&mutex), "\"joiner\"" },
		{ "coroutine nowhere", &built->coro, bits(no_memory), "\"built\" suspended" },
		{ "coroutines that go round", &coro->below, bits(coro), "\"built\" suspended" },
		{ "stack pointer elsewhere", &joiner->task.strand.context.sp, bits(&mutex), "\"joiner\" suspended" },
		{ "stack that is no more", &joiner->task.stack.high, bits(joiner->task.stack.low), "\"joiner\" suspended" },
		{ "reason nowhere", &annex_of(scoped)->cancel_reason, bits(no_memory), "canceled: ?" },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		dump_broken(&all[i]);
}

static void *wait_for_one_of_two(void *arg)
{
	char item;
	bide_chan *chans[] = { bide_chan_new(1, 0, 0, NULL), bide_chan_new(1, 0, 0, NULL) };
	bide_case cases[] = { { .op = BIDE_CASE_RECV, .chan = chans[0], .item = &item },
		{ .op = BIDE_CASE_RECV, .chan = chans[1], .item = &item } };
	int err = bide_select(cases, 2, 0) < 0 ? errno : 0;
	bide_chan_unref(chans[0]);
	bide_chan_unref(chans[1]);
	return err ? bide_fail(err) : arg;
}

VIRTUAL_TEST(what_is_torn_is_left_out_and_that_is_said)
{
	bide_group group;
	file = tmpfile();
	no_memory = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(file && no_memory != MAP_FAILED);
	modules_note();
	must(bide_mutex_lock(&mutex) == 0);
	for_ever = must_spawn(forever_sleeper, NULL);
	must(bide_group_enter(&group, 0, 0) == 0);
	bide_task *first = bide_group_spawn(&group, forever_sleeper, NULL, NULL);
	bide_task *second = bide_group_spawn(&group, forever_sleeper, NULL, NULL);
	bide_task_set_name(first, "child");
	bide_task_set_name(second, "sibling");
	child = handle_resolve(first);
	sibling = handle_resolve(second);
	scoped = named("scoped", sit_in_a_scope, NULL);
	joiner = named("joiner", join_it, for_ever);
	gatherer = named("gatherer", gather_it, NULL);
	locker = named("locker", lock_it, &mutex);
	selector = named("selector", wait_for_one_of_two, NULL);
	built = named("built", stand_on_two_stacks, NULL);
	pass(BIDE_MSEC);
	annex_of(scoped)->cancel_count = 1; /* without the rest of a cancel */
	dump_whole();
	break_one_after_the_other();
	annex_of(scoped)->cancel_count = 0;
	must(munmap(no_memory, 65536) == 0);
	fclose(file);
	bide_group_cancel(&group, NULL);
	bide_group_leave(&group);
	must(bide_mutex_unlock(&mutex) == 0);
}

/* ---- a loop that is held at any moment ---------------------------------------------------------------------- */

static struct {
	pthread_t thread;
	_Atomic(bide_loop *) loop;
	atomic_bool is_to_end;
} churning;

static void *two_steps(void *arg)
{
	bide_scope scope;
	bide_scope_enter(&scope, BIDE_NEVER, 0);
	bide_coro_yield(arg);
	bide_yield();
	bide_scope_leave(&scope);
	return arg;
}

static void *resume_one(void *arg)
{
	bide_coro *coro = bide_coro_new(two_steps, arg, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) >= 0 && bide_coro_resume(coro, NULL, NULL) >= 0);
	must(bide_coro_close(coro) == 0);
	return arg;
}

static void *lock_and_yield(void *arg)
{
	if (bide_mutex_lock(arg) < 0)
		return bide_fail(errno);
	bide_yield();
	bide_mutex_unlock(arg);
	return arg;
}

/* Groups in groups, cancels, scopes, coroutines, locks, gathers. */
static void *run_a_group(void *arg)
{
	static unsigned rounds;
	static bide_fn *const bodies[] = { resume_one, lock_and_yield, forever_sleeper };
	bide_group group;
	unsigned depth = (unsigned)(uintptr_t)arg;
	must(bide_group_enter(&group, 0, BIDE_KEEP_GOING) == 0);
	for (int i = 0; i < 3; i++) {
		bide_task *one = bide_group_spawn(&group, bodies[i], &mutex, NULL);
		if (one && rounds % 2)
			bide_task_set_name(one, "one of three");
	}
	if (depth > 0)
		bide_group_spawn(&group, run_a_group, (void *)(uintptr_t)(depth - 1), NULL);
	bide_task *gathered[2] = { must_spawn(resume_one, arg), must_spawn(two_steps, arg) };
	bide_gather(gathered, 2, NULL, 0);
	if (rounds++ % 4)
		bide_group_cancel(&group, "for the test");
	else
		bide_yield();
	bide_group_cancel(&group, NULL);
	bide_group_leave(&group);
	return NULL;
}

static void *churn(void *arg)
{
	bide_task *tasks[3];
	atomic_store(&churning.loop, bide_loop_self());
	while (!atomic_load(&churning.is_to_end)) {
		for (int i = 0; i < 3; i++)
			tasks[i] = must_spawn(run_a_group, (void *)(uintptr_t)i);
		free(malloc(100000));
		for (int i = 0; i < 3; i++)
			bide_join(tasks[i], NULL);
	}
	return arg;
}

static void *run_churning(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = BIDE_PAINT_STACKS;
	must(bide_run(churn, NULL, &config, NULL) == 0);
	return arg;
}

static void hold_and_dump(struct watch *watch)
{
	struct dump_frames frames;
	struct sound sound;
	must(sound_begin(&sound, &watch->run->loop) == 0);
	if (watch_hold(watch, &frames)) {
		write_dump(&watch->run->loop, &frames, &sound);
		freeze_release();
	}
	sound_end(&sound);
}

START_TEST(a_loop_that_is_held_at_any_moment_is_told_and_goes_on)
{
	file = tmpfile();
	must(file);
	modules_note();
	atomic_store(&churning.is_to_end, false);
	must(pthread_create(&churning.thread, NULL, run_churning, NULL) == 0);
	while (!atomic_load(&churning.loop))
		sched_yield();
	struct watch *watch = watch_claim(atomic_load(&churning.loop));
	must(watch);
	bide_time end = clock_monotonic() + 600 * BIDE_MSEC;
	for (int i = 0; i < 20 || clock_monotonic() < end; i++)
		hold_and_dump(watch);
	watch_give_back(watch);
	read_dump();
	must_say("bide: ");
	atomic_store(&churning.is_to_end, true);
	must(pthread_join(churning.thread, NULL) == 0);
	fclose(file);
}
END_TEST

int main(void)
{
	return SUITE("dump held", TEST(what_is_torn_is_left_out_and_that_is_said),
	    TEST(a_loop_that_is_held_at_any_moment_is_told_and_goes_on));
}
