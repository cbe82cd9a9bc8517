/* SPDX-License-Identifier: MIT
 * The table of descriptors from the inside: records, identity, what events mean, doubts. */
#include <unistd.h>

#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/doubt.h"
#include "sched/loop.h"
#include "sched/park.h"
#include "sockets.h"
#include "suite.h"

/* Each test is a body that runs as main; the table of the loop is new. */
#define BODY_TEST(name)                                                                            \
	static void *name##_body(void *arg);                                                           \
	START_TEST(name)                                                                               \
	{                                                                                              \
		run_real(name##_body, &_i);                                                                \
	}                                                                                              \
	END_TEST                                                                                       \
	static void *name##_body(void *arg)

static uint64_t key_of(int fd)
{
	return (uint64_t)descriptor_find(&loop_current->descriptors, fd)->registration << 32 | (uint32_t)fd;
}

static void fire(uint64_t key, uint32_t events)
{
	struct poller_event event = { key, events };
	descriptors_fire(loop_current, &event, 1);
}

BODY_TEST(a_record_is_one_cache_line)
{
	(void)arg;
	must(sizeof(struct descriptor) <= 64);
	return NULL;
}

BODY_TEST(a_new_record_knows_nothing_and_lets_everything_be_tried)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	must(!descriptor_find(&loop_current->descriptors, fds[0]));
	struct descriptor *descriptor = descriptor_get(loop_current, fds[0]);
	must(descriptor && descriptor == descriptor_find(&loop_current->descriptors, fds[0]));
	must(descriptor->is_ready[DESCRIPTOR_IN] && descriptor->is_ready[DESCRIPTOR_OUT]);
	must(!descriptor->is_registered && !descriptor->is_hung_up && descriptor->is_tcp == -1);
	must(descriptor->kind == DESCRIPTOR_UNKNOWN);
	must(!descriptor_has_line(descriptor, DESCRIPTOR_IN) && !descriptor_has_line(descriptor, DESCRIPTOR_OUT));
	close_pair(fds);
	return NULL;
}

BODY_TEST(numbers_that_are_not_open_get_no_record)
{
	(void)arg;
	ck_fails_null(descriptor_get(loop_current, -1), EBADF);
	ck_fails_null(descriptor_get(loop_current, INT32_MIN), EBADF);
	ck_fails_null(descriptor_get(loop_current, 12345), EBADF);
	ck_fails_null(descriptor_get(loop_current, INT32_MAX), EBADF);
	must(!descriptor_find(&loop_current->descriptors, -1) && !descriptor_find(&loop_current->descriptors, INT32_MAX));
	must(loop_current->descriptors.page_count == 0);
	descriptor_forget(loop_current, -1);
	descriptor_forget(loop_current, INT32_MAX);
	return NULL;
}

BODY_TEST(records_stay_where_they_are_while_the_table_grows)
{
	int fds[2];
	struct descriptor *first[2];
	(void)arg;
	make_unix(fds);
	for (int i = 0; i < 2; i++)
		first[i] = descriptor_get(loop_current, fds[i]);
	for (int number = 64; number < 1024; number += 37) {
		must(dup2(fds[0], number) == number);
		must(descriptor_get(loop_current, number) != NULL);
		close(number);
		for (int i = 0; i < 2; i++)
			must(descriptor_find(&loop_current->descriptors, fds[i]) == first[i]);
	}
	close_pair(fds);
	return NULL;
}

BODY_TEST(without_memory_a_record_is_refused_and_the_table_is_good)
{
	int fds[2];
	(void)arg;
	make_unix(fds);
	must(dup2(fds[0], 700) == 700);
	for (int at = 1; at <= 2; at++) { /* the array of pages, then the page */
		must(bide_fault(at == 1 ? "malloc:ENOMEM@1" : "malloc:ENOMEM@2") == 0);
		ck_fails_null(descriptor_get(loop_current, 700), ENOMEM);
		must(bide_fault(NULL) == 0);
		must(!descriptor_find(&loop_current->descriptors, 700));
	}
	must(descriptor_get(loop_current, fds[0]) != NULL);
	must(descriptor_get(loop_current, 700) != NULL);
	close(700);
	close_pair(fds);
	return NULL;
}

/* ---- identity ------------------------------------------------------------------------------------------- */

/* Makes the loop register fd and remember all it can. */
static struct descriptor *used(int fds[2])
{
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_recv, &io);
	must_write(fds[1], "x", 1);
	must(join_within(reader, LONG).err == 0);
	struct descriptor *descriptor = descriptor_find(&loop_current->descriptors, fds[0]);
	must(descriptor->is_registered && descriptor->is_tcp == 1 && !descriptor->is_ready[DESCRIPTOR_IN]);
	return descriptor;
}

