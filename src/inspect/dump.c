/* SPDX-License-Identifier: MIT
 * Layer inspect: the tree of tasks and groups. See dump.h.
 *
 * A task that no group owns is a root. The walk below a root needs no memory, since every step can be taken from
 * where it stands: down, from a task to the first child of its innermost group; along, from a child to the next of
 * its group, or to the next group of its owner; up, to that owner. */
#include "inspect/dump.h"

#include <errno.h>

#include "await/group.h"
#include "base/fail.h"
#include "base/modules.h"
#include "inspect/dump_task.h"
#include "stack/frames.h"

#define KNOWN_FLAGS (BIDE_DUMP_BACKTRACES | BIDE_DUMP_ALL)
#define FEW 100 /* children of one group, and roots, that are told one by one */

/* ---- those not told one by one ------------------------------------------------------------------------- */

struct rest {
	size_t total;
	size_t states[TASK_FREE + 1];
	size_t waits[WAIT_KIND_COUNT];
};

static void count_in(struct rest *rest, const struct await_task *task)
{
	enum task_state state = task_state(&task->task);
	rest->total++;
	if (state == TASK_SUSPENDED && task->task.wait.kind < WAIT_KIND_COUNT)
		rest->waits[task->task.wait.kind]++;
	else if (state <= TASK_FREE)
		rest->states[state]++;
}

static void say_count(struct dump *dump, const char **between, size_t count, const char *before, const char *what)
{
	if (count == 0)
		return;
	writer_add(dump->out, *between);
	writer_add_decimal(dump->out, count);
	writer_add(dump->out, before);
	writer_add(dump->out, what);
	*between = ", ";
}

/* "and 4980 more tasks: 4900 wait for fd, 80 ready" */
static void say_rest(struct dump *dump, const struct rest *rest, unsigned depth)
{
	const char *between = "";
	if (rest->total == 0)
		return;
	dump_indent(dump, depth);
	writer_add(dump->out, "and ");
	writer_add_decimal(dump->out, rest->total);
	writer_add(dump->out, rest->total == 1 ? " more task: " : " more tasks: ");
	for (int kind = 0; kind < WAIT_KIND_COUNT; kind++)
		say_count(dump, &between, rest->waits[kind], rest->waits[kind] == 1 ? " waits for " : " wait for ",
		    wait_kind_names[kind]);
	for (int state = 0; state <= TASK_FREE; state++)
		say_count(dump, &between, rest->states[state], " ", task_state_names[state]);
	writer_add(dump->out, "\n");
}

/* ---- groups ---------------------------------------------------------------------------------------------- */

static void say_group(struct dump *dump, const struct group *group, unsigned depth)
{
	char address[24];
	struct text text;
	text_init(&text, address, sizeof address);
	text_add_address(&text, (uintptr_t)group);
	dump_indent(dump, depth);
	writer_add(dump->out, "group ");
	writer_add(dump->out, address);
	writer_add(dump->out, " of ");
	writer_add_decimal(dump->out, group->alive);
	writer_add(dump->out, group->alive == 1 ? " task" : " tasks");
	if (group->limit) {
		writer_add(dump->out, ", limit ");
		writer_add_decimal(dump->out, group->limit);
	}
	dump_deadline(dump, group->scope.deadline);
	writer_add(dump->out, group->is_canceled ? ", canceled\n" : "\n");
}

/* The innermost group from this scope outwards; NULL if there is none. */
static struct group *group_from(struct dump *dump, const struct await_task *task, struct scope *scope)
{
	if (task->task.state == TASK_DONE)
		return NULL;
	while (scope && sound_scope(dump->sound, task, scope) && !scope->is_group)
		scope = scope->outer;
	struct group *group = scope ? container_of(scope, struct group, scope) : NULL;
	return group && sound_group(dump->sound, task, group) ? group : NULL;
}

/* Linked here; NULL: what is there is none. */
static struct child *child_at(struct dump *dump, struct link *link)
{
	struct child *child = container_of(link, struct child, link);
	return sound_child(dump->sound, child) ? child : NULL;
}

/* ---- the walk -------------------------------------------------------------------------------------------- */

struct walk {
	struct dump *dump;
	size_t steps;          /* left; there are no more than tasks and groups, unless links are broken */
	unsigned depth;        /* of the task where it stands */
	size_t roots;          /* told so far: without a group of their own, */
	size_t owners;         /* and with one, so that no tree hides behind others */
	struct rest rest;      /* of the roots */
};

static bool tells(const struct walk *walk, size_t index)
{
	return index < FEW || walk->dump->flags & BIDE_DUMP_ALL;
}

