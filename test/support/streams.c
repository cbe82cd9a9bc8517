/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include "sockets.h"

const struct stream_kind stream_kinds[STREAM_KINDS] = {
	{ .name = "memory", .is_memory = true },
	{ .name = "memory, a byte", .is_memory = true, .capacity = 1 },
	{ .name = "memory, seven bytes", .is_memory = true, .capacity = 7 },
	{ .name = "unix", .make_fds = make_unix },
	{ .name = "tcp", .make_fds = make_tcp },
};

void streams_open(const struct stream_kind *kind, bide_stream *streams[2])
{
	int fds[2];
	if (kind->is_memory) {
		must(bide_stream_pair(streams, kind->capacity) == 0);
		return;
	}
	kind->make_fds(fds);
	for (int i = 0; i < 2; i++) {
		streams[i] = bide_stream_open(fds[i]);
		must_msg(streams[i], "bide_stream_open: %s", strerror(errno));
	}
}

void streams_abort(bide_stream *streams[2])
{
	for (int i = 0; i < 2; i++)
		must(!streams[i] || bide_stream_abort(streams[i]) == 0);
}

void stream_say(bide_stream *stream, const char *text)
{
	size_t done = 0;
	must((size_t)bide_stream_write(stream, text, strlen(text), &done) == strlen(text));
	must(done == strlen(text));
}

void stream_expect(bide_stream *stream, const char *text)
{
	char buf[256];
	size_t size = strlen(text), done = 0;
	must(size < sizeof buf);
	ssize_t count = bide_stream_read_exact(stream, buf, size, &done);
	must_msg(count == (ssize_t)size && memcmp(buf, text, size) == 0, "'%.*s' instead of '%s'", (int)done, buf, text);
}
