/* SPDX-License-Identifier: MIT
 * Layer io: descriptors that travel in messages. */
#ifndef IO_PASSING_H
#define IO_PASSING_H

#include <sys/socket.h>

struct loop;

/* A message was received: descriptors that came with it are new files, whatever the loop remembers of
 * their numbers. */
void passing_note(struct loop *loop, const struct msghdr *message);

#endif
