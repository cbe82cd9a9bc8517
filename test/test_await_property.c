/* SPDX-License-Identifier: MIT
 * Random trees of tasks, groups and scopes with random cancels, against a small model. The model of a task is
 * what it was asked to do and what is in force around it: every sleep must end exactly when the model says, by
 * the reason the model says; no child outlives its group; and at the end of a run nothing is left. The seed of
 * a run that fails is printed. */
#include <stdlib.h>

#include "await/record.h"
#include "base/random.h"
#include "resources.h"
#include "runs.h"

#define FLAGS (BIDE_VIRTUAL_CLOCK | BIDE_RANDOM_ORDER)
#define MAX_SCOPES 12
#define MAX_NODES 200

static uint64_t seed;
#define holds(condition) must_msg(condition, "seed %llu, line %d: '%s' does not hold", (unsigned long long)seed, __LINE__, #condition)

/* A scope, or a group, as the model sees it. */
struct model_scope {
	bide_time deadline; /* BIDE_NEVER: none */
	bide_time canceled; /* when; BIDE_NEVER: not yet */
	bool is_shield, is_group;
	int alive;          /* children of a group */
	int first_err;
};

struct node {
	bide_task *task;
	struct node *parent;
	struct model_scope *group;  /* that owns it */
	struct model_scope scopes[MAX_SCOPES];
	int depth;
	int leaving;                /* it is in leave of the group at this index of scopes; -1: it is not */
	bide_time leaving_since;
	bide_time canceled;         /* when its first cancel came; BIDE_NEVER: none */
	bool has_begun, has_ended;
	int err;                    /* with which it ended */
};

static struct random dice;
static struct node nodes[MAX_NODES];
static int node_count, alive;
static bool has_main_ended;
static int steps, interrupts, timeouts, failures;

static bide_time below(uint64_t bound)
{
	return (bide_time)random_below(&dice, bound);
}

/* ---- what is in force: the model ------------------------------------------------------------------------ */

static bool is_stopped(const struct model_scope *scope, bide_time now)
{
	return scope->deadline <= now || scope->canceled <= now;
}

/* The errno with which a call made, or parked, at `now` fails; 0: it does not. Of the scopes within `depth`. */
static int interrupt_within(const struct node *node, int depth, bide_time now)
{
	int err = 0;
	for (int i = depth - 1; i >= 0; i--) { /* the outermost wins, up to a shield */
		const struct model_scope *scope = &node->scopes[i];
		if (is_stopped(scope, now))
			err = scope->deadline <= now ? ETIMEDOUT : ECANCELED;
		if (scope->is_shield)
			return err;
	}
	return node->canceled <= now ? ECANCELED : err;
}

static int interrupt(const struct node *node, bide_time now)
{
	return interrupt_within(node, node->depth, now);
}

static bool has_shield_within(const struct node *node, int depth)
{
	for (int i = 0; i < depth; i++)
		if (node->scopes[i].is_shield)
			return true;
	return false;
}

static bool has_shield(const struct node *node)
{
	return has_shield_within(node, node->depth);
}

/* Who leaves a group and is interrupted cancels the children when it runs: in the course of that moment. */
static bool is_canceled_by_owner(const struct node *node, bide_time now)
{
	const struct node *owner = node->parent;
	if (!node->group || owner->leaving < 0 || owner->leaving_since > now || node->group != &owner->scopes[owner->leaving])
		return false;
	return interrupt_within(owner, owner->leaving, now) ||
	    (!has_shield_within(owner, owner->leaving) && is_canceled_by_owner(owner, now));
}

/* By whatever. */
static bool is_interrupted(const struct node *node, bide_time now)
{
	return interrupt(node, now) || (!has_shield(node) && is_canceled_by_owner(node, now));
}

/* Could a call fail with `err` at `now`? Of several reasons that come in one moment either may be first. */
static bool may_fail_with(const struct node *node, bide_time now, int err)
{
	int own = interrupt(node, now);
	if (err == own)
		return err != 0;
	if (err == ECANCELED && !has_shield(node) && is_canceled_by_owner(node, now))
		return true;
	return own && !interrupt(node, now - 1) && (err == ETIMEDOUT || err == ECANCELED);
}

/* The nearest deadline that will come while the task is parked. */
static bide_time nearest_deadline(const struct node *node)
{
	bide_time nearest = BIDE_NEVER;
	for (int i = node->depth - 1; i >= 0; i--) {
		if (node->scopes[i].deadline < nearest)
			nearest = node->scopes[i].deadline;
		if (node->scopes[i].is_shield)
			break;
	}
	return nearest;
}

