/* SPDX-License-Identifier: MIT
 * Layer inspect: figures in Prometheus' text format, version 0.0.4: a HELP and a TYPE line for each family,
 * then its samples. No number goes through the locale, and no text needs an escape. */
#include "inspect/stats.h"

#include <errno.h>
#include <stdarg.h>

#include "base/fail.h"
#include "sched/loop.h"

#include <bide/many.h>

#define VARIANTS_MAX 3

struct variant {
	const char *value; /* of the family's label; NULL: no further variant */
	size_t offset;     /* of an integer of 8 bytes in bide_stats */
};

struct family {
	const char *name;
	const char *type;
	const char *help;
	const char *label; /* NULL: one sample a loop, that of variants[0] */
	struct variant variants[VARIANTS_MAX];
};

#define FIELD(field) offsetof(bide_stats, field)
#define COUNTER(name, field, help) { "bide_" name "_total", "counter", help, NULL, { { NULL, FIELD(field) } } }
#define GAUGE(name, field, help) { "bide_" name, "gauge", help, NULL, { { NULL, FIELD(field) } } }
#define HISTOGRAM(name, field, help) { "bide_" name, "histogram", help, NULL, { { NULL, FIELD(field) } } }

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "fields of both types are read alike");

static const struct family families[] = {
	{ "bide_tasks", "gauge", "Tasks that have not ended, by state.", "state",
	    { { "created", FIELD(tasks_created) }, { "ready", FIELD(tasks_ready) },
	    { "suspended", FIELD(tasks_suspended) } } },
	COUNTER("tasks_spawned", tasks_spawned, "Tasks spawned."),
	COUNTER("tasks_ended", tasks_ended, "Tasks ended."),
	COUNTER("turns", turns, "Turns of the loop."),
	COUNTER("switches", switches, "Switches to tasks and callbacks."),
	COUNTER("parks", parks, "Times that a task began to wait."),
	COUNTER("looks", looks, "Looks at descriptors, timers and posts between turns."),
	COUNTER("sleeps", sleeps, "Sleeps in the kernel while nothing was ready."),
	COUNTER("polls", polls, "Calls of epoll_wait."),
	COUNTER("events", events, "Events of descriptors."),
	COUNTER("posts", posts, "Posts of other threads that were run."),
	COUNTER("timers_armed", timers_armed, "Timers armed, those of sleeps and deadlines included."),
	COUNTER("timers_fired", timers_fired, "Timers fired."),
	GAUGE("timers", timers_pending, "Timers that are armed."),
	GAUGE("descriptor_waits", descriptor_waits, "Tasks that wait for a descriptor."),
	COUNTER("jobs", jobs, "Jobs given to other threads."),
	GAUGE("jobs_pending", jobs_pending, "Jobs of other threads that are not back."),
	COUNTER("slow_slices", slow_slices, "Slices that took longer than is allowed, where that is watched."),
	{ "bide_stacks", "gauge", "Stacks: in use, kept with their pages, and kept as address space only.", "state",
	    { { "in_use", FIELD(stacks_in_use) }, { "warm", FIELD(stacks_warm) }, { "cold", FIELD(stacks_cold) } } },
	GAUGE("stack_bytes", stack_bytes, "Address space of stacks, guards included."),
	HISTOGRAM("timer_lag_seconds", timer_lag, "How late timers fired."),
	HISTOGRAM("look_gap_seconds", look_gap, "From one look of the loop to the next, sleep excluded."),
};

/* ---- one line ---------------------------------------------------------------------------------- */

struct page {
	FILE *out;
	bool has_failed;
};

/* A text is made here and not by fprintf(), which needs 10 KiB of stack for an unbuffered stream. */
__attribute__((format(printf, 2, 3))) static void say(struct page *page, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	page->has_failed |= fputs(text, page->out) == EOF;
}

/* Seconds, exactly. */
struct decimal {
	char text[40];
};

static struct decimal seconds(uint64_t ns)
{
	struct decimal decimal;
	snprintf(decimal.text, sizeof decimal.text, "%llu.%09llu", (unsigned long long)(ns / BIDE_SEC),
	    (unsigned long long)(ns % BIDE_SEC));
	return decimal;
}

/* ---- samples ----------------------------------------------------------------------------------- */

