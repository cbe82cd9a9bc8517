/* SPDX-License-Identifier: MIT
 * Layer await: the figures of a loop that are not counted on its board are copied there. */
#ifndef AWAIT_FIGURES_H
#define AWAIT_FIGURES_H

#include "await/record.h"

/* loop.publish */
void figures_publish(struct loop *loop);

#endif