/* A writer that waits for room, until its peer has read. */
static void wait_for_room(int fd, int peer)
{
	size_t filled = 0;
	struct io writer = { .fd = fd, .data = "x", .size = 1 };
	bide_task *task = io_start_parked(io_send, &writer, &filled);
	must(drain(peer) > 0);
	must(join_within(task, LONG).err == 0);
	must(writer.count == 1);
	drain(peer);
}

/* Room is registered for when somebody has to wait for it, once; who only reads is not told of it. */
BODY_TEST(room_to_write_is_reported_once_somebody_waited_for_it)
{
	int fds[2];
	(void)arg;
	make_tcp(fds);
	struct descriptor *descriptor = used(fds);
	must(!descriptor->reports_room && descriptor_interest(descriptor) == POLLER_IN);
	wait_for_room(fds[0], fds[1]);
	must(descriptor->reports_room && descriptor_interest(descriptor) == (POLLER_IN | POLLER_OUT));
	counted.modify_is_mute = true; /* a second registration would go unheard */
	wait_for_room(fds[0], fds[1]);
	counted.modify_is_mute = false;
	close_pair(fds);
	return NULL;
}

/* The number is another file's, that nobody registered, when somebody has to wait for room. */
BODY_TEST(room_is_found_also_when_the_number_became_another_files)
{
	int fds[2], others[2];
	(void)arg;
	make_tcp(fds);
	make_tcp(others);
	used(fds);
	must(dup2(others[0], fds[0]) == fds[0]);
	wait_for_room(fds[0], others[1]);
	close_pair(fds);
	close_pair(others);
	return NULL;
}

BODY_TEST(a_registration_that_cannot_be_widened_is_told)
{
	int fds[2];
	size_t filled = 0;
	(void)arg;
	make_tcp(fds);
	struct descriptor *descriptor = used(fds);
	struct io writer = { .fd = fds[0], .data = "x", .size = 1 };
	must(bide_fault("epoll_ctl:ENOMEM") == 0);
	bide_task *task = io_start_parked(io_send, &writer, &filled);
	must(bide_fault(NULL) == 0);
	join_within(task, LONG);
	must(writer.count == -1 && writer.err == ENOMEM);
	must(!descriptor->reports_room && descriptor->is_registered);
	close_pair(fds);
	return NULL;
}

BODY_TEST(forgetting_changes_the_identity_and_ends_the_registration)
{
	int fds[2];
	(void)arg;
	make_tcp(fds);
	struct descriptor *descriptor = used(fds);
	struct descriptor before = *descriptor;
	uint64_t old_key = key_of(fds[0]);
	descriptor_forget(loop_current, fds[0]);
	must(descriptor->generation != before.generation && descriptor->registration != before.registration);
	must(!descriptor->is_registered && descriptor->is_tcp == -1 && descriptor->is_ready[DESCRIPTOR_IN]);
	ck_fails(poller_refresh(&loop_current->poller, fds[0], 0, POLLER_IN), ENOENT);
	/* An event of the registration that is gone means nothing. */
	fire(old_key, POLLER_HUP | POLLER_IN);
	must(!descriptor->is_hung_up);
	close_pair(fds);
	return NULL;
}

BODY_TEST(a_fresh_descriptor_keeps_nothing_of_the_file_before)
{
	int fds[2];
	(void)arg;
	make_tcp(fds);
	struct descriptor *descriptor = used(fds);
	fire(key_of(fds[0]), POLLER_RDHUP);
	struct descriptor before = *descriptor;
	struct io io = { .fd = fds[0] };
	must(bide_recv(fds[0], io.buf, 1, MSG_DONTWAIT) == -1);
	bide_task *reader = io_start(io_recv, &io);
	must(io.count == -2);
	descriptor_fresh(loop_current, fds[0], DESCRIPTOR_SOCKET, 0);
	must(join_within(reader, LONG).err == EBADF);
	must(descriptor->generation != before.generation && descriptor->registration != before.registration);
	must(!descriptor->is_hung_up && descriptor->is_ready[DESCRIPTOR_IN] && !descriptor->is_registered);
	must(descriptor->kind == DESCRIPTOR_SOCKET && descriptor->is_tcp == 0);
	close_pair(fds);
	return NULL;
}