/* Down into the first of the groups, from `group` outwards, that has a child; that child, or NULL. */
static struct await_task *enter(struct walk *walk, const struct await_task *owner, struct group *group, unsigned depth)
{
	for (; group && walk->steps > 0; group = group_from(walk->dump, owner, group->scope.outer)) {
		walk->steps--;
		say_group(walk->dump, group, depth);
		struct link *link = list_head(&group->children);
		struct child *child = link ? child_at(walk->dump, link) : NULL;
		walk->depth = depth + 1;
		if (child)
			return child->task;
	}
	return NULL;
}

/* How many of its group come before it, if it matters. */
static size_t index_of(struct walk *walk, const struct child *child)
{
	size_t index = 0;
	bool matters = !(walk->dump->flags & BIDE_DUMP_ALL);
	struct link *link = list_head(&child->group->children);
	while (matters && link && link != &child->link && index < FEW && child_at(walk->dump, link)) {
		link = link->next;
		index++;
	}
	return index;
}

/* The one behind it in its group, if that is to be told; the rest is told in one line. */
static struct await_task *next_sibling(struct walk *walk, const struct child *child)
{
	struct link *end = &child->group->children.head, *link = child->link.next;
	struct child *next = link && link != end ? child_at(walk->dump, link) : NULL;
	struct rest rest = { .total = 0 };
	if (!next)
		return NULL;
	if (tells(walk, index_of(walk, child) + 1))
		return next->task;
	for (; link && link != end && walk->steps > 0; link = link->next, walk->steps--) {
		next = child_at(walk->dump, link);
		if (!next)
			break;
		count_in(&rest, next->task);
	}
	say_rest(walk->dump, &rest, walk->depth);
	return NULL;
}

/* From a task whose children have been told: along, or up and along. NULL: back at the root. */
static struct await_task *go_on(struct walk *walk, const struct await_task *task, const struct await_task *root)
{
	while (task != root && task->child && sound_child(walk->dump->sound, task->child) && walk->steps > 0) {
		struct group *group = task->child->group;
		struct await_task *next = next_sibling(walk, task->child), *owner = group->owner;
		unsigned depth = walk->depth;
		if (!next)
			next = enter(walk, owner, group_from(walk->dump, owner, group->scope.outer), depth - 1);
		if (next)
			return next;
		walk->depth = depth - 2;
		task = owner;
		walk->steps--;
	}
	return NULL;
}

static void tell_root(struct walk *walk, struct await_task *root)
{
	struct await_task *task = root;
	walk->depth = 0;
	while (task && walk->steps > 0) {
		walk->steps--;
		dump_task(walk->dump, task, walk->depth);
		unsigned depth = walk->depth;
		struct await_task *child = enter(walk, task, group_from(walk->dump, task, task->scope), depth + 1);
		if (!child)
			walk->depth = depth;
		task = child ? child : go_on(walk, task, root);
	}
}

static void visit(void *record, void *arg)
{
	struct await_task *task = record;
	struct walk *walk = arg;
	if (!record_is_live(task) || task->task.state == TASK_DONE || task->child || !sound_task(walk->dump->sound, task))
		return;
	size_t *counter = group_from(walk->dump, task, task->scope) ? &walk->owners : &walk->roots;
	if (tells(walk, (*counter)++))
		tell_root(walk, task);
	else
		count_in(&walk->rest, task);
}

void dump_write(struct loop *loop, struct writer *writer, unsigned flags, const struct dump_frames *running,
    struct sound *sound)
{
	const struct run *run = run_of(loop);
	struct dump dump = { loop, writer, flags, running, sound };
	struct walk walk = { .dump = &dump, .steps = 4 * (size_t)run->alive + 1000 };
	if (sound)
		sound_limit(sound, run->alive);
	writer_add(writer, "bide: ");
	writer_add_decimal(writer, run->alive);
	writer_add(writer, run->alive == 1 ? " task\n" : " tasks\n");
	slab_each(&loop->tasks, visit, &walk);
	say_rest(&dump, &walk.rest, 0);
	if (sound && (sound->met_nonsense || walk.steps == 0))
		writer_add(writer, "bide: some of it is left out: the loop was in the middle of changing it\n");
}

int bide_dump(FILE *out, unsigned flags)
{
	struct writer writer;
	struct dump_frames running = { .count = 0 };
	if (!out || (flags & ~KNOWN_FLAGS))
		return fail_with(EINVAL);
	if (!loop_current)
		return fail_with(EPERM);
	int saved = errno;
	modules_note();
	if (flags & BIDE_DUMP_BACKTRACES)
		running.count = frames_here(running.pcs, DUMP_FRAMES);
	writer_to_file(&writer, out);
	dump_write(loop_current, &writer, flags, &running, NULL);
	if (writer_flush(&writer) < 0)
		return -1;
	errno = saved;
	return 0;
}
