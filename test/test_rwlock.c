/* SPDX-License-Identifier: MIT
 * The readers-writer lock: bide/sync.h. Semantics 151, 152. */
#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_rwlock lock;
static int readers, writers;

struct visitor {
	const char *name;
	bool writes;
	bide_time from, stay, patience;
};

static int enter(bool writes)
{
	return writes ? bide_rwlock_wrlock(&lock) : bide_rwlock_rdlock(&lock);
}

/* Comes, notes when it got in or why not, and stays. */
static void *visit(void *arg)
{
	const struct visitor *visitor = arg;
	bide_scope scope = { { 0 } };
	int *inside = visitor->writes ? &writers : &readers;
	pass(visitor->from * BIDE_SEC);
	if (visitor->patience)
		must(bide_scope_enter(&scope, bide_after(visitor->patience * BIDE_SEC), 0) == 0);
	int status = enter(visitor->writes);
	int err = errno;
	if (visitor->patience)
		must((bide_scope_leave(&scope) < 0) == (status < 0));
	note("%s%s@%d", visitor->name, status == 0 ? "" : err == ECANCELED ? ":canceled" : err == ETIMEDOUT ? ":late" : "?",
	    (int)(bide_now() / BIDE_SEC));
	if (status < 0)
		return NULL;
	++*inside;
	must(writers == 0 || (writers == 1 && readers == 0));
	if (bide_sleep(visitor->stay * BIDE_SEC) < 0)
		must(errno == ECANCELED);
	--*inside;
	must(bide_rwlock_unlock(&lock) == 0);
	return NULL;
}

#define R false
#define W true

static void fresh(void)
{
	memset(&lock, 0, sizeof lock);
	readers = writers = 0;
}

static const struct {
	struct visitor visitors[6];
	const char *expected;
} days[] = {
	{ { { "r", R, 0, 2, 0 }, { "s", R, 1, 2, 0 } }, "r@0 s@1" },
	{ { { "w", W, 0, 2, 0 }, { "r", R, 1, 1, 0 }, { "s", R, 1, 1, 0 }, { "x", W, 1, 1, 0 } }, "w@0 r@2 s@2 x@3" },
	/* semantics 151 */
	{ { { "r", R, 0, 3, 0 }, { "w", W, 1, 2, 0 }, { "s", R, 2, 1, 0 } }, "r@0 w@3 s@5" },
	/* a writer in the middle gives up: the readers behind it go in beside those that are */
	{ { { "r", R, 0, 9, 0 }, { "w", W, 1, 1, 3 }, { "s", R, 2, 1, 0 }, { "x", W, 3, 1, 0 }, { "t", R, 3, 1, 0 } },
	    "r@0 w:late@4 s@4 x@9 t@10" },
	/* a reader behind a writer gives up */
	{ { { "r", R, 0, 5, 0 }, { "w", W, 1, 1, 0 }, { "s", R, 2, 1, 1 }, { "t", R, 3, 1, 0 } }, "r@0 s:late@3 w@5 t@6" },
	{ { { "w", W, 0, 2, 0 }, { "x", W, 0, 2, 0 }, { "r", R, 1, 1, 0 }, { "s", R, 1, 1, 0 }, { "y", W, 1, 1, 0 } },
	    "w@0 x@2 r@4 s@4 y@5" },
};

ORDERED_TEST(readers_go_together_writers_alone_and_neither_starves)
{
	bide_task *tasks[6];
	int count = 0;
	fresh();
	for (const struct visitor *visitor = days[_i].visitors; count < 6 && visitor->name; visitor++)
		tasks[count++] = must_spawn(visit, (void *)(uintptr_t)visitor);
	for (int i = 0; i < count; i++)
		must_join(tasks[i]);
	expect_notes(days[_i].expected);
	ck_assert_int_eq(bide_rwlock_destroy(&lock), 0);
}

/* The same by a cancel, before and after it was served. */
VIRTUAL_TEST(a_canceled_writer_lets_the_readers_behind_it_in)
{
	static const struct visitor writer = { "w", W, 0, 0, 0 }, reader = { "r", R, 0, 0, 0 };
	fresh();
	must(bide_rwlock_rdlock(&lock) == 0);
	bide_task *task = must_spawn(visit, (void *)(uintptr_t)&writer);
	settle();
	must_spawn(visit, (void *)(uintptr_t)&reader);
	settle();
	if (_i == 0) {
		cancel(task);
		ck_fails(bide_rwlock_tryrdlock(&lock), EBUSY); /* the reader in line comes first */
		settle();
		expect_notes("w:canceled@0 r@0");
		ck_assert_int_eq(bide_rwlock_unlock(&lock), 0);
	} else {
		ck_assert_int_eq(bide_rwlock_unlock(&lock), 0);
		cancel(task);
		settle();
		expect_notes("w@0 r@0");
	}
	ck_assert_int_eq(bide_rwlock_destroy(&lock), 0);
}

