/* SPDX-License-Identifier: MIT
 * Layer await: what is left when a loop ends. See leaks.h. */
#include "await/leaks.h"

#include <string.h>

#include "await/run.h"
#include "await/tower.h"
#include "base/place.h"
#include "base/system.h"
#include "base/text.h"
#include "stack/frames.h"

#define TOLD 16 /* of each kind; the others are counted */

/* ---- descriptors ----------------------------------------------------------------------------------------- */

/* Where the program called the library: behind the outermost of its functions that are there by name; NULL: there
 * is none. */
static const char *calling_place(const struct registration *note, char place[PLACE_SIZE])
{
	uintptr_t call = 0;
	for (int i = 0; i + 1 < note->frame_count; i++)
		if (strncmp(place_of(note->frames[i], place), "bide_", 5) == 0)
			call = note->frames[i + 1];
	return call ? place_of(call, place) : NULL;
}

/* The block, or a larger one in its place, with room for `count` of them, of which *room are there; what is new is zero.
 * NULL without memory: the block stays. */
static void *with_room(const struct memory *memory, void *block, size_t size, size_t *room, size_t count)
{
	size_t wanted = *room ? *room : 16;
	while (wanted < count)
		wanted *= 2;
	if (wanted == *room)
		return block;
	void *more = memory_resize(memory, block, *room * size, wanted * size);
	if (more)
		*room = wanted;
	return more;
}

static bool make_room(struct leaks *leaks, const struct memory *memory, int fd)
{
	void *numbers = with_room(memory, leaks->numbers, sizeof *leaks->numbers, &leaks->fds, (size_t)fd + 1);
	if (!numbers)
		return false;
	leaks->numbers = numbers;
	void *all = with_room(memory, leaks->registrations, sizeof *leaks->registrations, &leaks->room, leaks->count + 1);
	if (all)
		leaks->registrations = all;
	return all != NULL;
}

/* Where there is no memory, this one goes unnoticed. */
static struct registration *note_for(struct run *run, int fd)
{
	struct leaks *leaks = &run->leaks;
	if (!make_room(leaks, run->loop.memory, fd))
		return NULL;
	if (!leaks->numbers[fd])
		leaks->numbers[fd] = (unsigned)++leaks->count;
	return &leaks->registrations[leaks->numbers[fd] - 1];
}

static void registered(struct loop *loop, int fd, unsigned number)
{
	struct run *run = run_of(loop);
	int saved = errno;
	struct registration *note = loop->running ? note_for(run, fd) : NULL;
	if (note) {
		*note = (struct registration){ fd, number, await_task_of(loop->running)->spawn_site, 0, { 0 } };
		note->frame_count = frames_here(note->frames, REGISTRATION_FRAMES);
	}
	errno = saved;
}

static bool is_left(const struct run *run, const struct registration *note)
{
	const struct descriptor *descriptor = descriptor_find(&run->loop.descriptors, note->fd);
	return note->fd > STDERR_FILENO && descriptor && descriptor->is_registered &&
	    descriptor->registration == note->number && system_fcntl(note->fd, F_GETFD, 0) >= 0;
}

static void report_descriptor(struct run *run, const struct registration *note)
{
	char room[PLACE_SIZE], site[PLACE_SIZE];
	place_of_call(note->spawn_site, site);
	const char *call = calling_place(note, room);
	run_report(run, BIDE_REPORT_LEAK, "descriptor %d was not closed by bide_close(); first waited for%s%s by a task "
	    "spawned at %s", note->fd, call ? " at " : "", call ? call : "", site);
}

static void report_rest(struct run *run, size_t count, const char *what)
{
	if (count > TOLD)
		run_report(run, BIDE_REPORT_LEAK, "and %zu more %s", count - TOLD, what);
}

static void report_descriptors(struct run *run)
{
	size_t left = 0;
	for (size_t i = 0; i < run->leaks.count; i++)
		if (is_left(run, &run->leaks.registrations[i]) && left++ < TOLD)
			report_descriptor(run, &run->leaks.registrations[i]);
	report_rest(run, left, "descriptors");
}

/* ---- timers, coroutines ------------------------------------------------------------------------------------ */

struct timers_left {
	struct run *run;
	size_t count;
};

#define LENGTH_SIZE 32

/* To the nearest millisecond. */
static const char *time_until(bide_time deadline, bide_time now, char *room)
{
	struct text text;
	uint64_t left = deadline > now ? (uint64_t)(deadline - now) : 0;
	text_init(&text, room, LENGTH_SIZE);
	text_add_seconds(&text, left + BIDE_MSEC / 2, 3);
	return room;
}

static void report_timer(bide_time deadline, const void *site, void *arg)
{
	struct timers_left *left = arg;
	char place[PLACE_SIZE], length[LENGTH_SIZE];
	if (left->count++ >= TOLD)
		return;
	if (deadline == BIDE_NEVER)
		run_report(left->run, BIDE_REPORT_LEAK, "a timer is still armed, for never; armed at %s",
		    place_of_call(site, place));
	else
		run_report(left->run, BIDE_REPORT_LEAK, "a timer is still armed, for %s s from now; armed at %s",
		    time_until(deadline, loop_now(&left->run->loop), length), place_of_call(site, place));
}

static void report_timers(struct run *run)
{
	struct timers_left left = { run, 0 };
	timers_each_armed(run, report_timer, &left);
	report_rest(run, left.count, "timers");
}

static void report_coros(struct run *run)
{
	const void *sites[TOLD];
	char place[PLACE_SIZE];
	size_t count = coros_left_by(run, sites, TOLD);
	for (size_t i = 0; i < count && i < TOLD; i++)
		run_report(run, BIDE_REPORT_LEAK, "a coroutine was never closed, and keeps its stack; made at %s",
		    place_of_call(sites[i], place));
	report_rest(run, count, "coroutines");
}

/* ---- both ends ----------------------------------------------------------------------------------------------- */

void leaks_begin(struct run *run)
{
	run->loop.registered = registered;
}

void leaks_end(struct run *run)
{
	struct leaks *leaks = &run->leaks;
	if (!run->loop.registered)
		return;
	report_timers(run);
	report_descriptors(run);
	report_coros(run);
	memory_free(run->loop.memory, leaks->registrations, leaks->room * sizeof *leaks->registrations);
	memory_free(run->loop.memory, leaks->numbers, leaks->fds * sizeof *leaks->numbers);
	*leaks = (struct leaks){ .count = 0 };
}
