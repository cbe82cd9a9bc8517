/* SPDX-License-Identifier: MIT
 * Demo: what is printed at the end. */
#ifndef DEMO_RESULTS_H
#define DEMO_RESULTS_H

#include "side.h"

void results_print(const struct side *bide, const struct side *threads, double kernel_stack,
		   unsigned active);
void results_print_summary(const struct side *bide, const struct side *threads, double seconds);

#endif
