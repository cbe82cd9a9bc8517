/* SPDX-License-Identifier: MIT
 * Layer await: tasks as their users see them: spawn, join, handles, outcome. */
#include <bide/task.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "await/record.h"

_Static_assert((int)BIDE_TASK_CREATED == (int)TASK_CREATED && (int)BIDE_TASK_READY == (int)TASK_READY &&
    (int)BIDE_TASK_RUNNING == (int)TASK_RUNNING && (int)BIDE_TASK_SUSPENDED == (int)TASK_SUSPENDED &&
    (int)BIDE_TASK_DONE == (int)TASK_DONE, "one numbering of states");

#define KNOWN_FLAGS (BIDE_EAGER | BIDE_DETACHED | BIDE_START_ALWAYS)

/* ---- handles ----------------------------------------------------------------------------------- */

struct await_task *handle_resolve(const bide_task *handle)
{
	uintptr_t bits = (uintptr_t)handle;
	struct await_task *task = (void *)(bits & (((uintptr_t)1 << HANDLE_SHIFT) - 1));
	if (!task) {
		errno = EINVAL;
		return NULL;
	}
	if (!loop_current || task->task.loop != loop_current) {
		errno = EPERM;
		return NULL;
	}
	if (task->task.state == TASK_FREE || task->generation != (uint16_t)(bits >> HANDLE_SHIFT)) {
		errno = ESRCH;
		return NULL;
	}
	return task;
}

void task_hold(struct await_task *task)
{
	task->references++;
}

void report_unread(struct await_task *task)
{
	char label[TASK_LABEL_SIZE];
	if (task->err && task->err != ECANCELED && !task->is_outcome_read)
		run_report(run_of(task->task.loop), BIDE_REPORT_FAILURE,
		    "task %s failed with errno %d (%s) and nobody read its outcome", task_label(task, label),
		    task->err, strerror(task->err));
}

void task_drop(struct await_task *task)
{
	CHECK(task->references > 0, "a reference is dropped once");
	if (--task->references > 0)
		return;
	report_unread(task);
	task->generation++;
	task_free(&task->task);
}

const char *task_label(const struct await_task *task, char label[TASK_LABEL_SIZE])
{
	if (task->name[0])
		snprintf(label, TASK_LABEL_SIZE, "%llu \"%s\"", (unsigned long long)task->id, task->name);
	else
		snprintf(label, TASK_LABEL_SIZE, "%llu", (unsigned long long)task->id);
	return label;
}

/* ---- life -------------------------------------------------------------------------------------- */

/* `return bide_fail(err)` returns this address; the errno is in the task. */
static char failed;

static int err_of(struct await_task *task, const void *value)
{
	if (value == &failed)
		return task->fail_err;
	/* A body that saw its cancel and has nothing to show for itself was ended by it. */
	if (!value && task->cancel_count > 0 && task->task.was_interrupted)
		return ECANCELED;
	return 0;
}

void task_conclude(struct await_task *task, void *value, int err)
{
	struct run *run = run_of(task->task.loop);
	task->value = err ? NULL : value;
	task->err = err;
	struct link *link;
	while ((link = list_head(&task->joiners)))
		task_wake(container_of(link, struct wait, link)->task, 0);
	run->alive--;
	if (task == run->main)
		run->is_main_done = true;
	if (task == run->main || run->alive == 0)
		loop_stop(&run->loop);
}

/* The end of every body, reached by return or by bide_exit. */
static void finish(struct await_task *task, void *value)
{
	int err = err_of(task, value);
	task->shield_depth++;
	cancel_update(task);
	ending_run(task);
	task_conclude(task, value, err);
}

static void body_main(struct task *sched_task)
{
	struct await_task *task = await_task_of(sched_task);
	finish(task, task->fn(task->arg));
}

static void buried(struct task *task)
{
	task_drop(await_task_of(task));
}