static void model_cancel(struct node *node)
{
	if (node->canceled == BIDE_NEVER)
		node->canceled = bide_now();
}

static void model_cancel_group(struct model_scope *group)
{
	if (group->canceled == BIDE_NEVER)
		group->canceled = bide_now();
	for (int i = 0; i < node_count; i++)
		if (nodes[i].group == group && !nodes[i].has_ended)
			model_cancel(&nodes[i]);
}

/* ---- what is done --------------------------------------------------------------------------------------- */

static void act(struct node *node, int depth);

static void sleep_somewhat(struct node *node)
{
	bide_time start = bide_now(), delay = 1 + below(40);
	int before = interrupt(node, start);
	int status = bide_sleep(delay), err = errno;
	bide_time now = bide_now();
	steps++;
	if (status == 0) {
		holds(!before && now == start + delay);
		holds(!is_interrupted(node, now - 1));
		return;
	}
	interrupts++;
	timeouts += err == ETIMEDOUT;
	holds(may_fail_with(node, now, err));
	if (before)
		holds(now == start && (err == before || is_canceled_by_owner(node, now)));
	else /* at the first moment at which it could */
		holds(now <= start + delay && (now == start || !interrupt(node, now - 1)));
}

static void in_a_scope(struct node *node, int depth)
{
	bide_scope scope;
	struct model_scope *model = &node->scopes[node->depth];
	bide_time now = bide_now();
	unsigned flags = below(4) == 0 ? BIDE_SHIELD : 0;
	if (node->depth == MAX_SCOPES)
		return;
	*model = (struct model_scope){ .deadline = below(3) ? now + below(60) : BIDE_NEVER, .canceled = BIDE_NEVER,
		.is_shield = flags };
	holds(bide_scope_enter(&scope, model->deadline, flags) == 0);
	node->depth++;
	if (below(8) == 0) {
		model->canceled = now;
		holds(bide_scope_cancel(&scope) == 0);
	}
	holds(bide_deadline() == nearest_deadline(node));
	act(node, depth);
	now = bide_now();
	holds(bide_scope_expired(&scope) == (model->deadline <= now));
	node->depth--;
	int status = bide_scope_leave(&scope);
	if (status < 0) {
		holds((errno == ETIMEDOUT && model->deadline <= now) || (errno == ECANCELED && model->canceled <= now));
	}
}

static void *body(void *arg)
{
	struct node *node = arg;
	node->has_begun = true;
	act(node, 1 + (int)below(3));
	node->has_ended = true;
	alive--;
	if (node->group)
		node->group->alive--;
	if (below(6) == 0) {
		node->err = EIO;
		failures++;
		if (node->group && !node->group->first_err)
			node->group->first_err = EIO;
		if (node->group)
			model_cancel_group(node->group);
		return bide_fail(EIO);
	}
	return below(2) ? node : NULL;
}

static void never_begun(void *arg)
{
	struct node *node = arg;
	holds(!node->has_begun && (node->canceled <= bide_now() || is_canceled_by_owner(node, bide_now())));
	node->has_ended = true;
	alive--;
	if (node->group)
		node->group->alive--;
}

static struct node *new_node(struct node *parent, struct model_scope *group)
{
	struct node *node = &nodes[node_count++];
	*node = (struct node){ .parent = parent, .group = group, .canceled = BIDE_NEVER, .leaving = -1 };
	alive++;
	return node;
}

static bide_task_attr attributes(void)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.drop = never_begun;
	return attr;
}