VIRTUAL_TEST(with_a_cancel_pending_nothing_is_taken)
{
	fresh();
	cancel(bide_self());
	ck_fails(bide_rwlock_rdlock(&lock), ECANCELED);
	ck_fails(bide_rwlock_wrlock(&lock), ECANCELED);
	ck_assert_int_eq(bide_rwlock_trywrlock(&lock), 0);
	ck_assert_int_eq(bide_rwlock_unlock(&lock), 0);
	ck_assert_int_eq(bide_uncancel(), 0);
}

VIRTUAL_TEST(the_try_forms_take_what_needs_no_waiting)
{
	static const struct visitor writer = { "w", W, 0, 1, 0 };
	fresh();
	ck_assert_int_eq(bide_rwlock_tryrdlock(&lock), 0);
	ck_assert_int_eq(bide_rwlock_tryrdlock(&lock), 0);
	ck_fails(bide_rwlock_trywrlock(&lock), EBUSY);
	bide_task *task = must_spawn(visit, (void *)(uintptr_t)&writer);
	settle();
	ck_fails(bide_rwlock_tryrdlock(&lock), EBUSY); /* a writer waits */
	ck_assert_int_eq(bide_rwlock_unlock(&lock), 0);
	ck_fails(bide_rwlock_tryrdlock(&lock), EBUSY);
	ck_assert_int_eq(bide_rwlock_unlock(&lock), 0);
	ck_fails(bide_rwlock_tryrdlock(&lock), EBUSY); /* handed over */
	must_join(task);
	ck_assert_int_eq(bide_rwlock_trywrlock(&lock), 0);
	ck_fails(bide_rwlock_tryrdlock(&lock), EDEADLK);
	ck_fails(bide_rwlock_trywrlock(&lock), EDEADLK);
	ck_assert_int_eq(bide_rwlock_unlock(&lock), 0);
}

static int call_rdlock(void) { return bide_rwlock_rdlock(&lock); }
static int call_wrlock(void) { return bide_rwlock_wrlock(&lock); }
static int call_tryrdlock(void) { return bide_rwlock_tryrdlock(&lock); }
static int call_unlock(void) { return bide_rwlock_unlock(&lock); }
static int call_destroy(void) { return bide_rwlock_destroy(&lock); }

static void *unlock_what_another_one_holds(void *arg)
{
	ck_fails(call_unlock(), EPERM);
	return arg;
}

/* semantics 152 */
VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	fresh();
	ck_fails(bide_rwlock_rdlock(NULL), EINVAL);
	ck_fails(bide_rwlock_wrlock(NULL), EINVAL);
	ck_fails(bide_rwlock_tryrdlock(NULL), EINVAL);
	ck_fails(bide_rwlock_trywrlock(NULL), EINVAL);
	ck_fails(bide_rwlock_unlock(NULL), EINVAL);
	ck_fails(bide_rwlock_destroy(NULL), EINVAL);
	ck_fails(call_unlock(), EPERM); /* nobody holds it */
	ck_assert_int_eq(call_wrlock(), 0);
	ck_fails(call_rdlock(), EDEADLK);
	ck_fails(call_wrlock(), EDEADLK);
	ck_fails(call_destroy(), EBUSY);
	must_end_well(must_spawn(unlock_what_another_one_holds, NULL));
	ck_assert_int_eq(errno_in_callback(call_rdlock), EPERM);
	ck_assert_int_eq(errno_in_callback(call_unlock), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_wrlock), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_rdlock), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_tryrdlock), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_unlock), EPERM);
	ck_assert_int_eq(call_unlock(), 0);
	ck_fails(call_unlock(), EPERM);
	ck_assert_int_eq(call_rdlock(), 0);
	ck_fails(call_destroy(), EBUSY);
	ck_assert_int_eq(errno_in_other_loop(call_wrlock), EPERM);
	ck_assert_int_eq(call_unlock(), 0);
	ck_assert_int_eq(call_destroy(), 0);
}

VIRTUAL_TEST(with_somebody_in_line_it_is_not_destroyed)
{
	static const struct visitor writer = { "w", W, 0, 1, 0 };
	fresh();
	must(call_rdlock() == 0);
	bide_task *task = must_spawn(visit, (void *)(uintptr_t)&writer);
	settle();
	cancel(task);
	must(call_unlock() == 0);
	ck_fails(call_destroy(), EBUSY); /* it has not returned yet */
	must_join(task);
	expect_notes("w:canceled@0");
	ck_assert_int_eq(call_destroy(), 0);
}

int main(void)
{
	return SUITE("rwlock",
	    TABLE(readers_go_together_writers_alone_and_neither_starves, days),
	    LOOP(a_canceled_writer_lets_the_readers_behind_it_in, 0, 2),
	    TEST(with_a_cancel_pending_nothing_is_taken),
	    TEST(the_try_forms_take_what_needs_no_waiting),
	    TEST(misuse_fails_and_changes_nothing),
	    TEST(with_somebody_in_line_it_is_not_destroyed));
}
