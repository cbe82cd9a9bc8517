/* SPDX-License-Identifier: MIT
 * Layer inspect: a trace as Chrome's trace viewer and ui.perfetto.dev read it: one line an event, in the "Trace
 * Event Format" (github.com/google/trace-viewer). Each ring is gone through twice: first to find the tasks and
 * their names, then to write. */
#include "inspect/trace_json.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/text.h"
#include "inspect/trace_lines.h"

#define HEAD "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
#define NOTHING HEAD "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"bide\"}}\n]}\n"

/* ---- a ring -------------------------------------------------------------------------------------- */

static void meet(struct trace_json *json, const struct trace_event *event, uint64_t task)
{
	struct track *track = tracks_get(&json->tracks, event->run, task);
	if (!track)
		json->err = ENOMEM;
	else if ((event->kind == TRACE_NAME || event->kind == TRACE_END) && task == event->task && *event->text)
		memcpy(track->name, event->text, sizeof track->name);
	else if (event->kind == TRACE_SPAWN && task == event->task)
		track->fn = event->object;
}

static void meet_all(struct trace_json *json, const struct trace_event *events, size_t count)
{
	for (size_t i = 0; i < count && !json->err; i++) {
		meet(json, &events[i], 0);
		meet(json, &events[i], events[i].task);
		if (events[i].kind != TRACE_STACK)
			meet(json, &events[i], events[i].by);
	}
}

/* Processors whose counters differ a little do not turn time back. */
static uint64_t ns_of(const struct trace_json *json, uint64_t cycles)
{
	const struct trace_scale *scale = &json->scale;
	__extension__ typedef unsigned __int128 wide;
	uint64_t since = cycles > scale->cycles ? cycles - scale->cycles : 0;
	uint64_t ns = (uint64_t)((wide)since * scale->ns / scale->elapsed);
	return ns > json->now ? ns : json->now;
}

static void end_slices(struct trace_json *json)
{
	for (size_t i = 0; i < json->tracks.capacity; i++)
		trace_slice_end(json, &json->tracks.all[i], json->now);
}

void trace_json_add(struct trace_json *json, const struct trace_event *events, size_t count, size_t names,
    uint64_t lost)
{
	if (!events)
		json->err = ENOMEM;
	else
		meet_all(json, events, count);
	if (json->err)
		return;
	json->lost += lost;
	json->now = 0;
	json->events = events;
	json->end = events + count;
	for (json->event = events + names; json->event < json->end; json->event++) {
		json->now = ns_of(json, json->event->cycles);
		trace_event_write(json);
	}
	end_slices(json);
	json->written += count;
}

/* ---- the file ------------------------------------------------------------------------------------ */

struct trace_json *trace_json_open(const char *path, const struct trace_scale *scale)
{
	struct trace_json *json = memory_alloc(&memory_default, sizeof *json);
	if (!json)
		return NULL;
	json->scale = *scale;
	json->path = path;
	if (trace_out_open(&json->out, path) < 0) {
		memory_free(&memory_default, json, sizeof *json);
		return NULL;
	}
	trace_out_add(&json->out, HEAD "{\"ph\":\"M\",\"name\":\"process_name\"");
	trace_number(json, "pid", (uint64_t)getpid());
	trace_out_add(&json->out, ",\"args\":{\"name\":");
	trace_out_string(&json->out, program_invocation_short_name, 64);
	trace_line_end(json);
	return json;
}

/* Its own, or that of what it calls, without the file. */
static void add_name(struct trace_json *json, const struct track *track, struct text *name)
{
	if (*track->name || track->fn)
		text_add(name, " ");
	if (*track->name || !track->fn) {
		text_add(name, track->name);
		return;
	}
	const char *place = trace_place(&json->places, (uintptr_t)track->fn);
	for (const char *end = strstr(place, " ("); place != end && *place; place++)
		text_add(name, (char[]){ *place, '\0' });
}

static void name_track(struct trace_json *json, const struct track *track)
{
	char label[24 + TRACE_TEXT_SIZE];
	struct text name;
	text_init(&name, label, sizeof label);
	if (track->task == 0)
		text_add(&name, "loop ");
	text_add_decimal(&name, track->task ? track->task : track->run);
	add_name(json, track, &name);
	trace_line(json, "M", "thread_name", track, 0);
	trace_out_add(&json->out, ",\"args\":{\"name\":");
	trace_out_string(&json->out, label, sizeof label);
	trace_line_end(json);
	trace_line(json, "M", "thread_sort_index", track, 0);
	trace_out_add(&json->out, ",\"args\":{\"sort_index\":");
	trace_out_number(&json->out, track->number);
	trace_line_end(json);
}

int trace_json_close(struct trace_json *json)
{
	int err = json->err;
	for (size_t i = 0; i < json->tracks.capacity; i++)
		if (json->tracks.all[i].number)
			name_track(json, &json->tracks.all[i]);
	trace_out_add(&json->out, "\n],\"otherData\":{\"lost\":");
	trace_out_number(&json->out, json->lost);
	trace_out_add(&json->out, "}}\n");
	if (trace_out_close(&json->out) < 0 && !err)
		err = errno;
	if (err)
		trace_json_empty(json->path);
	tracks_destroy(&json->tracks);
	memory_free(&memory_default, json, sizeof *json);
	return err ? fail_with(err) : 0;
}

static bool is_fifo(const char *path)
{
	struct stat status;
	return system_stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* Who reads a FIFO would take the end of an empty file for that of the trace. */
int trace_json_empty(const char *path)
{
	if (is_fifo(path))
		return system_access(path, W_OK);
	struct trace_out *out = memory_alloc(&memory_default, sizeof *out);
	if (!out)
		return -1;
	int result = trace_out_open(out, path), err = 0;
	if (result == 0) {
		trace_out_add(out, NOTHING);
		result = trace_out_close(out);
	}
	err = errno;
	memory_free(&memory_default, out, sizeof *out);
	return result < 0 ? fail_with(err) : 0;
}