BODY_TEST(events_of_unknown_numbers_are_ignored)
{
	int fds[2];
	(void)arg;
	fire(7, POLLER_IN);
	fire(UINT64_MAX - 1, POLLER_IN | POLLER_HUP);
	fire((uint64_t)1 << 32 | INT32_MAX, POLLER_HUP);
	make_tcp(fds);
	struct descriptor *descriptor = used(fds);
	fire(key_of(fds[0]) + ((uint64_t)1 << 32), POLLER_HUP); /* of a registration to come */
	fire(key_of(fds[0]) - ((uint64_t)1 << 32), POLLER_HUP); /* of an earlier one */
	must(!descriptor->is_hung_up);
	close_pair(fds);
	return NULL;
}

/* ---- what events mean -------------------------------------------------------------------------------------- */

static const struct meaning {
	uint32_t events;
	bool in, out, hung_up, tcp;     /* what the record says after them */
	bool reader, writer, pri, rdhup; /* who is woken */
} meanings[] = {
	{ POLLER_IN, true, false, false, true, true, false, false, false },
	{ POLLER_OUT, false, true, false, true, false, true, false, false },
	{ POLLER_IN | POLLER_OUT, true, true, false, true, true, true, false, false },
	{ POLLER_RDHUP, true, false, true, true, true, false, false, true },
	{ POLLER_IN | POLLER_RDHUP, true, false, true, true, true, false, false, true },
	{ POLLER_PRI, true, false, false, false, false, false, true, false },
	{ POLLER_PRI | POLLER_IN, true, false, false, false, true, false, true, false },
	{ POLLER_HUP, true, true, true, true, true, true, true, true },
	{ POLLER_ERR, true, true, true, true, true, true, true, true },
	{ POLLER_HUP | POLLER_IN | POLLER_RDHUP, true, true, true, true, true, true, true, true },
};

struct waiting {
	int fd, direction;
	uint32_t events;
	bool observes;
};

static void *waits_raw(void *arg)
{
	struct waiting *waiting = arg;
	struct place place = { 0 };
	struct loop *loop = loop_current;
	struct descriptor *waited = descriptor_find(&loop->descriptors, waiting->fd);
	struct wait *wait = wait_begin(task_current(), NULL, WAIT_FD, waited);
	struct place *in_line = waiting->observes ? NULL : &place;
	wait->detail = waiting->fd;
	must(descriptor_enqueue(loop, wait, waiting->direction, waiting->events, in_line) == 0);
	int err = park(task_current(), BIDE_NEVER);
	descriptor_leave(&loop->descriptors, wait, in_line);
	must(place.has_claim == (!waiting->observes && err == 0));
	/* As every call does in the end. */
	if (!waiting->observes) {
		struct descriptor *descriptor = descriptor_find(&loop->descriptors, waiting->fd);
		descriptor->is_ready[waiting->direction] = 0;
		descriptor_pass_on(descriptor, waiting->direction, &place);
		must(!descriptor->is_claimed[waiting->direction]);
	}
	return err ? bide_fail(err) : NULL;
}

BODY_TEST(each_event_wakes_those_it_concerns)
{
	const struct meaning *meaning = &meanings[*(int *)arg];
	int fds[2];
	make_tcp(fds);
	struct descriptor *descriptor = used(fds);
	fill(fds[0]);
	descriptor->is_ready[DESCRIPTOR_IN] = descriptor->is_ready[DESCRIPTOR_OUT] = 0;
	struct waiting waiting[4] = { { fds[0], DESCRIPTOR_IN, POLLER_IN, false },
		{ fds[0], DESCRIPTOR_OUT, POLLER_OUT, false }, { fds[0], DESCRIPTOR_IN, POLLER_PRI, true },
		{ fds[0], DESCRIPTOR_IN, POLLER_RDHUP, true } };
	const bool expected[4] = { meaning->reader, meaning->writer, meaning->pri, meaning->rdhup };
	bide_task *tasks[4];
	for (int i = 0; i < 4; i++)
		tasks[i] = must_spawn(waits_raw, &waiting[i]);
	turns(5);
	fire(key_of(fds[0]), meaning->events);
	must(descriptor->is_ready[DESCRIPTOR_IN] == meaning->in);
	must(descriptor->is_ready[DESCRIPTOR_OUT] == meaning->out);
	must(descriptor->is_hung_up == meaning->hung_up && descriptor->is_tcp == meaning->tcp);
	for (int i = 0; i < 4; i++) {
		bool is_woken = bide_task_state(tasks[i]) == BIDE_TASK_READY;
		must_msg(is_woken == expected[i], "waiter %d: %d", i, is_woken);
		if (!is_woken)
			must(bide_cancel(tasks[i], NULL) == 0);
	}
	for (int i = 0; i < 4; i++)
		must(must_join(tasks[i]).err == (expected[i] ? 0 : ECANCELED));
	must(loop_current->descriptors.waiting == 0);
	close_pair(fds);
	return NULL;
}

