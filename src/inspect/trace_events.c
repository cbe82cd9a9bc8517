/* SPDX-License-Identifier: MIT
 * Layer inspect: how each kind of event is written: which track it is on, what it says, whose slices begin and
 * end with it. */
#include <string.h>

#include "inspect/trace_lines.h"
#include "sched/poller.h"
#include "sched/wait.h"

/* The event in hand, as a mark on a track. */
static void mark(struct trace_json *json, const char *name, const struct track *track)
{
	trace_line(json, "i", name, track, json->now);
	trace_out_add(&json->out, ",\"s\":\"t\"");
	trace_args(json, json->event);
}

static void error_name(struct trace_json *json, const char *name, int err)
{
	const char *symbol = strerrorname_np(err);
	if (err && symbol)
		trace_text(json, name, symbol);
	else
		trace_number(json, name, (uint64_t)err);
}

static void place(struct trace_json *json, const char *name, uint64_t address)
{
	trace_text(json, name, trace_place(&json->places, (uintptr_t)address));
}

/* ---- tracks -------------------------------------------------------------------------------------- */

static struct track *track_of(const struct trace_json *json, uint64_t task)
{
	return tracks_find(&json->tracks, json->event->run, task);
}

/* On whose track what happens is told: of the task that runs, or the loop's. */
static struct track *here(const struct trace_json *json)
{
	return track_of(json, json->event->by);
}

/* What the loop itself does ends when it does something else. */
static void loop_slice(struct trace_json *json, const char *state)
{
	trace_slice(json, track_of(json, 0), state);
}

static void loop_slice_end(struct trace_json *json)
{
	trace_slice_end(json, track_of(json, 0), json->now);
}

/* ---- arrows -------------------------------------------------------------------------------------- */

