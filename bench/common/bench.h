/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the harness, which knows nothing of bide.
 *
 * METHOD. A program measures cases. Cases that are compared form a group and run in turn, A B C A B
 * C ..., after a warm-up, so that a machine that slows down slows all of them. A round takes several
 * samples of each case; a sample is the time of `count` operations divided by `count`, with count
 * chosen in the warm-up so that a sample lasts long against the clock. Reported are the median, the
 * least and the 99th percentile of the samples, the spread of the rounds' medians, and, where a
 * case names another one to be compared with, the median of the ratios taken round by round, with
 * the least and the greatest of them.
 *
 * No number makes a program fail: it exits 0 unless something did not work. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_NOINLINE __attribute__((noinline))

/* Moves the code that follows by n one-instruction steps: cases of a few nanoseconds depend on
 * where their loops lie, so those are compiled several times at different places. */
#define BENCH_PAD(n) __asm__ volatile(".rept " #n "\n\tnop\n\t.endr")

/* PROGRAM */

extern struct bench_options {
	bool quick;         /* at most 5 s in all: fewer rounds, shorter samples */
	bool json;          /* one object a line and nothing else on stdout */
	const char *record; /* a directory: everything measured is kept there, in PROGRAM.json; NULL: nowhere */
	const char *filter; /* run only cases whose name contains it; NULL: all */
	int rounds;
	int samples;        /* of a case in a round */
	int64_t sample_ns;  /* how long a sample lasts, about */
	int cpus;           /* that this process may use */
	int cpu[2];         /* the first two of them; the same one twice if there is only one */
} bench_options;

/* Reads the command line, pins the calling thread to cpu[0], prints the head. Ends the process for
 * --help (0), for bad arguments and in a build without optimisation (2). */
void bench_begin(int argc, char **argv, const char *name, const char *about);

/* Before bench_begin(): an option of the program's own, "--name NUMBER". */
void bench_option(const char *name, long *value, const char *about);

/* Prints what has been said about bars, and returns the status for main to return. */
int bench_end(void);

/* Whether --case lets a case of this name run. */
bool bench_wants(const char *case_name);

/* Whether round number `round` is to be run: until all have been, or, with --quick on a busy machine,
 * until `share` of the 5 s is gone and there have been two. */
bool bench_more_rounds(int round, double share);

/* A line for the reader; stderr with --json. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something did not work: says so and ends the process with 1. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* CLOCKS */

typedef enum bench_clock {
	BENCH_CPU,  /* the process's CPU time, all threads: blind to what else runs on the machine */
	BENCH_WALL, /* CLOCK_MONOTONIC: where time is spent waiting for another CPU */
	BENCH_NO_CLOCK /* for rows of something else than time */
} bench_clock;

int64_t bench_now(bench_clock clock);
void bench_pin(int cpu); /* the calling thread */

/* ROWS: one line of the report, fed by hand. bench_group() below does it for plain cases. */

typedef struct bench_row bench_row;

/* `vs`, which may be NULL, is the row this one is compared with. Names are copied. */
bench_row *bench_row_new(const char *name, const char *unit, bench_clock clock, bench_row *vs);
void bench_row_add(bench_row *row, double value); /* a sample of the current round */
void bench_row_end_round(bench_row *row);
void bench_row_print(bench_row *row); /* when it is complete */
void bench_discard(bool on); /* for a warm-up: samples and rounds do not count while it is on */
void bench_table_head(const char *title); /* before the first row of a table */

/* CASES */

typedef struct bench_case bench_case;
struct bench_case {
	const char *name;
	const char *vs; /* name of the case of the same group to compare with; NULL: none */

	/* Does `count` operations and returns the nanoseconds they took by self->clock; what it sets
	 * up before and takes down after stays out of them. */
	double (*run)(const bench_case *self, uint64_t count);
	bench_clock clock;
	uint64_t count; /* operations a sample; 0: chosen in the warm-up */
	int number;     /* run()'s own */
	const void *arg;

	unsigned turn;  /* set by the harness: counts the calls, for code that exists in several places */
	bench_row *row; /* set by the harness */
};

/* Measures cases in turn and prints a table of them; values are nanoseconds an operation. */
void bench_group(const char *title, bench_case *cases, size_t count);

/* BARS: what was promised of a row, judged in bench_end(). A row that was not measured is passed
 * over. `name` is the row's. */

typedef enum bench_bar_kind {
	BENCH_MEDIAN_AT_MOST,
	BENCH_RATIO_AT_MOST,
	BENCH_RATIO_AT_LEAST
} bench_bar_kind;

void bench_bar(const char *name, bench_bar_kind kind, double limit);

#ifdef __cplusplus
}
#endif

#endif