static uint64_t value_at(const bide_stats *stats, size_t offset)
{
	return *(const uint64_t *)((const char *)stats + offset);
}

static void write_histogram(struct page *page, const char *name, unsigned loop, const bide_histogram *histogram)
{
	uint64_t so_far = 0;
	for (unsigned i = 0; i < BIDE_HISTOGRAM_COUNTS - 1; i++) {
		so_far += histogram->counts[i];
		say(page, "%s_bucket{loop=\"%u\",le=\"%u.%06u\"} %llu\n", name, loop, (1u << i) / 1000000,
		    (1u << i) % 1000000, (unsigned long long)so_far);
	}
	say(page, "%s_bucket{loop=\"%u\",le=\"+Inf\"} %llu\n", name, loop, (unsigned long long)histogram->total);
	say(page, "%s_sum{loop=\"%u\"} %s\n", name, loop, seconds(histogram->sum_ns).text);
	say(page, "%s_count{loop=\"%u\"} %llu\n", name, loop, (unsigned long long)histogram->total);
}

static void write_samples(struct page *page, const struct family *family, unsigned loop, const bide_stats *stats)
{
	if (family->type[0] == 'h') {
		write_histogram(page, family->name, loop, (const void *)((const char *)stats + family->variants[0].offset));
	} else if (!family->label) {
		say(page, "%s{loop=\"%u\"} %llu\n", family->name, loop,
		    (unsigned long long)value_at(stats, family->variants[0].offset));
	} else {
		for (int i = 0; i < VARIANTS_MAX && family->variants[i].value; i++)
			say(page, "%s{loop=\"%u\",%s=\"%s\"} %llu\n", family->name, loop, family->label,
			    family->variants[i].value, (unsigned long long)value_at(stats, family->variants[i].offset));
	}
}

/* How long the loop has not looked: of now, and so no field of its figures. */
static void write_busy(struct page *page, unsigned loop, const bide_stats *stats)
{
	bide_time now = clock_monotonic(), since = stats->busy_since;
	say(page, "bide_busy_seconds{loop=\"%u\"} %s\n", loop,
	    seconds(since && now > since ? (uint64_t)(now - since) : 0).text);
}

static void begin_family(struct page *page, const char *name, const char *type, const char *help)
{
	say(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* ---- the page ---------------------------------------------------------------------------------- */

struct sources {
	bide_loop *const *loops;
	unsigned count;
	unsigned first; /* the number of loops[0] */
};

/* Figures are read anew for each family, so that no memory is needed for those of many loops; of one that ends
 * meanwhile the rest is missing. */
static void each_loop(struct page *page, const struct sources *sources, const struct family *family)
{
	bide_stats stats;
	for (unsigned i = 0; i < sources->count; i++) {
		if (!sources->loops[i] || stats_read(sources->loops[i], &stats) < 0)
			continue;
		if (family)
			write_samples(page, family, sources->first + i, &stats);
		else
			write_busy(page, sources->first + i, &stats);
	}
}

static bool any_runs(const struct sources *sources)
{
	bide_stats stats;
	for (unsigned i = 0; i < sources->count; i++)
		if (sources->loops[i] && stats_read(sources->loops[i], &stats) == 0)
			return true;
	return false;
}

static int write_page(FILE *out, const struct sources *sources)
{
	struct page page = { .out = out };
	int saved = errno;
	if (!any_runs(sources))
		return fail_with(ESHUTDOWN);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		begin_family(&page, families[i].name, families[i].type, families[i].help);
		each_loop(&page, sources, &families[i]);
	}
	begin_family(&page, "bide_busy_seconds", "gauge", "How long ago the loop last looked; 0 while it sleeps.");
	each_loop(&page, sources, NULL);
	if (page.has_failed)
		return -1;
	errno = saved;
	return 0;
}

int bide_stats_write(FILE *out, bide_loop *const loops[], unsigned count)
{
	if (!out || (!loops && count > 0))
		return fail_with(EINVAL);
	if (count > 0)
		return write_page(out, &(struct sources){ loops, count, 0 });
	if (!loop_current)
		return fail_with(EPERM);
	return write_page(out, &(struct sources){ &loop_current->handle, 1, (unsigned)bide_loop_number() });
}
