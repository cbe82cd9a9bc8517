/* SPDX-License-Identifier: MIT
 * Layer await: what ends with a task: deferred calls and task-local values. */
#include <errno.h>

#include "await/record.h"
#include "base/fail.h"

struct deferred {
	struct deferred *next; /* the one registered before */
	void (*fn)(void *arg);
	void *arg;
};

struct local {
	struct local *next;
	const bide_key *key;
	void *value;
	bool is_inherited; /* the value is dropped by whoever set it */
};

/* ---- deferred calls ---------------------------------------------------------------------------- */

int bide_defer(void (*fn)(void *arg), void *arg)
{
	struct await_task *task = await_current();
	if (!task)
		return -1;
	if (!fn)
		return fail_with(EINVAL);
	struct deferred *deferred = memory_alloc(task->task.loop->memory, sizeof *deferred);
	if (!deferred)
		return -1;
	struct annex *annex = annex_of(task);
	*deferred = (struct deferred){ annex->deferred, fn, arg };
	annex->deferred = deferred;
	return 0;
}

static void pop_deferred(struct await_task *task, bool run)
{
	struct annex *annex = annex_of(task);
	struct deferred popped = *annex->deferred;
	memory_free(task->task.loop->memory, annex->deferred, sizeof popped);
	annex->deferred = popped.next;
	if (run)
		popped.fn(popped.arg);
}

int bide_undefer(bool run)
{
	struct await_task *task = await_current();
	if (!task)
		return -1;
	if (!annex_peek(task)->deferred)
		return fail_with(ENOENT);
	pop_deferred(task, run);
	return 0;
}

void deferred_free(struct await_task *task)
{
	while (annex_peek(task)->deferred)
		pop_deferred(task, false);
}

/* ---- task-local values ------------------------------------------------------------------------- */

static struct local *find_local(const struct await_task *task, const bide_key *key)
{
	struct local *local = annex_peek(task)->locals;
	while (local && local->key != key)
		local = local->next;
	return local;
}

static int add_local(struct await_task *task, const bide_key *key, void *value, bool is_inherited)
{
	struct local *local = memory_alloc(task->task.loop->memory, sizeof *local);
	if (!local)
		return -1;
	struct annex *annex = annex_of(task);
	*local = (struct local){ annex->locals, key, value, is_inherited };
	annex->locals = local;
	return 0;
}

int bide_local_set(const bide_key *key, void *value)
{
	struct await_task *task = await_current();
	if (!task)
		return -1;
	if (!key)
		return fail_with(EINVAL);
	struct local *local = find_local(task, key);
	if (!local)
		return add_local(task, key, value, false);
	local->value = value;
	local->is_inherited = false;
	return 0;
}

void *bide_local_get(const bide_key *key)
{
	struct task *task = task_current();
	struct local *local = task ? find_local(await_task_of(task), key) : NULL;
	return local ? local->value : NULL;
}

int locals_inherit(struct await_task *child, const struct await_task *spawner)
{
	for (const struct local *local = annex_peek(spawner)->locals; local; local = local->next) {
		if (!(local->key->flags & BIDE_KEY_INHERIT))
			continue;
		if (add_local(child, local->key, local->value, true) < 0) {
			locals_free(child);
			return -1;
		}
	}
	return 0;
}

void locals_free(struct await_task *task)
{
	while (annex_peek(task)->locals) {
		struct annex *annex = annex_of(task);
		struct local *local = annex->locals;
		annex->locals = local->next;
		memory_free(task->task.loop->memory, local, sizeof *local);
	}
}

static void drop_local(struct await_task *task)
{
	struct annex *annex = annex_of(task);
	struct local local = *annex->locals;
	memory_free(task->task.loop->memory, annex->locals, sizeof local);
	annex->locals = local.next;
	if (local.value && local.key->drop && !local.is_inherited)
		local.key->drop(local.value);
}

/* Whatever is called here may defer and set locals again: that runs, and is dropped, too. */
void ending_run(struct await_task *task)
{
	const struct annex *annex = annex_peek(task);
	while (annex->deferred || annex->locals) {
		if (annex->deferred)
			pop_deferred(task, true);
		else
			drop_local(task);
	}
}
