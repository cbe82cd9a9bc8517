/* SPDX-License-Identifier: MIT
 * Layer io: connecting to a host that has several addresses ("happy eyeballs", RFC 8305). */
#ifndef IO_DIAL_H
#define IO_DIAL_H

#include "io/address.h"

/* How long an attempt is given before the next one begins beside it (RFC 8305, section 5). */
#define DIAL_STAGGER (250 * BIDE_MSEC)

/* Connects to the first of addresses[0 .. count-1] that can be connected to; they are reordered, so that
 * the families take turns. A socket, or -1 with the errno of the last to fail; no other one stays open,
 * however it ends. [S] */
int dial_any(struct address *addresses, int count);

#endif
