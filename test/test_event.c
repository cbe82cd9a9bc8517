/* SPDX-License-Identifier: MIT
 * The event: bide/sync.h. Semantics 149, 152; scenario G9. */
#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_event event;

static void *wait_and_note(void *arg)
{
	int status = bide_event_wait(&event);
	note("%s%s", (char *)arg, status == 0 ? "" : errno == ECANCELED ? ":canceled" : "?");
	return NULL;
}

static void fresh(void)
{
	memset(&event, 0, sizeof event);
}

/* semantics 149 */
ORDERED_TEST(who_waits_when_it_is_set_wakes_also_if_it_is_cleared_in_the_same_turn)
{
	fresh();
	bide_task *first = must_spawn(wait_and_note, "a");
	must_spawn(wait_and_note, "b");
	settle();
	ck_assert_int_eq(bide_event_set(&event), 0);
	ck_assert_int_eq(bide_event_clear(&event), 0);
	cancel(first); /* too late */
	must_spawn(wait_and_note, "c");
	settle();
	expect_notes("a b");
	ck_assert(!bide_event_is_set(&event));
	ck_assert_int_eq(bide_event_set(&event), 0);
	settle();
	expect_notes("a b c");
}

/* scenario G9: an event has a memory */
VIRTUAL_TEST(an_event_that_is_set_stays_set_until_it_is_cleared)
{
	fresh();
	ck_assert(!bide_event_is_set(&event));
	ck_assert_int_eq(bide_event_set(&event), 0);
	ck_assert_int_eq(bide_event_set(&event), 0);
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(bide_event_wait(&event), 0);
	ck_assert_uint_eq(loop_current->ready.turn, turn); /* at once */
	ck_assert(bide_event_is_set(&event));
	ck_assert_int_eq(bide_event_clear(&event), 0);
	ck_assert_int_eq(bide_event_clear(&event), 0);
	must_spawn(wait_and_note, "a");
	settle();
	expect_notes("");
	ck_assert_int_eq(bide_event_set(&event), 0);
	settle();
	expect_notes("a");
}

ORDERED_TEST(a_waiter_that_is_canceled_before_it_is_set_is_out)
{
	fresh();
	bide_task *first = must_spawn(wait_and_note, "a");
	must_spawn(wait_and_note, "b");
	settle();
	cancel(first);
	ck_assert_int_eq(bide_event_set(&event), 0);
	settle();
	expect_notes("a:canceled b");
	cancel(bide_self());
	ck_fails(bide_event_wait(&event), ECANCELED); /* though it is set */
	ck_assert_int_eq(bide_event_clear(&event), 0); /* no cancellation point */
	ck_assert_int_eq(bide_uncancel(), 0);
}

static int call_wait(void) { return bide_event_wait(&event); }
static int call_set(void) { return bide_event_set(&event); }
static int call_clear(void) { return bide_event_clear(&event); }
static int call_destroy(void) { return bide_event_destroy(&event); }

/* semantics 152 */
VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	fresh();
	ck_fails(bide_event_wait(NULL), EINVAL);
	ck_fails(bide_event_set(NULL), EINVAL);
	ck_fails(bide_event_clear(NULL), EINVAL);
	ck_fails(bide_event_destroy(NULL), EINVAL);
	ck_assert(!bide_event_is_set(NULL));
	ck_assert_int_eq(errno_on_plain_thread(call_set), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_wait), EPERM);
	must_spawn(wait_and_note, "a");
	settle();
	ck_assert_int_eq(errno_in_callback(call_wait), EPERM);
	ck_fails(call_destroy(), EBUSY);
	ck_assert_int_eq(errno_in_other_loop(call_set), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_clear), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_wait), EPERM);
	ck_assert(!bide_event_is_set(&event));
	ck_assert_int_eq(errno_in_callback(call_set), 0);
	settle();
	expect_notes("a");
	ck_assert_int_eq(errno_in_callback(call_clear), 0);
	ck_assert(!bide_event_is_set(&event));
	ck_assert_int_eq(call_set(), 0);
	ck_assert_int_eq(call_destroy(), 0);
	ck_assert(!bide_event_is_set(&event)); /* all zero */
}

ORDERED_TEST(once_set_it_may_be_destroyed_before_its_waiters_run)
{
	fresh();
	must_spawn(wait_and_note, "a");
	bide_task *canceled = must_spawn(wait_and_note, "b");
	settle();
	cancel(canceled);
	ck_assert_int_eq(call_set(), 0);
	ck_assert_int_eq(call_destroy(), 0);
	memset(&event, 0x5a, sizeof event);
	settle();
	for (size_t i = 0; i < sizeof event; i++)
		must(((unsigned char *)&event)[i] == 0x5a);
	expect_notes("b:canceled a");
}

int main(void)
{
	return SUITE("event",
	    TEST(who_waits_when_it_is_set_wakes_also_if_it_is_cleared_in_the_same_turn),
	    TEST(an_event_that_is_set_stays_set_until_it_is_cleared),
	    TEST(a_waiter_that_is_canceled_before_it_is_set_is_out),
	    TEST(misuse_fails_and_changes_nothing),
	    TEST(once_set_it_may_be_destroyed_before_its_waiters_run));
}
