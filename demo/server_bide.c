/* SPDX-License-Identifier: MIT
 * Demo: the chat server, with bide. One thread, and a task for each member of the room.
 *
 * Read it as if each task had the thread to itself: a call that must wait parks the task, and others
 * run. Between two such calls nothing else runs at all, so the room needs no lock. Compare
 * server_threads.c, which does the same job. */
#include <bide.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "protocol.h"
#include "server.h"

/* What is known of each descriptor. A member is WRITING while its own task is in the middle of a
 * reply that its socket had no room for: another line would land inside that one. */
enum { ABSENT, READING, WRITING };
static unsigned char *room;
static int room_size, members;

/* The next line, or NULL when the member has gone or sends one that is too long. */
static char *read_line(int fd, struct lines *in, size_t *size)
{
	char *line;

	while (!(line = lines_next(in, size))) {
		size_t space;
		char *end = lines_space(in, &space);
		ssize_t got = end ? bide_recv(fd, end, space, 0) : 0;
		if (got <= 0)
			return NULL;
		in->end += (size_t)got;
	}
	return line;
}

static bool reply(int fd, const char *line, size_t size)
{
	char answer[ANSWER_SIZE_MAX];
	ssize_t answer_size = (ssize_t)make_answer(answer, ECHO, line, size);

	room[fd] = WRITING;
	ssize_t sent = bide_write_all(fd, answer, (size_t)answer_size, NULL);
	room[fd] = READING;
	return sent == answer_size;
}

/* A member that does not take the line at once is not reading: it is shown out rather than waited
 * for. send() and not bide_send(), because that one may let others run between the look at the room
 * and the sending. After every 64 members the others get their turn; who comes or goes meanwhile
 * does no harm to a walk over descriptors. */
static bool tell_all(const char *text, size_t size)
{
	char line[ANSWER_SIZE_MAX];
	ssize_t line_size = (ssize_t)make_answer(line, CHAT, text, size);

	for (int fd = 0; fd < room_size; fd++) {
		if (fd % 64 == 63 && bide_yield() < 0)
			return false;
		if (room[fd] == ABSENT)
			continue;
		if (room[fd] == WRITING ||
		    send(fd, line, (size_t)line_size, MSG_DONTWAIT | MSG_NOSIGNAL) != line_size)
			shutdown(fd, SHUT_RDWR);
	}
	return true;
}

static bool answer_line(int fd, const char *line, size_t size)
{
	if (has_prefix(line, size, TO_ALL))
		return tell_all(line + PREFIX_SIZE, size - PREFIX_SIZE);
	return reply(fd, line, size);
}

static void *member(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct lines in = { 0 };
	char *line;
	size_t size;

	members++;
	bide_write_all(fd, WELCOME, strlen(WELCOME), NULL); /* has it gone already, the read tells */
	room[fd] = READING;
	while ((line = read_line(fd, &in, &size)) && answer_line(fd, line, size))
		;
	room[fd] = ABSENT;
	bide_close(fd);
	if (--members == 0)
		bide_stop();
	return NULL;
}

static void *accept_members(void *arg)
{
	int control = *(int *)arg;
	int listener = bide_listen("tcp", ADDRESS ":0", 0);
	int fd;

	if (listener < 0)
		return bide_fail(errno);
	server_ready(control, listener);
	while ((fd = bide_accept(listener, NULL, NULL)) >= 0)
		if (bide_detach(bide_spawn(member, (void *)(intptr_t)fd)) < 0)
			server_refuse(fd, errno);
	int err = errno; /* ECANCELED: bide_stop() was called */
	bide_close(listener);
	return bide_fail(err);
}

int server_bide(int control, const void *arg)
{
	const struct server_plan *plan = arg;
	bide_result result;

	room_size = (int)plan->descriptors;
	room = calloc((size_t)room_size, 1);
	if (!room)
		return report_failure(control, "no memory for the room");
	int status = bide_run(accept_members, &control, NULL, &result);
	free(room);
	if (status < 0 || result.err != ECANCELED)
		return report_failure(control, "%s", strerror(status < 0 ? errno : result.err));
	return 0;
}
