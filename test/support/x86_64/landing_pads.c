/* SPDX-License-Identifier: MIT
 * See landing_pads.h. Linux has no indirect branch tracking for programs. */
#include "landing_pads.h"

bool landing_pads_enforce(void)
{
	return false;
}

void landing_pads_miss(void *unused)
{
	(void)unused;
}
