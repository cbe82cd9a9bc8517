/* SPDX-License-Identifier: MIT
 * Layer inspect: when a trace begins and ends, and which loops take part. There is one at a time in the process,
 * a session. Its number is what a loop's thread compares at each note: so a session ends for all loops at once,
 * and each lets go of its ring on its own thread. */
#include "inspect/trace.h"

#include <bide/trace.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "await/record.h"
#include "base/fail.h"
#include "base/locks.h"
#include "base/modules.h"
#include "base/system.h"
#include "base/text.h"
#include "base/writer.h"
#include "inspect/trace_json.h"

#define EVENTS_DEFAULT ((size_t)1 << 16)
#define EVENTS_LEAST ((size_t)1 << 6)
#define EVENTS_MOST ((size_t)1 << 24)

atomic_uint trace_session;

/* Under LOCK_TRACE. */
static struct {
	struct trace *all;
	char path[PATH_MAX];
	pid_t process;        /* whose session, or whose past, it is; 0: there was none */
	bool was_asked;       /* the environment, in this process */
	bool is_at_exit;      /* bide_trace_stop() is, in this process and those it forks */
	unsigned sessions;
	uint32_t runs;
	uint64_t cycles;      /* at its beginning */
	bide_time ns;
} session;

/* ---- rings --------------------------------------------------------------------------------------- */

/* BIDE_TRACE_EVENTS as a power of two. */
static size_t slots_wanted(void)
{
	const char *text = getenv("BIDE_TRACE_EVENTS");
	unsigned long long wanted = text ? strtoull(text, NULL, 10) : 0;
	size_t slots = EVENTS_LEAST;
	if (!wanted)
		return EVENTS_DEFAULT;
	while (slots < wanted && slots < EVENTS_MOST)
		slots *= 2;
	return slots;
}

static struct trace *trace_new(void)
{
	struct trace *trace = memory_alloc(&memory_default, sizeof *trace);
	if (!trace)
		return NULL;
	if (trace_ring_init(&trace->ring, slots_wanted()) < 0) {
		memory_free(&memory_default, trace, sizeof *trace);
		return NULL;
	}
	trace->session = atomic_load(&trace_session);
	trace->next = session.all;
	session.all = trace;
	return trace;
}

static void trace_free(struct trace *trace)
{
	struct trace **at = &session.all;
	while (*at != trace)
		at = &(*at)->next;
	*at = trace->next;
	trace_ring_destroy(&trace->ring);
	memory_free(&memory_default, trace, sizeof *trace);
}

/* What a loop still has, it frees itself when it finds the session over. */
static void free_idle(void)
{
	struct trace *next;
	for (struct trace *trace = session.all; trace; trace = next) {
		next = trace->next;
		if (!trace->loop)
			trace_free(trace);
	}
}

static struct trace *find_idle(void)
{
	struct trace *trace = session.all;
	while (trace && (trace->loop || trace->session != atomic_load(&trace_session)))
		trace = trace->next;
	return trace;
}

/* The loop is this thread's. 0, or -1 with ENOMEM. */
static int attach(struct loop *loop)
{
	struct trace *trace = find_idle();
	if (!trace)
		trace = trace_new();
	if (!trace)
		return -1;
	trace->loop = loop;
	trace->run = ++session.runs;
	trace_listen(trace);
	return 0;
}

/* A ring that is still the session's stays for the next loop, and to be written. */
static void detach(struct trace *trace)
{
	trace->loop->tracer = NULL;
	trace->loop = NULL;
	if (trace->session != atomic_load(&trace_session))
		trace_free(trace);
}

void trace_expire(struct trace *trace)
{
	lock_take(LOCK_TRACE);
	detach(trace);
	lock_release(LOCK_TRACE);
}

static struct trace *trace_of(const struct loop *loop)
{
	return loop && loop->tracer ? container_of(loop->tracer, struct trace, tracer) : NULL;
}

/* In a forked process: what there is is the parent's, whose loops are let lie. */
static void forget_parent(void)
{
	if (session.process == getpid())
		return;
	atomic_store(&trace_session, 0);
	while (session.all)
		trace_free(session.all);
	session.was_asked = false;
}

/* ---- writing ------------------------------------------------------------------------------------- */

struct names {
	struct trace_event *events;
	size_t count, room;
};

static void take_name(void *record, void *arg)
{
	struct names *names = arg;
	const struct await_task *task = record;
	if (!record_is_live(task) || !*annex_peek(task)->name || names->count == names->room)
		return;
	struct trace_event *event = &names->events[names->count++];
	*event = (struct trace_event){ .task = task->id, .kind = TRACE_NAME };
	memcpy(event->text, annex_peek(task)->name, TRACE_TEXT_SIZE - 1);
}

