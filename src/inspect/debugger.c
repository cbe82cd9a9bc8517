/* SPDX-License-Identifier: MIT
 * Layer inspect: what a debugger needs to know to find the tasks of a process, or of a core, of whose symbols and
 * types it has none: src/inspect/gdb/bide-gdb.py reads it. It has a section of its own, bide_debug, whose name survives
 * stripping and needs no exported symbol.
 *
 * The values have names, so that the script asks for those it wants, and of a library that lacks one says so.
 * What is here is read by debuggers only: no code of the library does. */
#include <stddef.h>

#include "await/tower.h"
#include "inspect/watch.h"

/* The layout of struct await_task's flags, which are bits. debugger.c alone relies on it; the test of the script
 * fails if it is another one. */
#define FLAG_IS_ENTERED (1 << 3)
#define FLAG_HAS_ANNEX (1 << 7)

#define VALUES(X)                                                                                  \
	X(watch_link, offsetof(struct watch, link))                                                    \
	X(watch_run, offsetof(struct watch, run))                                                      \
	X(watch_thread_id, offsetof(struct watch, thread_id))                                          \
	X(run_serial, offsetof(struct run, serial))                                                    \
	X(loop_running, offsetof(struct run, loop.running))                                            \
	X(loop_chunks, offsetof(struct run, loop.tasks.chunks))                                        \
	X(loop_record_size, offsetof(struct run, loop.tasks.record_size))                              \
	X(chunk_next, offsetof(struct slab_chunk, next))                                               \
	X(chunk_records, offsetof(struct slab_chunk, records))                                         \
	X(chunk_count, offsetof(struct slab_chunk, count))                                             \
	X(task_context, offsetof(struct await_task, task.strand.context))                              \
	X(task_state, offsetof(struct await_task, task.state))                                         \
	X(task_loop, offsetof(struct await_task, task.loop))                                           \
	X(task_stack_low, offsetof(struct await_task, task.stack.low))                                 \
	X(task_stack_high, offsetof(struct await_task, task.stack.high))                               \
	X(task_wait_kind, offsetof(struct await_task, task.wait.kind))                                 \
	X(task_wait_object, offsetof(struct await_task, task.wait.object))                             \
	X(task_wait_detail, offsetof(struct await_task, task.wait.detail))                             \
	X(task_annex, offsetof(struct await_task, task.annex))                                         \
	X(task_id, offsetof(struct await_task, id))                                                    \
	X(task_flags, offsetof(struct await_task, flags))                                              \
	X(task_spawn_site, offsetof(struct await_task, spawn_site))                                    \
	X(task_fn, offsetof(struct await_task, fn))                                                    \
	X(task_coro, offsetof(struct await_task, coro))                                                \
	X(flag_is_entered, FLAG_IS_ENTERED)                                                            \
	X(flag_has_annex, FLAG_HAS_ANNEX)                                                              \
	X(annex_name, offsetof(struct annex, name))                                                    \
	X(annex_name_size, TASK_NAME_SIZE)                                                             \
	X(context_sp, offsetof(struct context, sp))                                                    \
	X(context_fp, offsetof(struct context, fp))                                                    \
	X(context_resume, offsetof(struct context, resume))                                            \
	X(state_created, TASK_CREATED)                                                                 \
	X(state_ready, TASK_READY)                                                                     \
	X(state_running, TASK_RUNNING)                                                                 \
	X(state_suspended, TASK_SUSPENDED)                                                             \
	X(wait_kinds, WAIT_KIND_COUNT)                                                                 \
	X(wait_fd, WAIT_FD)                                                                            \
	X(wait_join, WAIT_JOIN)                                                                        \
	X(wait_start, WAIT_START)

#define X(name, value) #name " "
static const char value_names[] = VALUES(X);
#undef X

/* A stripped file still has the section; a linker that drops what nobody refers to must keep it. */
#if __has_attribute(retain)
#define KEPT __attribute__((used, retain, section("bide_debug")))
#else
#define KEPT __attribute__((used, section("bide_debug")))
#endif

static const struct debugger_table {
	char magic[16];
	const struct list *watches;
	const char *const *state_names;
	const char *const *wait_names;
	const struct coro_layout *coro_layout;
	const char *names;
	uint64_t names_size;
	uint32_t values[];
} table KEPT = {
	.magic = "bide debugger 1",
	.watches = &watch_list,
	.state_names = task_state_names,
	.wait_names = wait_kind_names,
	.coro_layout = &coro_layout,
	.names = value_names,
	.names_size = sizeof value_names - 1,
	.values = {
#define X(name, value) (uint32_t)(value),
		VALUES(X)
#undef X
	},
};
