/* SPDX-License-Identifier: MIT
 * Demo: the chat server of server_bide.c, with a thread for each member of the room, written as a
 * good thread programmer would: small stacks, no allocation per member, a lock for each member's
 * socket and none for the whole room. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "process.h"
#include "protocol.h"
#include "server.h"

/* One for each descriptor. The lock is held while a whole line is sent, so that lines do not mix,
 * and while the descriptor is closed, so that nobody sends to the next file of that number. */
struct place {
	pthread_mutex_t lock;
	bool taken;
};
static struct place *room;
static int room_size;
static atomic_int members;

static bool send_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		text += sent;
		size -= (size_t)sent;
	}
	return true;
}

/* Sends a whole line to a member; no harm if nobody is there. */
static bool tell(int fd, const char *line, size_t size)
{
	struct place *place = &room[fd];

	pthread_mutex_lock(&place->lock);
	bool sent = !place->taken || send_all(fd, line, size);
	pthread_mutex_unlock(&place->lock);
	return sent;
}

static char *read_line(int fd, struct lines *in, size_t *size)
{
	char *line;

	while (!(line = lines_next(in, size))) {
		size_t space;
		char *end = lines_space(in, &space);
		ssize_t got = end ? recv(fd, end, space, 0) : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return NULL;
		in->end += (size_t)got;
	}
	return line;
}

static bool reply(int fd, const char *line, size_t size)
{
	char answer[ANSWER_SIZE_MAX];

	return tell(fd, answer, make_answer(answer, ECHO, line, size));
}

/* A member that does not take the line within the listener's SO_SNDTIMEO is shown out. */
static bool tell_all(const char *text, size_t size)
{
	char line[ANSWER_SIZE_MAX];
	size_t line_size = make_answer(line, CHAT, text, size);

	for (int fd = 0; fd < room_size; fd++)
		if (!tell(fd, line, line_size))
			shutdown(fd, SHUT_RDWR);
	return true;
}

static bool answer_line(int fd, const char *line, size_t size)
{
	if (has_prefix(line, size, TO_ALL))
		return tell_all(line + PREFIX_SIZE, size - PREFIX_SIZE);
	return reply(fd, line, size);
}

static void set_taken(int fd, bool taken)
{
	pthread_mutex_lock(&room[fd].lock);
	room[fd].taken = taken;
	if (!taken)
		close(fd);
	pthread_mutex_unlock(&room[fd].lock);
}

static void *member(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct lines in = { 0 };
	char *line;
	size_t size;

	atomic_fetch_add(&members, 1);
	send_all(fd, WELCOME, strlen(WELCOME)); /* has it gone already, the read tells */
	set_taken(fd, true);
	while ((line = read_line(fd, &in, &size)) && answer_line(fd, line, size))
		;
	set_taken(fd, false);
	if (atomic_fetch_sub(&members, 1) == 1)
		_exit(0);
	return NULL;
}

static int listen_anywhere(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval patience = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* The accepted sockets inherit both options. */
	if (fd < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 65535) < 0)
		return -1;
	return fd;
}

static bool make_room(int size)
{
	room = calloc((size_t)size, sizeof(*room));
	if (!room)
		return false;
	for (room_size = 0; room_size < size; room_size++)
		pthread_mutex_init(&room[room_size].lock, NULL);
	return true;
}

int server_threads(int control, const void *arg)
{
	const struct server_plan *plan = arg;
	pthread_attr_t attr;
	int listener = listen_anywhere();

	if (!make_room((int)plan->descriptors) || listener < 0 || pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) != 0 ||
	    pthread_attr_setstacksize(&attr, plan->stack_size) != 0)
		return report_failure(control, "cannot start: %s", strerror(errno));
	server_ready(control, listener);
	for (;;) {
		pthread_t thread;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return report_failure(control, "accept: %s", strerror(errno));
		int err = pthread_create(&thread, &attr, member, (void *)(intptr_t)fd);
		if (err)
			server_refuse(fd, err);
	}
}
