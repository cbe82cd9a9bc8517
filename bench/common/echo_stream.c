/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: echo servers that read message by message through a buffered stream. One
 * leaves it to the stream when to send: when no more input is ready. The other sends each answer at once,
 * as a server without output buffers does. */
#include <errno.h>
#include <stdint.h>

#include <bide/loop.h>
#include <bide/net.h>
#include <bide/stream.h>
#include <bide/task.h>

#include "echo_server.h"

struct service {
	int listener;
	bool is_flushed;
};

static void echo_messages(int fd, void *arg)
{
	const struct service *service = arg;
	char message[ECHO_MESSAGE];
	bide_stream *stream = bide_stream_open(fd);
	while (bide_stream_read_exact(stream, message, sizeof message, NULL) == sizeof message)
		if (bide_stream_write(stream, message, sizeof message, NULL) < 0 ||
		    (service->is_flushed && bide_stream_flush(stream) < 0))
			break;
	bide_stream_abort(stream);
}

static void *serve(void *arg)
{
	struct service *service = arg;
	bide_serve(service->listener, echo_messages, service, NULL);
	return bide_fail(errno);
}

static void serve_streams(int listener)
{
	bide_run(serve, &(struct service){ listener, false }, NULL, NULL);
}

static void serve_flushed(int listener)
{
	bide_run(serve, &(struct service){ listener, true }, NULL, NULL);
}

const echo_server echo_stream = { .name = "bide, stream", .serve = serve_streams };
const echo_server echo_flushed = { .name = "bide, a write a message", .serve = serve_flushed };
