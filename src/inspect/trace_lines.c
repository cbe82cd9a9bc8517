/* SPDX-License-Identifier: MIT
 * Layer inspect: the lines of a trace's file. See trace_lines.h. */
#include "inspect/trace_lines.h"

#include <string.h>
#include <unistd.h>

void trace_key(struct trace_json *json, const char *name)
{
	trace_out_add(&json->out, ",\"");
	trace_out_add(&json->out, name);
	trace_out_add(&json->out, "\":");
}

void trace_number(struct trace_json *json, const char *name, uint64_t value)
{
	trace_key(json, name);
	trace_out_number(&json->out, value);
}

void trace_text(struct trace_json *json, const char *name, const char *value)
{
	trace_key(json, name);
	trace_out_string(&json->out, value, strlen(value));
}

/* Microseconds with three decimals. */
static void moment(struct trace_json *json, const char *name, uint64_t ns)
{
	char decimals[] = ".000";
	for (unsigned i = 0, unit = 100; i < 3; i++, unit /= 10)
		decimals[i + 1] = (char)('0' + ns % 1000 / unit % 10);
	trace_number(json, name, ns / 1000);
	trace_out_add(&json->out, decimals);
}

void trace_line(struct trace_json *json, const char *phase, const char *name, const struct track *track, uint64_t ns)
{
	trace_out_add(&json->out, ",\n{\"ph\":\"");
	trace_out_add(&json->out, phase);
	trace_out_add(&json->out, "\",\"name\":");
	trace_out_string(&json->out, name, strlen(name));
	trace_number(json, "pid", (uint64_t)getpid());
	trace_number(json, "tid", track->number);
	moment(json, "ts", ns);
}

void trace_args(struct trace_json *json, const struct trace_event *event)
{
	trace_out_add(&json->out, ",\"args\":{\"n\":");
	trace_out_number(&json->out, json->written + (uint64_t)(event - json->events));
}

void trace_line_end(struct trace_json *json)
{
	trace_out_add(&json->out, "}}");
}

/* ---- slices -------------------------------------------------------------------------------------- */

static void args_of_slice(struct trace_json *json, const struct trace_event *event)
{
	trace_args(json, event);
	if (event->kind == TRACE_SLEEP && event->value != BIDE_NEVER)
		trace_number(json, "ns", (uint64_t)event->value);
	else if (event->kind == TRACE_POLL)
		trace_number(json, "events", (uint64_t)event->value);
	else if (event->kind == TRACE_TIMER)
		trace_number(json, "deadline", (uint64_t)event->value);
}

static bool tells_more(const char *state)
{
	return strcmp(state, "ready") != 0 && strncmp(state, "wait", 4) != 0;
}

/* The track's slice ends; only those that an event of the trace begins have its number. */
void trace_slice_end(struct trace_json *json, struct track *track, uint64_t ns)
{
	if (!track->state)
		return;
	trace_line(json, "X", track->state, track, track->since);
	moment(json, "dur", ns - track->since);
	if (track->fd >= 0) {
		trace_out_add(&json->out, ",\"args\":{\"fd\":");
		trace_out_number(&json->out, (uint64_t)track->fd);
		trace_out_add(&json->out, "}}");
	} else if (tells_more(track->state)) {
		args_of_slice(json, track->began);
		trace_line_end(json);
	} else {
		trace_out_add(&json->out, "}");
	}
	track->state = NULL;
}

void trace_slice(struct trace_json *json, struct track *track, const char *state)
{
	trace_slice_end(json, track, json->now);
	track->state = state;
	track->since = json->now;
	track->began = json->event;
	track->fd = -1;
}
