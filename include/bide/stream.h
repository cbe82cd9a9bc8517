/* SPDX-License-Identifier: MIT
 * Part of bide: buffered streams of bytes, over a descriptor, over memory, or over functions of yours
 * (TLS, a compressor).
 *
 * Input is read in large pieces, and a call takes from them what it wants: a line, a header, so many
 * bytes. Output is collected, and one system call sends what many writes have left. It is sent
 *   - when a call that reads finds no input ready and has to wait, and at the end of the input: so a
 *     server that answers sixteen requests that came together sends one piece, without a flush in it;
 *   - when the buffer is full; a write of that size or more goes past it;
 *   - by a write while another task waits for input on the stream;
 *   - by bide_stream_flush(), _shutdown() and _close().
 * Nothing else sends it: flush before doing something else for long, and in a program that only writes.
 *
 * Buffers (32 KiB) come from a pool of the loop and go back when they are empty: an idle stream has none,
 * even while a task waits at it.
 *
 * SEVERAL TASKS. One may read while another writes. Several readers are served first come, first served,
 * and so are several writers: each call is whole, a line goes to one reader, what one call writes is not
 * mixed with another's.
 *
 * WHAT A FAILED CALL HAS DONE. No byte is lost or doubled by a cancel, a deadline or an error:
 *   read, read_until, peek, skip   nothing was taken
 *   read_exact                     *done bytes are in buf, and were taken
 *   write, writev                  *done bytes were accepted: they are sent or in the output buffer
 *   flush, shutdown                what was not sent is still there; a later call goes on with it
 *
 * Errors of every call here, besides those of the descriptor's system calls (EPIPE, ECONNRESET, ...; EINTR
 * and EAGAIN never reach the caller, SIGPIPE is not raised): EINVAL a NULL; EPERM another thread's stream,
 * or for [S] outside a task; EBADF it was closed during the call; ENOMEM. A call that reads can fail with
 * what sending the output fails with, but not while there is input ready. */
#ifndef BIDE_STREAM_H
#define BIDE_STREAM_H

#include <sys/types.h>
#include <sys/uio.h>

#include <bide/api.h>

BIDE_BEGIN

typedef struct bide_stream bide_stream; /* belongs to the loop that made it */

/* OPENING */

/* A stream over fd, a descriptor of any kind that bide/io.h takes. The stream owns fd from now on; when
 * the call fails it is still the caller's. Never suspends. Errors: EBADF. */
BIDE_API bide_stream *bide_stream_open(int fd);

/* What a stream is over, if not a descriptor. The functions get `ctx`, run in the calling task and set
 * errno:
 *   read      puts up to size bytes into buf: their count, 0 at the end of the input, or -1; EAGAIN when
 *             it would have to wait
 *   write     takes up to size bytes: their count, or -1; EAGAIN when it would have to wait
 *   wait      [S] parks until read (POLLIN in events), write (POLLOUT), or either, is worth another try:
 *             0, or -1. It may come back early, but not always at once
 *   shutdown  says that no more output will come: 0, or -1; EAGAIN as write
 *   close     gives everything up and wakes with EBADF whoever is in wait; runs once, also when a cancel
 *             is pending, and does not suspend
 * read and write are called by one task each at a time. `size` is sizeof(bide_stream_ops). */
typedef struct bide_stream_ops {
	size_t size;
	ssize_t (*read)(void *ctx, void *buf, size_t size);
	ssize_t (*write)(void *ctx, const void *buf, size_t size);
	int (*wait)(void *ctx, int events);
	int (*shutdown)(void *ctx);
	int (*close)(void *ctx);
} bide_stream_ops;

/* A stream over functions. *ops must stay; ctx is the stream's from now on, until ops->close. When the
 * call fails, nothing was called. Errors: EINVAL a function is missing, or the size is wrong. */
BIDE_API bide_stream *bide_stream_open_with(const bide_stream_ops *ops, void *ctx);

/* Two ends in memory, for tests and for joining tasks: what is written to one is read from the other. So
 * many bytes wait in each direction between the two; 0: 64 KiB. There is no descriptor and no system call,
 * and with the virtual clock no real time. Errors: EINVAL a capacity above 1 GiB. */
BIDE_API int bide_stream_pair(bide_stream *pair[2], size_t capacity);

/* The descriptor below, to ask for its address or set options; the stream's still. Who reads or writes it
 * directly passes the buffers. Errors: ENOTSUP there is none. */
BIDE_API int bide_stream_fd(const bide_stream *stream);

/* READING */

/* As read(2): what is there, at least one byte, at most size; waits if there is nothing. 0: the end of the
 * input. [S] */
BIDE_API ssize_t bide_stream_read(bide_stream *stream, void *buf, size_t size);

/* Reads until `size` bytes are there or the input ends. Returns the count, short only at the end of the
 * input; *done (may be NULL) has it also when the call fails midway. [S] */
BIDE_API ssize_t bide_stream_read_exact(bide_stream *stream, void *buf, size_t size, size_t *done);

/* Reads up to and with the first `delimiter` of delimiter_size bytes, at most `size` bytes, and returns
 * their count. At the end of the input: the rest, without a delimiter; 0 when there is none. buf gets no
 * NUL at its end. Errors: EMSGSIZE there is no delimiter in the first `size` bytes, which are there to be
 * read still; EINVAL size or delimiter_size is 0. [S] */
BIDE_API ssize_t bide_stream_read_until(bide_stream *stream, void *buf, size_t size, const void *delimiter,
    size_t delimiter_size);

/* Waits until at least `least` bytes are there or the input ends, and returns how many are there; *data is
 * where they are, until the next call that reads. Takes nothing: see skip. With least 0 it does not wait.
 * [S] */
BIDE_API ssize_t bide_stream_peek(bide_stream *stream, const void **data, size_t least);

/* Takes `count` bytes that peek has shown. Never suspends, is no cancellation point. Errors: EINVAL so many
 * are not there; EBUSY another task is reading. */
BIDE_API int bide_stream_skip(bide_stream *stream, size_t count);

/* WRITING */

/* Accepts all of it, waiting for room if need be, and returns the count; *done (may be NULL) has it also
 * when the call fails midway. Accepted is not sent: see flush. [S] */
BIDE_API ssize_t bide_stream_write(bide_stream *stream, const void *buf, size_t size, size_t *done);
BIDE_API ssize_t bide_stream_writev(bide_stream *stream, const struct iovec *iov, int count, size_t *done);

/* Sends what was accepted. 0: all of it is the kernel's, or the other end's. [S] */
BIDE_API int bide_stream_flush(bide_stream *stream);

/* Flushes, and tells the other side that no more will come: it reads the end of its input, and can still
 * write. Later writes fail with EPIPE. Errors: ENOTSOCK the descriptor has no such thing. [S] */
BIDE_API int bide_stream_shutdown(bide_stream *stream);

/* ENDING */

/* Flushes, waiting for that as long as no cancel or deadline is in force, then closes and frees the stream
 * whatever came of it: always, also with a cancel pending. -1: output was lost, or as close(2). Calls of
 * other tasks on the stream fail with EBADF; if one of them was writing, its output is lost: EBUSY. [S] */
BIDE_API int bide_stream_close(bide_stream *stream);

/* Closes and frees it at once, dropping buffered output. Never suspends, is no cancellation point, may be
 * called from callbacks and deferred calls. Errors: as close(2), which closes all the same. */
BIDE_API int bide_stream_abort(bide_stream *stream);

BIDE_END

#endif