static void in_a_group(struct node *node, int depth)
{
	bide_group group;
	bide_task_attr attr = attributes();
	struct model_scope *model = &node->scopes[node->depth];
	if (node->depth == MAX_SCOPES)
		return;
	*model = (struct model_scope){ .deadline = BIDE_NEVER, .canceled = BIDE_NEVER, .is_group = true };
	holds(bide_group_enter(&group, 0, 0) == 0);
	node->depth++;
	for (int children = (int)below(4); children > 0 && node_count < MAX_NODES; children--) {
		struct node *child = new_node(node, model);
		model->alive++;
		child->task = bide_group_spawn(&group, body, child, &attr);
		if (!child->task) {
			holds(has_main_ended ? errno == EAGAIN || errno == ECANCELED : errno == ECANCELED && model->canceled <= bide_now());
			child->has_ended = true;
			child->group = NULL;
			model->alive--;
			alive--;
		}
		if (below(3) == 0)
			act(node, depth);
	}
	act(node, depth);
	if (below(6) == 0) {
		model_cancel_group(model);
		holds(bide_group_cancel(&group, NULL) == 0);
	}
	node->leaving = node->depth - 1;
	node->leaving_since = bide_now();
	int status = bide_group_leave(&group), err = errno;
	node->leaving = -1;
	node->depth--;
	holds(model->alive == 0);
	for (int i = 0; i < node_count; i++)
		if (nodes[i].group == model) {
			holds(nodes[i].has_ended);
			nodes[i].group = NULL; /* its place is used again */
		}
	if (model->first_err)
		holds(status < 0 && err == EIO);
	else
		holds(status == 0 || ((err == ECANCELED || err == ETIMEDOUT) && is_interrupted(node, bide_now())));
}

/* Some task that is alive, known by its handle. */
static void cancel_somebody(void)
{
	struct node *victim = &nodes[below((uint64_t)node_count)];
	if (!victim->task || victim->has_ended)
		return;
	model_cancel(victim);
	holds(bide_cancel(victim->task, NULL) == 0);
}

static void join_a_child(struct node *node)
{
	bide_task_attr attr = attributes();
	bide_result result;
	if (node_count == MAX_NODES)
		return;
	struct node *child = new_node(node, NULL);
	child->task = bide_spawn_with(body, child, &attr);
	if (!child->task) {
		holds(has_main_ended && errno == EAGAIN);
		child->has_ended = true;
		alive--;
		return;
	}
	if (bide_join(child->task, &result) < 0) {
		holds(may_fail_with(node, bide_now(), errno));
		return; /* it runs on: the end of the run cancels it, or it ends before */
	}
	holds(child->has_ended && (result.err == child->err || result.err == ECANCELED));
	holds(result.err != ECANCELED || child->canceled < BIDE_NEVER);
	child->task = NULL;
}

static void act(struct node *node, int depth)
{
	for (int count = 1 + (int)below(4); count > 0; count--)
		switch (below(10)) {
		case 0:
		case 1:
			if (depth > 0)
				in_a_scope(node, depth - 1);
			break;
		case 2:
		case 3:
			if (depth > 0)
				in_a_group(node, depth - 1);
			break;
		case 4:
			cancel_somebody();
			break;
		case 5:
			if (depth > 0)
				join_a_child(node);
			break;
		default:
			sleep_somewhat(node);
		}
}

static void *root(void *arg)
{
	struct node *node = new_node(NULL, NULL);
	node->has_begun = true;
	act(node, 4);
	holds(node->depth == 0);
	sched_check(loop_current);
	node->has_ended = true;
	alive--;
	has_main_ended = true;
	for (int i = 0; i < node_count; i++) /* the end of main cancels whoever is left */
		if (!nodes[i].has_ended)
			model_cancel(&nodes[i]);
	return arg;
}

static void try_seed(uint64_t number, unsigned flags)
{
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	bide_config config = config_with(flags, &reports);
	bide_result result;
	seed = number;
	dice.state = number;
	node_count = alive = 0;
	has_main_ended = false;
	config.seed = number;
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	must_msg(bide_run(root, "v", &config, &result) == 0, "seed %llu: %s", (unsigned long long)seed, strerror(errno));
	holds(result.err == 0 && strcmp(result.value, "v") == 0);
	holds(alive == 0);
	for (int i = 0; i < node_count; i++)
		holds(nodes[i].has_ended);
	holds(counting_is_balanced(&counting));
	holds(reports.count[BIDE_REPORT_DEADLOCK] == 0 && reports.count[BIDE_REPORT_LEFTOVER] == 0);
}

START_TEST(random_trees_do_what_the_model_says)
{
	int seeds = suite_scaled_down(1000, 100);
	steps = interrupts = timeouts = failures = 0;
	for (int i = 1; i <= seeds; i++)
		try_seed((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15), _i ? FLAGS : BIDE_VIRTUAL_CLOCK);
	/* The trees are no empty ones. */
	ck_assert_int_gt(steps, seeds * 5);
	ck_assert_int_gt(interrupts, seeds);
	ck_assert_int_gt(timeouts, seeds / 4);
	ck_assert_int_gt(failures, seeds / 4);
}
END_TEST

int main(void)
{
	return SUITE("await property", LOOP(random_trees_do_what_the_model_says, 0, 2));
}
