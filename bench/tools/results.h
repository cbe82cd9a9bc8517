/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the file of one run of all programs, {"versions":{...},"programs":[...]}, whose
 * programs are what bench_record() writes. */
#ifndef REPORT_RESULTS_H
#define REPORT_RESULTS_H

#include <stdbool.h>

#include "json.h"

#define ROUNDS_MAX 64

/* Ends the process with a message if the file cannot be read, or is not such a one. */
json *results_read(const char *path);

/* The same row in another file; NULL. */
const json *results_find(const json *results, const char *bench, const json *row);

/* A row of this name measures something else than bide. */
bool results_is_rival(const char *name);

/* The row that `row` is compared with; NULL. */
const json *results_rival(const json *program, const json *row);

/* The medians of its rounds, or of the ratios taken round by round to `rival`. How many. */
int results_rounds(const json *row, const json *rival, double rounds[ROUNDS_MAX]);

double results_median(const double *values, int count);

/* About four digits, never as a power of ten. Returns `text`. */
#define NUMBER_SIZE 32
const char *results_number(double value, char text[NUMBER_SIZE]);

#endif
