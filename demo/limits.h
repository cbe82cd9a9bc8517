/* SPDX-License-Identifier: MIT
 * Demo: how many connections this machine lets two servers and two clients have. */
#ifndef DEMO_LIMITS_H
#define DEMO_LIMITS_H

#include <stddef.h>

/* As many as wanted; or fewer, and what stands in the way of more, else "". */
unsigned limits_connections(unsigned wanted, char *reason, size_t size);

/* Sets our soft limit of descriptors to what `connections` take, and returns it. */
unsigned limits_set_descriptors(unsigned connections);

#endif
