/* SPDX-License-Identifier: MIT
 * Demo: how long replies took, each of them kept, so that percentiles are exact. */
#ifndef DEMO_LATENCY_H
#define DEMO_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void latency_clear(void);
bool latency_add(int64_t ns); /* false: no memory */
size_t latency_count(void);
double latency_percentile(double part); /* seconds; part 0.99: of 100, 99 were not longer */

#endif
