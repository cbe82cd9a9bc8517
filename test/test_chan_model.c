/* SPDX-License-Identifier: MIT
 * Channels against a model. The model is two queues of plain C, of what was sent and of who receives; each
 * call is made in both, and the model says beforehand what must come of it: at once, or when somebody
 * else's call serves it. So every history is compared with a sequential one, in which each call takes
 * effect at one moment between its beginning and its end: the channel is linearizable.
 *
 * Tasks send, receive, select, try, are canceled and run out of time at random, under the seeded random
 * order; in the end the channel is closed. A failure names the seed. Shared channels, within one loop and without
 * select, too. */
#include <stdlib.h>

#include "base/random.h"
#include "runs.h"

#define WORKERS 10
#define SEEDS 15
#define STEPS 500000 /* of all seeds together */
#define CHANNELS 2
#define QUEUE_MAX 256

static uint64_t seed;
static unsigned chan_flags;
static struct random dice;

#define holds(condition)                                                                           \
	must_msg(condition, "seed %llu, line %d: '%s' does not hold", (unsigned long long)seed, __LINE__, #condition)

static int below(int limit)
{
	return (int)random_below(&dice, (uint64_t)limit);
}

/* ---- the model -------------------------------------------------------------------------------------------- */

/* A task's call that may have to wait, as the model sees it. */
struct call {
	bide_task *task;
	bool waits;
	bool served;
	int which;      /* the case that was served */
	int item;       /* a receiver's, when served */
	int err;        /* 0 or EPIPE, when served */
};

/* An entry of a queue: an item with who sends it (NULL: nobody waits, it is in the buffer), or one who
 * receives. */
struct entry_of {
	struct call *call;
	int which;
	int item;
};

struct queue {
	struct entry_of entries[QUEUE_MAX];
	int count;
};

static struct model {
	bide_chan *chan;
	int capacity;
	bool is_closed;
	struct queue items, receivers;
} models[CHANNELS];

static int next_item, accepted, received, dropped;

static struct entry_of queue_take(struct queue *queue, int index)
{
	struct entry_of entry = queue->entries[index];
	memmove(&queue->entries[index], &queue->entries[index + 1],
	    (size_t)(--queue->count - index) * sizeof entry);
	return entry;
}

static void queue_add(struct queue *queue, struct entry_of entry)
{
	holds(queue->count < QUEUE_MAX);
	queue->entries[queue->count++] = entry;
}

static void queue_forget(struct queue *queue, const struct call *call)
{
	for (int i = queue->count - 1; i >= 0; i--)
		if (queue->entries[i].call == call)
			queue_take(queue, i);
}

static void model_leave(struct call *call)
{
	call->waits = false;
	for (int i = 0; i < CHANNELS; i++) {
		queue_forget(&models[i].items, call);
		queue_forget(&models[i].receivers, call);
	}
}

static void model_serve(struct call *call, int which, int item, int err)
{
	model_leave(call);
	call->served = true;
	call->which = which;
	call->item = item;
	call->err = err;
}

/* What was accepted of a sender whose item is now in the buffer. */
static void model_accept(struct model *model)
{
	int first = model->capacity - 1;
	if (first < 0 || model->items.count <= first)
		return;
	struct entry_of *entry = &model->items.entries[first];
	struct call *call = entry->call;
	if (!call)
		return;
	entry->call = NULL; /* stays, as an item of nobody */
	model_serve(call, entry->which, 0, 0);
	accepted++;
}

/* 0, EPIPE or EAGAIN, as the channel's own try form must say. */
static int model_try_send(struct model *model, int item)
{
	if (model->is_closed)
		return EPIPE;
	if (model->receivers.count > 0) {
		struct entry_of receiver = model->receivers.entries[0];
		model_serve(receiver.call, receiver.which, item, 0);
	} else if (model->items.count < model->capacity) {
		queue_add(&model->items, (struct entry_of){ NULL, 0, item });
	} else {
		return EAGAIN;
	}
	accepted++;
	return 0;
}

static int model_try_recv(struct model *model, int *item)
{
	if (model->items.count == 0)
		return model->is_closed ? EPIPE : EAGAIN;
	struct entry_of entry = model->items.entries[0];
	*item = entry.item;
	if (entry.call) {
		model_serve(entry.call, entry.which, 0, 0); /* takes the entry out */
		accepted++;
	} else {
		queue_take(&model->items, 0);
		model_accept(model);
	}
	return 0;
}

static void model_close(struct model *model, bool discards)
{
	if (model->is_closed)
		return;
	model->is_closed = true;
	for (int i = 0; i < model->items.count;) {
		struct entry_of entry = model->items.entries[i];
		if (entry.call)
			model_serve(entry.call, entry.which, 0, EPIPE); /* takes it out, and others of the same call */
		else
			i++;
	}
	while (model->receivers.count > 0)
		model_serve(model->receivers.entries[0].call, model->receivers.entries[0].which, 0, EPIPE);
	if (discards)
		model->items.count = 0;
}

/* ---- the workers -------------------------------------------------------------------------------------------- */

static struct call calls[WORKERS];
static bide_task *workers[WORKERS];
static int steps_left, cancels, running;

/* Those who were canceled, or ran out of time, and have not run yet: they are out of the queues. */
static void purge(void)
{
	for (int i = 0; i < WORKERS; i++)
		if (calls[i].waits && bide_task_state(calls[i].task) != BIDE_TASK_SUSPENDED)
			model_leave(&calls[i]);
}

static void count_drop(void *item)
{
	(void)item;
	dropped++;
}

static void forgive(void)
{
	holds(errno == ECANCELED || errno == ETIMEDOUT);
	while (bide_uncancel() > 0)
		;
}

/* The real call of `self`, which the model has queued, has returned. True if it had its effect. */
static bool compare(struct call *self, int status, int which, int err, int item, bool receives)
{
	purge();
	model_leave(self);
	if (status < 0 && (errno == ECANCELED || errno == ETIMEDOUT)) {
		holds(!self->served);
		forgive();
		return false;
	}
	holds(self->served);
	holds(self->which == which);
	holds(self->err == err);
	holds(!receives || err || self->item == item);
	return !err;
}

static void queue_call(struct call *self)
{
	self->served = false;
	self->waits = true;
}

static void do_send(struct call *self, struct model *model)
{
	int item = next_item++;
	if (bide_checkpoint() < 0) {
		holds(bide_chan_send(model->chan, &item) < 0);
		forgive();
		return;
	}
	undisturbed(); /* it is made at the moment at which the model makes it */
	purge();
	int expected = model_try_send(model, item);
	if (expected != EAGAIN) {
		int status = bide_chan_send(model->chan, &item);
		holds(status == (expected ? -1 : 0) && (!expected || errno == expected));
		return;
	}
	queue_call(self);
	queue_add(&model->items, (struct entry_of){ self, 0, item });
	int status = bide_chan_send(model->chan, &item);
	compare(self, status, 0, status < 0 ? errno : 0, 0, false);
}

static void do_recv(struct call *self, struct model *model)
{
	int item = -1, expected_item = -1;
	if (bide_checkpoint() < 0) {
		holds(bide_chan_recv(model->chan, &item) < 0 && item == -1);
		forgive();
		return;
	}
	undisturbed();
	purge();
	int expected = model_try_recv(model, &expected_item);
	if (expected != EAGAIN) {
		int status = bide_chan_recv(model->chan, &item);
		holds(status == (expected ? -1 : 0) && (!expected || errno == expected) && item == expected_item);
		received += status == 0;
		return;
	}
	queue_call(self);
	queue_add(&model->receivers, (struct entry_of){ self, 0, 0 });
	int status = bide_chan_recv(model->chan, &item);
	received += compare(self, status, 0, status < 0 ? errno : 0, item, true);
}

static void do_try(struct model *model)
{
	int item = -1, expected_item = -1, expected, status;
	purge();
	if (below(2)) {
		item = next_item++;
		expected = model_try_send(model, item);
		status = bide_chan_trysend(model->chan, &item);
	} else {
		expected = model_try_recv(model, &expected_item);
		status = bide_chan_tryrecv(model->chan, &item);
		holds(item == expected_item);
		received += status == 0;
	}
	holds(status == (expected ? -1 : 0) && (!expected || errno == expected));
}

#define CASES 3

/* Could a case fire now, by the model? */
static bool could(const bide_case *c, const struct model *model)
{
	if (c->op == BIDE_CASE_SEND)
		return model->is_closed || model->receivers.count > 0 || model->items.count < model->capacity;
	return model->is_closed || model->items.count > 0;
}

static void do_select(struct call *self)
{
	bide_case cases[CASES] = { { .op = BIDE_CASE_NONE } };
	struct model *of[CASES];
	int items[CASES];
	bool any = false;
	unsigned flags = below(4) ? 0 : BIDE_TRY;
	if (bide_checkpoint() < 0) {
		forgive();
		return;
	}
	undisturbed();
	purge();
	for (int i = 0; i < CASES; i++) {
		of[i] = &models[below(CHANNELS)];
		cases[i].op = below(2) ? BIDE_CASE_SEND : BIDE_CASE_RECV;
		cases[i].chan = of[i]->chan;
		cases[i].item = &items[i];
		items[i] = cases[i].op == BIDE_CASE_SEND ? next_item++ : -1;
		any = any || could(&cases[i], of[i]);
	}
	if (any || flags) {
		int index = bide_select(cases, CASES, flags);
		if (!any) {
			holds(index == -1 && errno == EAGAIN);
			return;
		}
		holds(index >= 0 && could(&cases[index], of[index]));
		int item = -1, expected = cases[index].op == BIDE_CASE_SEND ? model_try_send(of[index], items[index]) :
			model_try_recv(of[index], &item);
		holds(cases[index].err == expected);
		if (cases[index].op == BIDE_CASE_RECV) {
			holds(items[index] == item);
			received += !expected;
		}
		return;
	}
	queue_call(self);
	for (int i = 0; i < CASES; i++)
		queue_add(cases[i].op == BIDE_CASE_SEND ? &of[i]->items : &of[i]->receivers,
		    (struct entry_of){ self, i, items[i] });
	int index = bide_select(cases, CASES, 0);
	if (index < 0) {
		compare(self, -1, 0, 0, 0, false);
		return;
	}
	bool receives = cases[index].op == BIDE_CASE_RECV;
	bool took_effect = compare(self, index, index, cases[index].err, items[index], receives);
	received += took_effect && receives;
	for (int i = 0; i < CASES; i++)
		holds(i == index || cases[i].op == BIDE_CASE_SEND || items[i] == -1); /* the others did nothing */
}

static void step(struct call *self, int who)
{
	struct model *model = &models[below(CHANNELS)];
	int kind = below(10);
	if (kind < 1)
		do_try(model);
	else if (kind < 4 && !chan_flags)
		do_select(self);
	else if ((kind + who) % 2)
		do_send(self, model);
	else
		do_recv(self, model);
}

static void *worker(void *arg)
{
	int who = (int)(intptr_t)arg;
	struct call *self = &calls[who];
	self->task = workers[who];
	while (steps_left-- > 0) {
		bide_scope scope = { { 0 } };
		bool is_timed = below(3) == 0;
		if (below(3) == 0 ? bide_sleep(below(4)) < 0 : bide_yield() < 0)
			forgive();
		if (below(5) == 0 && workers[below(WORKERS)])
			cancels += bide_cancel(workers[below(WORKERS)], NULL) == 0;
		if (is_timed)
			must(bide_scope_enter(&scope, bide_after(below(6)), 0) == 0);
		step(self, who);
		if (is_timed)
			bide_scope_leave(&scope);
	}
	running--;
	return NULL;
}

static void check_lengths(void)
{
	purge();
	for (int i = 0; i < CHANNELS; i++) {
		const struct model *model = &models[i];
		int buffered = 0;
		for (int k = 0; k < model->items.count; k++)
			buffered += model->items.entries[k].call == NULL;
		holds((int)bide_chan_len(model->chan) == buffered);
		holds(model->capacity > 0 || buffered == 0);
		/* Nobody sleeps while there is what it waits for, but a selector beside itself. */
		for (int k = 0; k < model->receivers.count; k++)
			for (int n = 0; n < model->items.count; n++)
				holds(model->items.entries[n].call == model->receivers.entries[k].call);
	}
}

static void *whole_run(void *arg)
{
	int capacity = (int)(seed % 4);
	memset(models, 0, sizeof models);
	memset(calls, 0, sizeof calls);
	next_item = accepted = received = dropped = cancels = 0;
	for (int i = 0; i < CHANNELS; i++) {
		models[i].capacity = i ? 1 + capacity : capacity;
		models[i].chan = bide_chan_new(sizeof(int), (size_t)models[i].capacity, chan_flags, count_drop);
		must(models[i].chan);
	}
	running = WORKERS;
	for (intptr_t i = 0; i < WORKERS; i++)
		workers[i] = must_spawn(worker, (void *)i);
	for (int before = 0; running > 0; before = steps_left) {
		pass(1 + below(5));
		settle();
		check_lengths();
		if (steps_left <= 0 || steps_left == before) { /* at the end, and where all wait: somebody has to move */
			struct model *model = &models[below(CHANNELS)];
			if (steps_left <= 0) {
				bool discards = below(2);
				model_close(model, discards);
				holds(bide_chan_close(model->chan, discards ? BIDE_DISCARD : 0) == 0);
			} else {
				do_try(model);
			}
		}
	}
	for (int i = 0; i < WORKERS; i++) {
		must_join(workers[i]);
		workers[i] = NULL;
	}
	for (int i = 0; i < CHANNELS; i++)
		bide_chan_unref(models[i].chan);
	holds(accepted == received + dropped);
	holds(received > 100 && cancels > 10);
	return arg;
}

START_TEST(every_history_is_one_of_the_model)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK | BIDE_RANDOM_ORDER, &reports);
	bide_result result = { NULL, -1 };
	chan_flags = _i % 3 ? 0 : BIDE_CHAN_SHARED;
	seed = (uint64_t)_i * UINT64_C(0x9e3779b97f4a7c15) + 1;
	dice = (struct random){ seed };
	config.seed = seed;
	steps_left = suite_scaled_down(STEPS / SEEDS, 1000);
	must_msg(bide_run(whole_run, NULL, &config, &result) == 0 && result.err == 0, "seed %llu: %s; %s",
	    (unsigned long long)seed, strerror(errno), reports.text[BIDE_REPORT_DEADLOCK]);
}
END_TEST

