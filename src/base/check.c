/* SPDX-License-Identifier: MIT
 * Layer base: what happens when an invariant is broken. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *file, int line, const char *rule)
{
	fprintf(stderr, "bide: internal error: %s (%s:%d)\n", rule, file, line);
	abort();
}