static void arrow(struct trace_json *json, const char *phase, const struct track *track, uint64_t flow)
{
	trace_line(json, phase, "wake", track, json->now);
	trace_text(json, "cat", "wake");
	trace_number(json, "id", flow);
	trace_out_add(&json->out, *phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

/* From a slice of who wakes it to the next one of `to`. */
static void arrow_begin(struct trace_json *json, struct track *to)
{
	const struct track *from = here(json);
	if (!from->state)
		return;
	to->flow = ++json->flows;
	arrow(json, "s", from, to->flow);
}

static void arrow_end(struct trace_json *json, struct track *track)
{
	if (track->flow)
		arrow(json, "f", track, track->flow);
	track->flow = 0;
}

/* ---- events -------------------------------------------------------------------------------------- */

static void write_loop(struct trace_json *json)
{
	mark(json, "loop", track_of(json, 0));
	if (json->event->value != BIDE_NEVER)
		trace_number(json, "clock", (uint64_t)json->event->value);
	trace_line_end(json);
}

static void write_spawn(struct trace_json *json)
{
	const struct trace_event *event = json->event;
	struct track *track = track_of(json, event->task);
	mark(json, "spawn", event->is_known ? track : here(json));
	trace_number(json, "task", track->number);
	place(json, "fn", event->object);
	place(json, "at", event->site - 1);
	if (event->is_known)
		trace_number(json, "known", 1);
	trace_line_end(json);
	if (!event->is_known)
		arrow_begin(json, track);
	trace_slice(json, track, "ready");
}

static void write_run(struct trace_json *json)
{
	struct track *track = track_of(json, json->event->task);
	loop_slice_end(json);
	trace_slice(json, track, "run");
	arrow_end(json, track);
}

/* Where the task stands: the next event, if it was noted. */
static void write_stack(struct trace_json *json)
{
	const struct trace_event *stack = json->event + 1;
	if (stack == json->end || stack->kind != TRACE_STACK || stack->task != json->event->task || !stack->frames[0])
		return;
	uintptr_t caller = trace_places_caller(&json->places, stack->frames, TRACE_FRAMES);
	if (caller)
		place(json, "at", caller);
	trace_key(json, "stack");
	for (int i = 0; i < TRACE_FRAMES && stack->frames[i]; i++) {
		const char *frame = trace_place(&json->places, (uintptr_t)stack->frames[i]);
		trace_out_add(&json->out, i == 0 ? "[" : ",");
		trace_out_string(&json->out, frame, strlen(frame));
	}
	trace_out_add(&json->out, "]");
}

static const char *direction_of(uint16_t events)
{
	return events & POLLER_IN ? events & POLLER_OUT ? "in out" : "in" : events & POLLER_OUT ? "out" : "";
}

static void write_object(struct trace_json *json)
{
	const struct trace_event *event = json->event;
	trace_text(json, "for", wait_kind_names[event->wait]);
	if (event->fd >= 0) {
		trace_number(json, "fd", (uint64_t)event->fd);
		trace_text(json, "events", direction_of(event->events));
	} else if (event->wait == WAIT_JOIN || event->wait == WAIT_START) {
		const struct track *awaited = track_of(json, event->object);
		if (awaited)
			trace_number(json, "object", awaited->number);
	} else if (event->object) {
		trace_number(json, "object", event->object);
	}
	if (event->value != BIDE_NEVER)
		trace_number(json, "until", (uint64_t)event->value);
}

static const char *const waiting_names[] = {
#define X(name, text) "wait: " text,
	WAIT_KINDS(X)
#undef X
};

static void write_park(struct trace_json *json)
{
	struct track *track = track_of(json, json->event->task);
	trace_slice(json, track, waiting_names[json->event->wait]);
	track->fd = json->event->fd;
	mark(json, "park", track);
	write_object(json);
	write_stack(json);
	trace_line_end(json);
}

static void write_ready(struct trace_json *json)
{
	struct track *track = track_of(json, json->event->task);
	trace_slice(json, track, "ready");
	mark(json, "ready", track);
	write_stack(json);
	trace_line_end(json);
}

static void write_end(struct trace_json *json)
{
	struct track *track = track_of(json, json->event->task);
	trace_slice_end(json, track, json->now);
	mark(json, "end", track);
	error_name(json, "err", json->event->err);
	trace_line_end(json);
}

static void write_wake(struct trace_json *json)
{
	struct track *track = track_of(json, json->event->task);
	mark(json, "wake", here(json));
	trace_number(json, "task", track->number);
	trace_text(json, "from", wait_kind_names[json->event->wait]);
	error_name(json, "err", json->event->err);
	trace_line_end(json);
	arrow_begin(json, track);
	trace_slice(json, track, "ready");
}

static void write_cancel(struct trace_json *json)
{
	mark(json, "cancel", here(json));
	trace_number(json, "task", track_of(json, json->event->task)->number);
	trace_key(json, "reason");
	trace_out_string(&json->out, json->event->text, TRACE_TEXT_SIZE);
	trace_line_end(json);
}

static void write_clock(struct trace_json *json)
{
	mark(json, "clock", track_of(json, 0));
	trace_number(json, "now", (uint64_t)json->event->value);
	trace_line_end(json);
	trace_line(json, "C", "virtual clock", track_of(json, 0), json->now);
	trace_out_add(&json->out, ",\"args\":{\"s\":");
	trace_out_number(&json->out, (uint64_t)(json->event->value / BIDE_SEC));
	trace_out_add(&json->out, "}}");
}

static void write_call(struct trace_json *json)
{
	mark(json, "call", here(json));
	place(json, "fn", json->event->object);
	trace_line_end(json);
}

static void write_at(struct trace_json *json)
{
	mark(json, "at", here(json));
	place(json, "at", json->event->object - 1);
	trace_line_end(json);
}

static void write_post(struct trace_json *json)
{
	mark(json, "post", here(json));
	trace_line_end(json);
}

static void write_future(struct trace_json *json)
{
	mark(json, "future", here(json));
	trace_number(json, "object", json->event->object);
	error_name(json, "err", json->event->err);
	trace_line_end(json);
}

static void write_sleep(struct trace_json *json)
{
	loop_slice(json, "poll");
}

static void write_poll(struct trace_json *json)
{
	loop_slice(json, "events");
}

static void write_timer(struct trace_json *json)
{
	loop_slice(json, "timer");
}

static void write_callback(struct trace_json *json)
{
	loop_slice(json, "callback");
}

static void (*const writers[])(struct trace_json *json) = {
	[TRACE_LOOP] = write_loop, [TRACE_SPAWN] = write_spawn, [TRACE_RUN] = write_run, [TRACE_PARK] = write_park,
	[TRACE_READY] = write_ready, [TRACE_END] = write_end, [TRACE_WAKE] = write_wake,
	[TRACE_AT] = write_at, [TRACE_CANCEL] = write_cancel,
	[TRACE_SLEEP] = write_sleep, [TRACE_POLL] = write_poll, [TRACE_TIMER] = write_timer,
	[TRACE_CLOCK] = write_clock, [TRACE_CALLBACK] = write_callback, [TRACE_CALL] = write_call,
	[TRACE_RETURN] = loop_slice_end, [TRACE_POST] = write_post, [TRACE_FUTURE] = write_future,
	[TRACE_STACK] = NULL,
};

void trace_event_write(struct trace_json *json)
{
	if (writers[json->event->kind])
		writers[json->event->kind](json);
}
