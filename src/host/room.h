/* SPDX-License-Identifier: MIT
 * Layer host: what the layer keeps of a loop, in LOOP_ROOM_HOST; made when it is first needed. */
#ifndef HOST_ROOM_H
#define HOST_ROOM_H

#include "await/record.h"
#include "host/pool.h"

struct host_room {
	struct loop *loop;
	bide_pool *pool;       /* the loop's own; NULL until it has a job */
	bide_pool *names;      /* for look-ups, which may take long */
	struct list offloads;  /* calls of tasks that wait for a job (offload.c) */
	struct list files;     /* calls on descriptors that a thread is using (file.c) */
	struct list listeners; /* handles of signals (signal.c) */
	struct list processes; /* children that were not reaped yet (process.c) */
};

/* NULL with ENOMEM. */
struct host_room *host_room(struct loop *loop);
/* One of the room's pools, made if need be; NULL with ENOMEM. */
bide_pool *host_pool(struct host_room *room, bide_pool **pool);

/* At the end of a run: no task will take the result of these calls. How many of their jobs still run. */
unsigned offloads_forsake(struct list *offloads);
/* And nobody waits for a signal any more. */
void listeners_close(struct loop *loop, struct list *listeners);
/* And nobody for a child. */
void processes_forget(struct loop *loop, struct list *processes);

#endif
