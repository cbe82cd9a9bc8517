/* SPDX-License-Identifier: MIT
 * Layer host: what is kept of a child process; made by spawn.c, waited for by process.c. */
#ifndef HOST_PROCESS_H
#define HOST_PROCESS_H

#include <signal.h>
#include <sys/wait.h>

#include "host/room.h"

struct process {
	struct link link;   /* in the room's processes, until it is reaped */
	pid_t pid;
	int fd;             /* readable at its end; -1: none yet, or no more */
	unsigned users;     /* calls that wait for it */
	bool is_ours;       /* it was started by bide_proc_spawn(): the record stays until it is reaped */
	bool kills;         /* BIDE_PROC_KILL */
	bide_time grace;
	bool has_ended;     /* with this status, as waitpid() has it, or this errno */
	int status;
	int err;
};

/* In the room's list; NULL with ENOMEM. */
struct process *process_new(struct host_room *room, pid_t pid);
void process_free(struct loop *loop, struct process *process);

#endif