/* Names of tasks that live may have been overwritten; those of the calling thread's loop can be asked. */
static void add_trace(struct trace_json *json, struct trace *trace)
{
	const struct loop *own = trace->loop == loop_current ? trace->loop : NULL;
	size_t room = trace_ring_room(&trace->ring), named = own ? own->tasks.live : 0;
	struct names names = { memory_alloc_raw(&memory_default, (room + named) * sizeof *names.events), 0, named };
	uint64_t lost = 0;
	if (names.events && own)
		slab_each(&own->tasks, take_name, &names);
	for (size_t i = 0; i < names.count; i++)
		names.events[i].run = trace->run;
	size_t count = names.events ? trace_ring_copy(&trace->ring, names.events + names.count, &lost) : 0;
	trace_json_add(json, names.events, names.count + count, names.count, lost);
	memory_free(&memory_default, names.events, (room + named) * sizeof *names.events);
}

static int write_out(unsigned number)
{
	uint64_t elapsed = context_cycles() - session.cycles;
	bide_time ns = clock_monotonic() - session.ns;
	struct trace_scale scale = { session.cycles, elapsed ? elapsed : 1, (uint64_t)ns };
	struct trace_json *json = trace_json_open(session.path, &scale);
	if (!json)
		return -1;
	modules_note();
	for (struct trace *trace = session.all; trace; trace = trace->next)
		if (trace->session == number)
			add_trace(json, trace);
	return trace_json_close(json);
}

static int stop(void)
{
	unsigned number = atomic_load(&trace_session);
	if (!number || session.process != getpid())
		return fail_with(EINVAL);
	atomic_store(&trace_session, 0);
	int result = write_out(number), err = errno;
	struct trace *own = trace_of(loop_current);
	if (own)
		detach(own);
	free_idle();
	return result < 0 ? fail_with(err) : 0;
}

/* ---- beginning ----------------------------------------------------------------------------------- */

/* Of the directory of now: the program may be in another one when the file is written. */
static int begin_path(struct text *text, const char *from)
{
	text_init(text, session.path, sizeof session.path);
	if (*from == '/')
		return 0;
	if (!getcwd(session.path, sizeof session.path))
		return fail_with(errno == ERANGE ? ENAMETOOLONG : errno);
	text->at += strlen(session.path);
	text_add(text, "/");
	return 0;
}

static int expand_path(const char *from)
{
	struct text text;
	if (begin_path(&text, from) < 0)
		return -1;
	for (; *from; from++) {
		if (text.at == text.end)
			return fail_with(ENAMETOOLONG);
		if (from[0] == '%' && from[1] == 'p') {
			text_add_decimal(&text, (uint64_t)getpid());
			from++;
		} else {
			text_add(&text, (char[]){ *from, '\0' });
		}
	}
	return 0;
}

static void at_exit(void);

static int start(const char *path)
{
	if (atomic_load(&trace_session))
		return fail_with(EALREADY);
	if (expand_path(path) < 0 || trace_json_empty(session.path) < 0)
		return -1;
	if (!session.is_at_exit && atexit(at_exit) != 0)
		return fail_with(ENOMEM);
	session.is_at_exit = true;
	session.process = getpid();
	session.runs = 0;
	session.cycles = context_cycles();
	session.ns = clock_monotonic();
	if (++session.sessions == 0)
		session.sessions = 1;
	atomic_store(&trace_session, session.sessions);
	return 0;
}

static void complain(const char *path, int err)
{
	const char *const words[] = { "bide: no trace in ", path, ": ", strerror(err), "\n" };
	struct writer writer;
	writer_to_fd(&writer, STDERR_FILENO, OUTPUT_PATIENCE);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		writer_add(&writer, words[i]);
	writer_flush(&writer);
}

/* Once in a process. */
static void ask_environment(void)
{
	const char *path = getenv("BIDE_TRACE");
	bool is_child = session.process && session.process != getpid();
	if (session.was_asked)
		return;
	session.was_asked = true;
	session.process = getpid();
	if (!path || !*path || (is_child && !strstr(path, "%p")))
		return;
	if (start(path) < 0 && errno != EALREADY)
		complain(path, errno);
}

int bide_trace_start(const char *path)
{
	if (!path || !*path)
		return fail_with(EINVAL);
	lock_take(LOCK_TRACE);
	forget_parent();
	int result = start(path);
	if (result == 0 && loop_current && attach(loop_current) < 0) {
		atomic_store(&trace_session, 0);
		result = -1;
	}
	lock_release(LOCK_TRACE);
	return result;
}

int bide_trace_stop(void)
{
	lock_take(LOCK_TRACE);
	int result = stop();
	lock_release(LOCK_TRACE);
	return result;
}

static void at_exit(void)
{
	if (bide_trace_stop() < 0 && errno != EINVAL)
		complain(session.path, errno);
}

/* ---- runs ---------------------------------------------------------------------------------------- */

void trace_loop_begins(struct loop *loop)
{
	lock_take(LOCK_TRACE);
	forget_parent();
	ask_environment();
	if (atomic_load(&trace_session) && attach(loop) < 0)
		complain(session.path, errno);
	lock_release(LOCK_TRACE);
}

void trace_loop_ends(struct loop *loop)
{
	struct trace *trace = trace_of(loop);
	if (trace)
		trace_expire(trace);
}
