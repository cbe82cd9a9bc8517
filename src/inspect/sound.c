/* SPDX-License-Identifier: MIT
 * Layer inspect: whether what the records of a held loop point to may be followed. See sound.h. */
#include "inspect/sound.h"

#include <bide/sync.h>

#include "await/coro.h"
#include "await/crew.h"
#include "base/system.h"
#include "stack/annotate.h"

#define PAGE ((uintptr_t)4096) /* or a part of one */
#define STEPS_LEAST ((size_t)1 << 20)
#define STEPS_PER_TASK 256

int sound_begin(struct sound *sound, const struct loop *loop)
{
	*sound = (struct sound){ .loop = loop, .file = system_memfd() };
	return sound->file < 0 ? -1 : 0;
}

void sound_limit(struct sound *sound, size_t tasks)
{
	sound->steps = STEPS_LEAST + STEPS_PER_TASK * tasks;
}

void sound_end(struct sound *sound)
{
	system_close(sound->file);
}

static bool judge(struct sound *sound, bool is_sound)
{
	if (!is_sound)
		sound->met_nonsense = true;
	return is_sound;
}

/* ---- memory --------------------------------------------------------------------------------------------- */

/* Any byte of a page stands for all of it. A step. */
static bool page_can_be_read(struct sound *sound, uintptr_t page)
{
	uintptr_t *known = &sound->pages[page % SOUND_PAGES];
	if (sound->steps == 0 || page == 0)
		return false;
	sound->steps--;
	if (*known == page)
		return true;
	if (!system_can_read(sound->file, (const void *)(page * PAGE)))
		return false;
	*known = page;
	return true;
}

static bool is_freed(const void *start, size_t size)
{
	(void)start, (void)size;
#ifdef ANNOTATE_ASAN
	return __asan_region_is_poisoned((void *)(uintptr_t)start, size) != NULL;
#else
	return false;
#endif
}

static bool can_be_read(struct sound *sound, const void *start, size_t size)
{
	uintptr_t first = (uintptr_t)start / PAGE, last = ((uintptr_t)start + size - 1) / PAGE;
	if (!start || last < first)
		return false;
	for (uintptr_t page = first; page <= last; page++)
		if (!page_can_be_read(sound, page))
			return false;
	return true;
}

bool sound_memory(struct sound *sound, const void *start, size_t size)
{
	return !sound || judge(sound, can_be_read(sound, start, size));
}

/* Of a record, which is aligned, unlike what a torn link may lead to. */
static bool is_object(struct sound *sound, const void *object, size_t size)
{
	return (uintptr_t)object % sizeof(void *) == 0 && can_be_read(sound, object, size) && !is_freed(object, size);
}

/* ---- records ---------------------------------------------------------------------------------------------- */

static bool is_task(struct sound *sound, const struct await_task *task)
{
	const struct slab_chunk *chunk = slab_chunk_of(&sound->loop->tasks, task);
	if (!chunk || task->task.loop != sound->loop || task->task.state > TASK_FREE)
		return false;
	return !task->has_annex || slab_annex_of(&sound->loop->tasks, chunk, task) == task->task.annex;
}

bool sound_task(struct sound *sound, const struct await_task *task)
{
	return !sound || judge(sound, is_task(sound, task));
}

static bool is_child(struct sound *sound, const struct child *child)
{
	return is_object(sound, child, sizeof *child) && is_object(sound, child->group, sizeof *child->group) &&
	    is_task(sound, child->task) && is_task(sound, child->group->owner);
}

bool sound_child(struct sound *sound, const struct child *child)
{
	return !sound || judge(sound, is_child(sound, child));
}

bool sound_scope(struct sound *sound, const struct await_task *task, const struct scope *scope)
{
	return !sound || judge(sound, is_object(sound, scope, sizeof *scope) && scope->task == task);
}

bool sound_group(struct sound *sound, const struct await_task *owner, const struct group *group)
{
	return !sound || judge(sound, is_object(sound, group, sizeof *group) && group->owner == owner);
}

/* ---- waits ------------------------------------------------------------------------------------------------ */

static bool is_crew(struct sound *sound, const struct crew *crew)
{
	if (!is_object(sound, crew, sizeof *crew) || crew->count < 0)
		return false;
	for (int i = 0; i < crew->count; i++)
		if (!is_object(sound, &crew->members[i], sizeof crew->members[i]) || !is_task(sound, crew->members[i].task))
			return false;
	return true;
}

static bool is_described(struct sound *sound, const struct wait *wait)
{
	switch (wait->kind) {
	case WAIT_JOIN:
	case WAIT_START:
		return is_task(sound, wait->object);
	case WAIT_CREW:
		return is_crew(sound, wait->object);
	case WAIT_MUTEX:
		return is_object(sound, wait->object, sizeof(bide_mutex));
	case WAIT_RWLOCK:
		return is_object(sound, wait->object, sizeof(bide_rwlock));
	case WAIT_ONCE:
		return is_object(sound, wait->object, sizeof(bide_once));
	default:
		return wait->kind < WAIT_KIND_COUNT;
	}
}

static bool is_wait(struct sound *sound, const struct wait *wait)
{
	if (!is_described(sound, wait))
		return false;
	for (const struct wait *one = wait->kind == WAIT_SELECT ? wait->more : NULL; one; one = one->more)
		if (!is_object(sound, one, sizeof *one) || !is_described(sound, one))
			return false;
	return true;
}

bool sound_wait(struct sound *sound, const struct wait *wait)
{
	return !sound || judge(sound, is_wait(sound, wait));
}

/* ---- stacks ----------------------------------------------------------------------------------------------- */

static bool is_tower(struct sound *sound, const struct await_task *task)
{
	for (const struct bide_coro *coro = task->is_entered ? task->coro : NULL; coro; coro = coro->below)
		if (!is_object(sound, coro, sizeof *coro))
			return false;
	return true;
}

bool sound_tower(struct sound *sound, const struct await_task *task)
{
	return !sound || judge(sound, is_tower(sound, task));
}

bool sound_stack(struct sound *sound, const struct stack *stack, const void *sp)
{
	if (!sound)
		return true;
	const char *from = sp;
	bool is_inside = stack->low && from >= stack->low && from < stack->high;
	return judge(sound, is_inside && can_be_read(sound, from, (size_t)(stack->high - from)));
}
