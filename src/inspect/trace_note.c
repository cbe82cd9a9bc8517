/* SPDX-License-Identifier: MIT
 * Layer inspect: what a traced loop is told becomes events. Runs in the middle of the scheduler, on any stack: it
 * only reads records and writes to the ring. */
#include <string.h>

#include "await/record.h"
#include "inspect/trace.h"

static struct trace_event event_of(const struct trace *trace, enum trace_kind kind, const struct task *task)
{
	return (struct trace_event){
		.cycles = context_cycles(),
		.task = task ? container_of(task, struct await_task, task)->id : 0,
		.run = trace->run,
		.kind = (uint8_t)kind,
		.by = trace->running,
	};
}

static void copy_text(struct trace_event *event, const char *text)
{
	if (text)
		memcpy(event->text, text, strnlen(text, TRACE_TEXT_SIZE - 1));
}

static void note_name(struct trace *trace, const struct task *task)
{
	struct trace_event event = event_of(trace, TRACE_NAME, task);
	copy_text(&event, annex_peek(container_of(task, struct await_task, task))->name);
	trace_ring_put(&trace->ring, &event);
}

static void note_spawn(struct trace *trace, const struct task *task, bool is_known)
{
	const struct await_task *record = container_of(task, struct await_task, task);
	struct trace_event event = event_of(trace, TRACE_SPAWN, task);
	event.object = (uint64_t)(uintptr_t)record->fn;
	event.site = (uint64_t)(uintptr_t)record->spawn_site;
	event.is_known = is_known;
	trace_ring_put(&trace->ring, &event);
	if (*annex_peek(record)->name)
		note_name(trace, task);
}

/* Whose end, or start, it waits for is told by its id. */
static uint64_t object_of(const struct wait *wait)
{
	if (wait->object && (wait->kind == WAIT_JOIN || wait->kind == WAIT_START))
		return ((const struct await_task *)wait->object)->id;
	return (uint64_t)(uintptr_t)wait->object;
}

static void note_park(struct trace *trace, const struct task *task)
{
	const struct wait *wait = &task->wait;
	struct trace_event event = event_of(trace, TRACE_PARK, task);
	event.wait = wait->kind;
	event.object = object_of(wait);
	event.value = timer_is_armed(&task->timer) ? task->timer.node.key : BIDE_NEVER;
	event.fd = wait->kind == WAIT_FD ? wait->detail : -1;
	event.events = wait->kind == WAIT_FD ? wait->events & (POLLER_IN | POLLER_OUT) : 0;
	trace_ring_put(&trace->ring, &event);
}

static void note_stack(struct trace *trace, const struct task *task)
{
	struct trace_event event = { .kind = TRACE_STACK, .run = trace->run, .task = trace->running };
	if (!trace_stack_walk(&trace->steps, task, event.frames))
		return;
	event.cycles = context_cycles();
	trace_ring_put(&trace->ring, &event);
}

/* One that has ended has said so already, and its record may be another's by now. */
static void note_leave(struct trace *trace, const struct task *task)
{
	if (!trace->running)
		return;
	if (task->state == TASK_SUSPENDED) {
		note_park(trace, task);
	} else {
		struct trace_event event = event_of(trace, TRACE_READY, task);
		trace_ring_put(&trace->ring, &event);
	}
	note_stack(trace, task);
	trace->running = 0;
}

static void note_end(struct trace *trace, const struct task *task)
{
	const struct await_task *record = container_of(task, struct await_task, task);
	struct trace_event event = event_of(trace, TRACE_END, task);
	event.err = (int16_t)task_outcome(record)->err;
	copy_text(&event, annex_peek(record)->name);
	trace_ring_put(&trace->ring, &event);
	if (trace->running == record->id)
		trace->running = 0;
}

static void note_plain(struct trace *trace, enum trace_kind kind, const struct task *task, const void *object,
    int64_t value)
{
	struct trace_event event = event_of(trace, kind, task);
	event.object = (uint64_t)(uintptr_t)object;
	event.value = value;
	if (kind == TRACE_WAKE || kind == TRACE_FUTURE)
		event.err = (int16_t)value;
	if (kind == TRACE_WAKE)
		event.wait = task->wait.kind;
	trace_ring_put(&trace->ring, &event);
}

static void note_cancel(struct trace *trace, const struct task *task, const char *reason)
{
	struct trace_event event = event_of(trace, TRACE_CANCEL, task);
	copy_text(&event, reason);
	trace_ring_put(&trace->ring, &event);
}

static void note(struct tracer *tracer, enum trace_kind kind, struct task *task, const void *object, int64_t value)
{
	struct trace *trace = container_of(tracer, struct trace, tracer);
	if (unlikely(trace->session != atomic_load_explicit(&trace_session, memory_order_relaxed))) {
		trace_expire(trace);
		return;
	}
	switch (kind) {
	case TRACE_SPAWN:
		note_spawn(trace, task, false);
		break;
	case TRACE_NAME:
		note_name(trace, task);
		break;
	case TRACE_RUN:
		note_plain(trace, kind, task, NULL, 0);
		trace->running = await_task_of(task)->id;
		break;
	case TRACE_LEAVE:
		note_leave(trace, task);
		break;
	case TRACE_END:
		note_end(trace, task);
		break;
	case TRACE_CANCEL:
		note_cancel(trace, task, object);
		break;
	default:
		note_plain(trace, kind, task, object, value);
	}
}

/* ---- the beginning ----------------------------------------------------------------------------- */

static void note_parked(void *record, void *arg)
{
	struct await_task *task = record;
	if (!record_is_live(task) || task->task.state != TASK_SUSPENDED)
		return;
	note_spawn(arg, &task->task, true);
	note_park(arg, &task->task);
}

/* Those in the ready queue in their order, and the one that runs. */
static void note_tasks(struct trace *trace)
{
	struct loop *loop = trace->loop;
	slab_each(&loop->tasks, note_parked, trace);
	list_each(link, &loop->ready.entries) {
		struct entry *entry = container_of(link, struct entry, link);
		if (!entry->run)
			note_spawn(trace, task_of_entry(entry), true);
	}
	if (!loop->running)
		return;
	loop->entered = loop->running;
	note_spawn(trace, loop->running, true);
	note(&trace->tracer, TRACE_RUN, loop->running, NULL, 0);
}

void trace_listen(struct trace *trace)
{
	struct loop *loop = trace->loop;
	trace->tracer.note = note;
	trace->running = 0;
	note_plain(trace, TRACE_LOOP, NULL, NULL, loop->clock.is_virtual ? loop->clock.now : BIDE_NEVER);
	note_tasks(trace);
	loop->tracer = &trace->tracer;
	pace_check_now(&loop->pace);
}
