/* SPDX-License-Identifier: MIT
 * Landing pads, where the processor can be made to insist on them. */
#ifndef SUPPORT_LANDING_PADS_H
#define SUPPORT_LANDING_PADS_H

#include <stdbool.h>

/* From now on, and until exit handlers run, an indirect jump or call into this program's own code that
 * meets no landing pad is a fault. False where the processor or the system cannot do it. Shared libraries
 * need not have been built with landing pads; what is linked in must have been. */
bool landing_pads_enforce(void);

/* Jumps to where there is none. */
void landing_pads_miss(void *unused);

#endif