/* Stands in the ready queue in place of a task that was canceled before its first run. */
static void abandon(struct entry *entry)
{
	struct await_task *task = await_task_of(task_of_entry(entry));
	entry->run = NULL;
	if (task->drop)
		task->drop(task->arg);
	locals_free(task);
	task_set_state(&task->task, TASK_DONE);
	stack_put(&task->task.loop->stacks, &task->task.stack);
	task_conclude(task, NULL, ECANCELED);
	task_drop(task);
}

void cancel_request(struct await_task *task, const char *reason)
{
	if (task->cancel_count++ == 0)
		task->cancel_reason = reason;
	cancel_update(task);
	if (task->task.state == TASK_CREATED && !task->starts_always)
		task->task.entry.run = abandon;
}

/* ---- spawning ---------------------------------------------------------------------------------- */

static int check_attr(const bide_task_attr *attr)
{
	if (attr->size != sizeof *attr || (attr->flags & ~KNOWN_FLAGS) || (attr->stack && !attr->stack_size) ||
	    ((attr->flags & BIDE_EAGER) && !task_current())) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

static int check_loop(struct loop *loop)
{
	if (!loop) {
		errno = EPERM;
		return -1;
	}
	struct run *run = run_of(loop);
	if (run->is_main_done || (run->config.max_tasks && run->alive >= run->config.max_tasks)) {
		errno = EAGAIN;
		return -1;
	}
	return 0;
}

/* The scheduler's part of a new record, with a stack reserved or adopted. */
static struct task *make_record(struct loop *loop, const bide_task_attr *attr)
{
	if (!attr->stack)
		return task_new(loop, attr->stack_size ? attr->stack_size : run_of(loop)->config.stack_size);
	struct stack stack;
	if (stack_adopt(&stack, attr->stack, attr->stack_size) < 0)
		return NULL;
	struct task *task = task_new(loop, 0);
	if (task)
		task->stack = stack;
	return task;
}

static void copy_name(char name[TASK_NAME_SIZE], const char *from)
{
	name[0] = '\0';
	if (from)
		snprintf(name, TASK_NAME_SIZE, "%s", from);
}

static void fill_in(struct await_task *task, bide_fn *fn, void *arg, const bide_task_attr *attr)
{
	struct run *run = run_of(task->task.loop);
	task->task.main = body_main;
	task->task.buried = buried;
	task->id = ++run->next_id;
	task->is_detached = attr->flags & BIDE_DETACHED;
	task->references = task->is_detached ? 1 : 2;
	task->is_joined = false;
	task->starts_always = attr->flags & BIDE_START_ALWAYS;
	copy_name(task->name, attr->name);
	task->fn = fn;
	task->arg = arg;
	task->drop = attr->drop;
	task->err = 0;
	task->is_outcome_read = false;
	list_init(&task->joiners);
	task->cancel_count = 0;
	task->shield_depth = 0;
	task->cancel_reason = NULL;
	task->scope = NULL;
	task->group = NULL;
	task->deferred = NULL;
	task->locals = NULL;
	task->coro = NULL;
}

static bide_task *spawn(bide_fn *fn, void *arg, const bide_task_attr *attr, void *site)
{
	static const bide_task_attr defaults = BIDE_TASK_ATTR_INIT;
	struct loop *loop = loop_current;
	if (!attr)
		attr = &defaults;
	if (!fn) {
		errno = EINVAL;
		return NULL;
	}
	if (check_loop(loop) < 0 || check_attr(attr) < 0)
		return NULL;
	struct task *record = make_record(loop, attr);
	if (!record)
		return NULL;
	struct await_task *task = await_task_of(record);
	fill_in(task, fn, arg, attr);
	task->spawn_site = site;
	if (loop->running && locals_inherit(task, await_task_of(loop->running)) < 0) {
		task_free(record);
		return NULL;
	}
	run_of(loop)->alive++;
	task_start(record);
	bide_task *handle = handle_of(task);
	if (attr->flags & BIDE_EAGER)
		task_enter(record);
	return handle;
}

bide_task *bide_spawn(bide_fn *fn, void *arg)
{
	return spawn(fn, arg, NULL, __builtin_return_address(0));
}

bide_task *bide_spawn_with(bide_fn *fn, void *arg, const bide_task_attr *attr)
{
	return spawn(fn, arg, attr, __builtin_return_address(0));
}

/* ---- joining ----------------------------------------------------------------------------------- */

/* True if `task` waits, over any number of joins, for `self`. Each task waits for one at most and no
 * cycle is ever let in, so the walk is linear and ends. */
static bool waits_for(const struct await_task *task, const struct await_task *self)
{
	while (task != self) {
		if (task->task.state != TASK_SUSPENDED || task->task.wait.kind != WAIT_JOIN)
			return false;
		task = task->task.wait.object;
	}
	return true;
}

static struct await_task *resolve_joinable(const bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	if (task && task->is_detached) {
		errno = EINVAL;
		return NULL;
	}
	return task;
}

static int wait_for_end(struct await_task *task, struct task *self)
{
	if (waits_for(task, await_task_of(self))) {
		errno = EDEADLK;
		return -1;
	}
	wait_begin(self, &task->joiners, WAIT_JOIN, task);
	int status = park(self, BIDE_NEVER);
	if (status) {
		errno = status;
		return -1;
	}
	return 0;
}

static void give_handle_back(struct await_task *task)
{
	if (!task->is_joined) {
		task->is_joined = true;
		task_drop(task);
	}
}

int bide_join(bide_task *handle, bide_result *out)
{
	if (!task_current()) {
		errno = EPERM;
		return -1;
	}
	struct await_task *task = resolve_joinable(handle);
	if (!task)
		return -1;
	task_hold(task);
	int result = -1;
	struct task *self = checkpoint();
	if (!self || (task->task.state != TASK_DONE && wait_for_end(task, self) < 0))
		goto drop;
	if (out)
		*out = (bide_result){ task->value, task->err };
	task->is_outcome_read = true;
	give_handle_back(task);
	result = 0;
drop:
	task_drop(task);
	return result;
}

int bide_detach(bide_task *handle)
{
	struct await_task *task = resolve_joinable(handle);
	if (!task)
		return -1;
	task->is_detached = true;
	give_handle_back(task);
	return 0;
}

bide_task *bide_task_ref(bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	if (!task)
		return NULL;
	task_hold(task);
	return handle;
}

void bide_task_unref(bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	if (task)
		task_drop(task);
}

/* ---- the running task, and what there is to know of one ------------------------------------------ */

bide_task *bide_self(void)
{
	struct task *task = task_current();
	return task ? handle_of(await_task_of(task)) : NULL;
}

int bide_task_state(const bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	return task ? (int)task->task.state : -1;
}

uint64_t bide_task_id(const bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	return task ? task->id : 0;
}

static struct await_task *resolve_or_self(const bide_task *handle)
{
	return handle ? handle_resolve(handle) : await_current();
}

int bide_task_set_name(bide_task *handle, const char *name)
{
	struct await_task *task = resolve_or_self(handle);
	if (!task)
		return -1;
	copy_name(task->name, name);
	return 0;
}

const char *bide_task_name(const bide_task *handle)
{
	struct await_task *task = resolve_or_self(handle);
	return task ? task->name : NULL;
}

int bide_yield(void)
{
	struct task *task = checkpoint();
	return task ? yield(task) : -1;
}

void *bide_fail(int err)
{
	struct await_task *task = await_current();
	if (!task)
		return NULL;
	task->fail_err = err > 0 ? err : EINVAL;
	return &failed;
}

_Noreturn void bide_exit(void *value)
{
	struct await_task *task = await_current();
	if (!task)
		abort();
	finish(task, value);
	task_exit(&task->task);
}
