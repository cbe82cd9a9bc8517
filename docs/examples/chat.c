/* SPDX-License-Identifier: MIT
 * chat: everybody gets what the others say. A member is a task that reads and one that writes, with a
 * channel of lines between, so that who does not read delays nobody, and is shown the door.
 *     chat [PORT]    default 30001; 0 lets the kernel choose. Try it: nc localhost 30001
 * It serves until its standard input ends. */
#include <bide.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct member {
	struct member *next;
	bide_task *task;
	bide_chan *lines; /* at most 64 that the member is behind */
	bide_stream *stream;
};

static struct member *members;

/* Never suspends: the list stays as it is meanwhile, and all get the lines in one order. */
static void tell(const struct member *from, const char line[256])
{
	for (struct member *member = members; member; member = member->next)
		if (member != from && bide_chan_trysend(member->lines, line) < 0)
			bide_cancel(member->task, "does not read");
}

static void *write_lines(void *arg)
{
	struct member *member = arg;
	char line[256];

	while (bide_chan_recv(member->lines, line) == 0 &&
	       bide_stream_write(member->stream, line, strlen(line), NULL) >= 0)
		; /* sent at once, since the other task waits for input on the stream */
	return NULL;
}

static void read_lines(struct member *member)
{
	char line[256], said[200];
	ssize_t size;

	while ((size = bide_stream_read_until(member->stream, said, sizeof said, "\n", 1)) > 0) {
		snprintf(line, sizeof line, "%.*s\n", (int)size - (said[size - 1] == '\n'), said);
		tell(member, line);
	}
}

static void serve_member(int fd, void *arg)
{
	struct member member = { members, bide_self(), bide_chan_new(256, 64, 0, NULL), bide_stream_open(fd) };
	struct member **at = &members;
	bide_group group = { { 0 } };

	(void)arg;
	if (member.lines && member.stream && bide_group_enter(&group, 0, 0) == 0) {
		members = &member;
		if (bide_group_spawn(&group, write_lines, &member, NULL))
			read_lines(&member);
		while (*at != &member)
			at = &(*at)->next;
		*at = member.next;
		bide_chan_close(member.lines, 0); /* the writer ends when it has written what is in it */
		bide_group_leave(&group);
	}
	bide_chan_unref(member.lines);
	bide_stream_abort(member.stream);
}

static void *watch_input(void *arg)
{
	while (bide_read(0, (char[64]){ 0 }, 64) > 0)
		;
	bide_stop(); /* cancels serve() */
	return arg;
}

static void *serve(void *listener)
{
	if (bide_detach(bide_spawn(watch_input, NULL)) == 0)
		bide_serve(*(int *)listener, serve_member, NULL, NULL);
	return bide_fail(errno);
}

int main(int argc, char **argv)
{
	char address[BIDE_ADDRESS_MAX];
	bide_result end = { NULL, 0 };

	snprintf(address, sizeof address, "127.0.0.1:%s", argc > 1 ? argv[1] : "30001");
	int listener = bide_listen("tcp", address, 0);
	if (listener < 0 || bide_local_address(listener, address, sizeof address) < 0)
		return fprintf(stderr, "chat: %s: %s\n", address, strerror(errno)), 1;
	fprintf(stderr, "chat: listening on %s\n", address);
	bide_run(serve, &listener, NULL, &end);
	return bide_close(listener) < 0 || end.err != ECANCELED;
}