/* ---- scenario G5 ---------------------------------------------------------------------------------------------- */

#define PRODUCERS 8
#define ITEMS 1000000

static bide_chan *narrow;
static int to_send, arrived;
static uint64_t sum_sent, sum_arrived;

static void *produce(void *arg)
{
	while (to_send > 0) {
		int item = to_send--;
		if (bide_chan_send(narrow, &item) < 0) {
			forgive();
			to_send++; /* the item was not sent: another number stands for it */
			continue;
		}
		sum_sent += (uint64_t)item;
	}
	return arg;
}

static void *consume(void *arg)
{
	for (;;) {
		int item;
		if (bide_chan_recv(narrow, &item) == 0) {
			arrived++;
			sum_arrived += (uint64_t)item;
		} else if (errno == EPIPE) {
			return arg;
		} else {
			forgive();
		}
	}
}

static void *eight_and_eight(void *arg)
{
	bide_task *producers[PRODUCERS], *consumers[PRODUCERS];
	int items = suite_scaled_down(ITEMS, 20000), alive = PRODUCERS;
	to_send = items;
	arrived = 0;
	sum_sent = sum_arrived = 0;
	narrow = bide_chan_new(sizeof(int), 1, 0, NULL);
	must(narrow);
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i] = must_spawn(produce, NULL);
		consumers[i] = must_spawn(consume, NULL);
	}
	while (alive > 0) {
		for (int i = 0; i < 16; i++)
			must(bide_yield() == 0);
		bide_cancel(below(2) ? producers[below(PRODUCERS)] : consumers[below(PRODUCERS)], NULL);
		alive = 0;
		for (int i = 0; i < PRODUCERS; i++)
			alive += bide_task_state(producers[i]) != BIDE_TASK_DONE;
	}
	must(bide_chan_close(narrow, 0) == 0);
	for (int i = 0; i < PRODUCERS; i++) {
		must_join(producers[i]);
		must_join(consumers[i]);
	}
	holds(arrived == items && sum_sent == sum_arrived);
	bide_chan_unref(narrow);
	return arg;
}

START_TEST(a_million_items_through_a_buffer_of_one_all_arrive)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.flags = BIDE_VIRTUAL_CLOCK | BIDE_RANDOM_ORDER;
	config.seed = seed = 12345;
	dice = (struct random){ seed };
	must(bide_run(eight_and_eight, NULL, &config, &result) == 0 && result.err == 0);
}
END_TEST

int main(void)
{
	return SUITE("chan model",
	    LOOP(every_history_is_one_of_the_model, 0, SEEDS),
	    TEST(a_million_items_through_a_buffer_of_one_all_arrive));
}
