/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: programs in other languages, written to a temporary directory and run. Each
 * prints what the kernel says of it, per task, as a line of figures. */
#ifndef BENCH_SCRIPTS_H
#define BENCH_SCRIPTS_H

#include <stdbool.h>

typedef struct script_result {
	double resident, page_tables; /* bytes a task */
	double park, wake;            /* ns a task, of CPU time */
} script_result;

/* Why it cannot be run here; NULL if it can. */
const char *script_missing_go(void);
const char *script_missing_asyncio(void);

/* Parks `count` goroutines, or asyncio tasks, in a sleep, and wakes and awaits them all. Ends the process
 * if that fails. */
script_result script_go(long count);
script_result script_asyncio(long count);

/* Whether a shell command succeeds; it prints nothing. */
bool script_works(const char *command);
/* Writes a file of this text; ends the process if that fails. */
void script_write(const char *directory, const char *name, const char *text);

#endif
