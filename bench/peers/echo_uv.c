/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the echo server on libuv, as fast as it gets: one buffer for all reads, and
 * uv_try_write() first. */
#include "common/echo_server.h"

#ifdef HAVE_UV

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static char shared[ECHO_SHARED_BUFFER];

struct rest {
	uv_write_t request;
	char bytes[];
};

static void lend_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
	(void)handle, (void)wanted;
	*buf = uv_buf_init(shared, sizeof shared);
}

static void freed(uv_handle_t *handle)
{
	free(handle);
}

static void give_up(uv_stream_t *stream)
{
	if (!uv_is_closing((uv_handle_t *)stream))
		uv_close((uv_handle_t *)stream, freed);
}

static void written(uv_write_t *request, int status)
{
	if (status < 0 && status != UV_ECANCELED)
		give_up(request->handle);
	free(request);
}

static void write_rest(uv_stream_t *stream, const char *bytes, size_t size)
{
	struct rest *rest = malloc(sizeof *rest + size);
	if (!rest) {
		give_up(stream);
		return;
	}
	memcpy(rest->bytes, bytes, size);
	uv_buf_t buf = uv_buf_init(rest->bytes, (unsigned)size);
	if (uv_write(&rest->request, stream, &buf, 1, written) == 0)
		return;
	free(rest);
	give_up(stream);
}

static void answer(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
	if (got == 0)
		return;
	uv_buf_t out = uv_buf_init(buf->base, got > 0 ? (unsigned)got : 0);
	int sent = got > 0 ? uv_try_write(stream, &out, 1) : UV_EOF;
	if (sent < 0 && sent != UV_EAGAIN)
		give_up(stream);
	else if (sent < (int)got)
		write_rest(stream, out.base + (sent > 0 ? sent : 0), (size_t)(got - (sent > 0 ? sent : 0)));
}

static void connected(uv_stream_t *listener, int status)
{
	uv_tcp_t *client = status == 0 ? malloc(sizeof *client) : NULL;
	if (!client || uv_tcp_init(listener->loop, client) != 0) {
		free(client);
		return;
	}
	if (uv_accept(listener, (uv_stream_t *)client) != 0 ||
	    uv_read_start((uv_stream_t *)client, lend_buffer, answer) != 0)
		give_up((uv_stream_t *)client);
}

static void serve(int listener)
{
	uv_loop_t *loop = uv_default_loop();
	uv_tcp_t server;
	if (uv_tcp_init(loop, &server) == 0 && uv_tcp_open(&server, listener) == 0 &&
	    uv_listen((uv_stream_t *)&server, 4096, connected) == 0)
		uv_run(loop, UV_RUN_DEFAULT);
	errno = EIO;
}

const echo_server echo_libuv = { .name = "libuv", .serve = serve };

#else

static const char *missing(void)
{
	return "it was not there to link with";
}

const echo_server echo_libuv = { .name = "libuv", .missing = missing };

#endif
