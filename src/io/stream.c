/* SPDX-License-Identifier: MIT
 * Layer io: a stream's life, and whose turn it is. See stream.h. */
#include "io/stream.h"

#include <bide/cancel.h>

#include <errno.h>

#include "sched/park.h"

/* ---- opening ----------------------------------------------------------------------------------- */

static bool is_complete(const bide_stream_ops *ops)
{
	return ops && ops->size == sizeof *ops && ops->read && ops->write && ops->wait && ops->shutdown &&
	    ops->close;
}

bide_stream *bide_stream_open_with(const bide_stream_ops *ops, void *ctx)
{
	struct loop *loop = loop_current;
	if (!loop || !is_complete(ops)) {
		errno = loop ? EINVAL : EPERM;
		return NULL;
	}
	if (buffer_pool_hold(loop) < 0)
		return NULL;
	struct stream *stream = memory_alloc(loop->memory, sizeof *stream);
	if (!stream) {
		buffer_pool_release(loop);
		return NULL;
	}
	stream->loop = loop;
	stream->ops = ops;
	stream->ctx = ctx;
	return (bide_stream *)stream;
}

/* ---- turns ------------------------------------------------------------------------------------- */

bool turn_try(struct turn *turn)
{
	if (turn->is_taken)
		return false;
	turn->is_taken = true;
	return true;
}

/* Whoever is woken with 0 has the turn already. */
void turn_give(struct turn *turn)
{
	struct link *head = list_head(&turn->line);
	if (head)
		task_wake(container_of(head, struct wait, link)->task, 0);
	else
		turn->is_taken = false;
}

static void turn_break(struct turn *turn, int err)
{
	struct link *head;
	while ((head = list_head(&turn->line)))
		task_wake(container_of(head, struct wait, link)->task, err);
}

/* 0, or the errno with which the wait ended. */
static int turn_take(struct turn *turn, struct task *task, const struct stream *stream)
{
	if (likely(turn_try(turn)))
		return 0;
	wait_begin(task, &turn->line, WAIT_STREAM, stream);
	return park(task, BIDE_NEVER);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static void let_go(struct stream *stream)
{
	if (--stream->calls > 0 || !stream->is_closed)
		return;
	struct loop *loop = stream->loop;
	buffer_clear(loop, &stream->in);
	buffer_clear(loop, &stream->out);
	memory_free(loop->memory, stream, sizeof *stream);
	buffer_pool_release(loop);
}

int stream_check(const struct stream *stream)
{
	if (likely(stream != NULL) && likely(stream->loop == loop_current))
		return 0;
	return fail_with(stream ? EPERM : EINVAL);
}

int stream_enter(struct stream *stream, enum stream_direction direction)
{
	if (stream_check(stream) < 0)
		return -1;
	struct task *task = checkpoint();
	if (unlikely(!task))
		return -1;
	stream->calls++;
	int status = turn_take(&stream->turns[direction], task, stream);
	if (likely(status == 0) && likely(!stream->is_closed))
		return 0;
	errno = status ? status : EBADF;
	if (status)
		let_go(stream);
	else
		stream_leave(stream, direction, -1);
	return -1;
}

ssize_t stream_leave(struct stream *stream, enum stream_direction direction, ssize_t result)
{
	int saved = errno;
	turn_give(&stream->turns[direction]);
	let_go(stream);
	errno = saved;
	return result;
}

int stream_wait(struct stream *stream, int events)
{
	int result = stream->ops->wait(stream->ctx, events);
	if (likely(!stream->is_closed))
		return result;
	return fail_with(EBADF);
}

/* ---- closing ----------------------------------------------------------------------------------- */

/* Ends the stream below; calls under way fail, and free the stream when the last of them has left. */
static int end(struct stream *stream)
{
	stream->calls++;
	stream->is_closed = true;
	int result = stream->ops->close(stream->ctx), saved = errno;
	turn_break(&stream->turns[READING], EBADF);
	turn_break(&stream->turns[WRITING], EBADF);
	let_go(stream);
	errno = saved;
	return result;
}

/* What can be sent without waiting is sent in any case, the rest only if nothing asks the task to stop. */
static int send_last(struct stream *stream)
{
	bide_scope shield = { 0 };
	if (!turn_try(&stream->turns[WRITING]))
		return fail_with(EBUSY);
	int result = bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD);
	if (result == 0) {
		result = stream_try_send(stream);
		int saved = errno;
		bide_scope_leave(&shield);
		errno = saved;
	}
	if (result < 0 && errno == EAGAIN)
		result = stream_send_all(stream);
	return result;
}

int bide_stream_close(bide_stream *handle)
{
	struct stream *stream = stream_of(handle);
	if (stream_check(stream) < 0)
		return -1;
	int err = 0;
	stream->calls++; /* so that another task that closes it meanwhile does not free it */
	if (stream->turns[WRITING].is_taken || buffer_count(&stream->out) > 0)
		err = send_last(stream) < 0 ? errno : 0;
	if (stream->is_closed)
		err = EBADF;
	else if (end(stream) < 0 && !err)
		err = errno;
	let_go(stream);
	errno = err ? err : errno;
	return err ? -1 : 0;
}

int bide_stream_abort(bide_stream *handle)
{
	struct stream *stream = stream_of(handle);
	return stream_check(stream) < 0 ? -1 : end(stream);
}