static void *be_busy(void *until)
{
	while (!*(volatile bool *)until)
		must(bide_yield() == 0);
	return NULL;
}

/* ---- doubts --------------------------------------------------------------------------------------------------- */

BODY_TEST(a_wait_is_doubted_if_the_registration_is_older)
{
	int fds[2];
	struct descriptors *descriptors = &loop_current->descriptors;
	(void)arg;
	make_tcp(fds);
	descriptors->asked_at = clock_monotonic() + LONG; /* not before the test has seen it */
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_recv, &io);
	must(list_is_empty(&descriptors->doubted)); /* the first one has just registered it */
	must_write(fds[1], "x", 1);
	must(join_within(reader, LONG).err == 0);
	must(list_is_empty(&descriptors->doubted));
	reader = io_start(io_recv, &io);
	must(!list_is_empty(&descriptors->doubted));
	must(bide_cancel(reader, NULL) == 0);
	must_join(reader);
	/* Nobody waits, nothing to ask about. */
	int controls = counted.epoll_ctl;
	must(doubts_ask(loop_current, descriptors->heard_at) == BIDE_NEVER); /* nor to be woken for */
	must(doubts_ask(loop_current, clock_monotonic() + 2 * LONG) == BIDE_NEVER && counted.epoll_ctl == controls);
	must(bide_close(fds[0]) == 0);
	must(list_is_empty(&descriptors->doubted) && descriptors->listed == 0);
	close(fds[1]);
	return NULL;
}

/* The first time that it asks in passing it leaves out waits that have just begun; nobody may be asked about
 * because of waits that are over. */
BODY_TEST(a_wait_has_to_last_before_it_is_asked_about_in_passing)
{
	enum { COUNT = 4 };
	int fds[COUNT][2];
	struct io io[COUNT];
	bide_task *tasks[COUNT];
	struct loop *loop = loop_current;
	bool is_over = false;
	bide_task *other = must_spawn(be_busy, &is_over);
	(void)arg;
	loop->descriptors.asked_at = clock_monotonic() + LONG;
	for (int i = 0; i < COUNT; i++) {
		make_tcp(fds[i]);
		used(fds[i]);
		used(fds[i]); /* this one was listed */
		io[i] = (struct io){ .fd = fds[i][0] };
		tasks[i] = i < COUNT / 2 ? io_start(io_recv, &io[i]) : NULL;
	}
	loop->descriptors.asked_at = 0;
	bide_time now = clock_monotonic();
	int controls = counted.epoll_ctl;
	must(doubts_ask(loop, now) != BIDE_NEVER && counted.epoll_ctl == controls);
	doubts_ask(loop, now + DOUBT_NS);
	must(counted.epoll_ctl == controls + COUNT / 2);
	is_over = true;
	must_join(other);
	for (int i = 0; i < COUNT; i++) {
		if (tasks[i]) {
			must(bide_cancel(tasks[i], NULL) == 0);
			must_join(tasks[i]);
		}
		close_pair(fds[i]);
	}
	return NULL;
}

/* The more there is to ask about, the longer it has to be quiet. */
BODY_TEST(asking_about_all_is_a_small_part_of_the_silence)
{
	int fds[2];
	struct descriptors *descriptors = &loop_current->descriptors;
	(void)arg;
	make_tcp(fds);
	used(fds);
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_recv, &io);
	size_t listed = descriptors->listed;
	bide_time now = clock_monotonic();
	descriptors->heard_at = descriptors->asked_at = now;
	must(ready_is_empty(&loop_current->ready) && listed > 0);
	descriptors->asked_at = now + LONG;
	must(doubts_ask(loop_current, now) == now + DOUBT_NS);
	descriptors->listed = 10000;
	must(doubts_ask(loop_current, now) == now + 10 * DOUBT_NS);
	descriptors->listed = listed;
	descriptors->asked_at = now;
	must(bide_cancel(reader, NULL) == 0);
	must_join(reader);
	close_pair(fds);
	return NULL;
}

BODY_TEST(waits_that_end_soon_are_never_asked_about)
{
	int fds[2];
	(void)arg;
	make_tcp(fds);
	used(fds);
	loop_current->descriptors.asked_at = clock_monotonic() + LONG; /* not due */
	int controls = counted.epoll_ctl;
	for (int i = 0; i < 500; i++)
		used(fds);
	must(counted.epoll_ctl - controls < 50); /* but for those that the machine itself held up */
	loop_current->descriptors.asked_at = 0;
	close_pair(fds);
	return NULL;
}

