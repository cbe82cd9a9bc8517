/* SPDX-License-Identifier: MIT
 * A strict reader of Prometheus' text format, version 0.0.4: fails the test at whatever a scraper could trip on. */
#ifndef SUPPORT_PROMETHEUS_H
#define SUPPORT_PROMETHEUS_H

#include <stdbool.h>
#include <stddef.h>

#define SAMPLE_LABELS 3

struct sample {
	char name[64];
	char labels[SAMPLE_LABELS][2][32]; /* name and value, unescaped */
	int label_count;
	double value;
	int family;
};

struct family {
	char name[64];
	char type[16];
};

struct page {
	struct family families[64];
	int family_count;
	struct sample samples[1024];
	int sample_count;
};

/* The page must be well-formed: every family has HELP and TYPE once, before its samples, which stand together;
 * counters end in _total; no two samples have the same name and labels; histograms are cumulative, with bounds
 * that rise to +Inf, where the count is. */
void page_read(struct page *page, const char *text);

/* The value of the sample `name` whose first label is loop="number" and, unless NULL, whose second one has the
 * value `variant`; fails the test if there is none. */
double page_value(const struct page *page, const char *name, int number, const char *variant);
bool page_has_loop(const struct page *page, int number);

#endif
