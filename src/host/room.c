/* SPDX-License-Identifier: MIT
 * Layer host: its room in the loop, and what becomes of it when the run ends. */
#include "host/room.h"

static void report(struct run *run, unsigned jobs)
{
	run_report(run, BIDE_REPORT_LEFTOVER, "%u job%s ran on beyond the shutdown grace; %s and the memory stay",
	    jobs, jobs == 1 ? "" : "s", jobs == 1 ? "its thread" : "their threads");
}

/* First the loop's own threads have what is left of the grace. A job that runs on for a task may use its
 * stack; one that was abandoned does not. */
static unsigned end(struct run *run, bide_time until)
{
	struct host_room *room = run->loop.rooms[LOOP_ROOM_HOST];
	listeners_close(&run->loop, &room->listeners);
	processes_forget(&run->loop, &room->processes);
	unsigned running = room->pool ? pool_close(room->pool, until) : 0;
	running += room->names ? pool_close(room->names, until) : 0;
	unsigned forsaken = offloads_forsake(&room->offloads);
	run->loop.keeps_stacks = forsaken > 0;
	if (forsaken > running) /* in pools that go on */
		running = forsaken;
	if (running > 0)
		report(run, running);
	run->loop.rooms[LOOP_ROOM_HOST] = NULL;
	memory_free(run->loop.memory, room, sizeof *room);
	return running;
}

static const struct host_hooks hooks = { end };

struct host_room *host_room(struct loop *loop)
{
	struct host_room *room = loop->rooms[LOOP_ROOM_HOST];
	if (room)
		return room;
	room = memory_alloc(loop->memory, sizeof *room);
	if (!room)
		return NULL;
	room->loop = loop;
	list_init(&room->offloads);
	list_init(&room->files);
	list_init(&room->listeners);
	list_init(&room->processes);
	loop->rooms[LOOP_ROOM_HOST] = room;
	run_of(loop)->host = &hooks;
	return room;
}

bide_pool *host_pool(struct host_room *room, bide_pool **pool)
{
	if (!*pool) {
		bide_pool_attr attr = BIDE_POOL_ATTR_INIT;
		attr.threads = run_of(room->loop)->config.offload_threads;
		*pool = bide_pool_new(&attr);
	}
	return *pool;
}