BODY_TEST(many_doubts_are_asked_about_a_few_at_a_time_by_a_busy_loop)
{
	enum { COUNT = 200 };
	static int fds[COUNT][2];
	static struct io io[COUNT];
	static bide_task *tasks[COUNT];
	struct loop *loop = loop_current;
	(void)arg;
	bool is_made = false;
	loop->descriptors.asked_at = clock_monotonic() + LONG;
	bide_task *other = must_spawn(be_busy, &is_made); /* until then the loop is never idle */
	for (int i = 0; i < COUNT; i++) {
		make_tcp(fds[i]);
		used(fds[i]);
		io[i] = (struct io){ .fd = fds[i][0] };
		tasks[i] = io_start(io_recv, &io[i]);
	}
	loop->descriptors.asked_at = 0;
	int controls = counted.epoll_ctl, doubts = 0;
	list_each(link, &loop->descriptors.doubted)
		doubts++;
	bide_time now = clock_monotonic();
	doubts_ask(loop, now); /* they have just begun */
	now += DOUBT_NS;
	must(doubts_ask(loop, now) == now + DOUBT_NS);
	must(counted.epoll_ctl - controls < COUNT / 2 && counted.epoll_ctl > controls);
	must(doubts_ask(loop, now + 1) == now + DOUBT_NS); /* not before its time */
	must(counted.epoll_ctl - controls < COUNT / 2);
	is_made = true;
	must_join(other);
	do /* with nothing to do it asks about all */
		must(bide_sleep(2 * DOUBT_NS) == 0);
	while (!list_is_empty(&loop->descriptors.doubted));
	must(counted.epoll_ctl - controls >= doubts);
	for (int i = 0; i < COUNT; i++) {
		must(io[i].count == -2);
		must(bide_cancel(tasks[i], NULL) == 0);
		must_join(tasks[i]);
		close_pair(fds[i]);
	}
	return NULL;
}

BODY_TEST(that_a_doubt_cannot_be_settled_fails_the_wait_and_no_more)
{
	int fds[2];
	(void)arg;
	make_tcp(fds);
	used(fds);
	loop_current->descriptors.asked_at = clock_monotonic() + LONG;
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_recv, &io);
	must(bide_fault("epoll_ctl:ENOMEM@1") == 0);
	loop_current->descriptors.asked_at = 0;
	must(join_within(reader, LONG).err == ENOMEM);
	must(bide_fault(NULL) == 0);
	used(fds);
	close_pair(fds);
	return NULL;
}

BODY_TEST(a_registration_that_fails_fails_the_call_and_no_more)
{
	static const struct {
		const char *spec;
		int err;
	} faults[] = { { "epoll_ctl:ENOMEM@1", ENOMEM }, { "epoll_ctl:ENOSPC@1", ENOSPC } };
	int fds[2], i = *(int *)arg;
	make_tcp(fds);
	struct io io = { .fd = fds[0] };
	must(bide_fault(faults[i].spec) == 0);
	must(join_within(io_start(io_recv, &io), LONG).err == faults[i].err);
	must(bide_fault(NULL) == 0);
	must(loop_current->descriptors.waiting == 0);
	used(fds);
	close_pair(fds);
	return NULL;
}

int main(void)
{
	return SUITE_EXACT("descriptor", TEST(a_record_is_one_cache_line),
	    TEST(a_new_record_knows_nothing_and_lets_everything_be_tried),
	    TEST(numbers_that_are_not_open_get_no_record),
	    TEST(records_stay_where_they_are_while_the_table_grows),
	    TEST(without_memory_a_record_is_refused_and_the_table_is_good),
	    TEST(room_to_write_is_reported_once_somebody_waited_for_it),
	    TEST(room_is_found_also_when_the_number_became_another_files),
	    TEST(a_registration_that_cannot_be_widened_is_told),
	    TEST(forgetting_changes_the_identity_and_ends_the_registration),
	    TEST(a_fresh_descriptor_keeps_nothing_of_the_file_before),
	    TEST(events_of_unknown_numbers_are_ignored), TABLE(each_event_wakes_those_it_concerns, meanings),
	    TEST(a_wait_is_doubted_if_the_registration_is_older),
	    TEST(a_wait_has_to_last_before_it_is_asked_about_in_passing),
	    TEST(asking_about_all_is_a_small_part_of_the_silence),
	    TEST(waits_that_end_soon_are_never_asked_about),
	    TEST(many_doubts_are_asked_about_a_few_at_a_time_by_a_busy_loop),
	    TEST(that_a_doubt_cannot_be_settled_fails_the_wait_and_no_more),
	    LOOP(a_registration_that_fails_fails_the_call_and_no_more, 0, 2));
}
