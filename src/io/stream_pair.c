/* SPDX-License-Identifier: MIT
 * Layer io: two streams joined in memory. Each end has a ring of the bytes on their way to it. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "io/stream.h"
#include "sched/park.h"

#define CAPACITY_DEFAULT ((size_t)64 * 1024)
#define CAPACITY_MAX ((size_t)1 << 30)

struct pair_end {
	struct pair *pair;
	struct pair_end *other;
	struct list waiters; /* this end's reader, and its writer */
	char *ring;
	size_t head, count;
	bool is_open;
	bool has_ended;      /* will write no more */
};

struct pair {
	struct loop *loop;
	size_t capacity;     /* of each ring */
	struct pair_end ends[2];
	char rings[];
};

static size_t size_of_pair(size_t capacity)
{
	return sizeof(struct pair) + 2 * capacity;
}

static void wake_all(struct pair_end *end, int status)
{
	struct link *link;
	while ((link = list_head(&end->waiters)))
		task_wake(container_of(link, struct wait, link)->task, status);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- the functions of a stream ------------------------------------------------------------------ */

static bool is_readable(const struct pair_end *end)
{
	return end->count > 0 || end->other->has_ended;
}

static bool is_writable(const struct pair_end *end)
{
	return end->other->count < end->pair->capacity || !end->other->is_open || end->has_ended;
}

static ssize_t pair_read(void *ctx, void *buf, size_t size)
{
	struct pair_end *end = ctx;
	size_t capacity = end->pair->capacity;
	if (!is_readable(end))
		return fail_with(EAGAIN);
	size_t count = least(least(size, end->count), capacity - end->head); /* to the ring's rim */
	memcpy(buf, end->ring + end->head, count);
	end->head = (end->head + count) % capacity;
	end->count -= count;
	wake_all(end->other, 0);
	return (ssize_t)count;
}

static ssize_t pair_write(void *ctx, const void *buf, size_t size)
{
	struct pair_end *end = ctx, *other = end->other;
	size_t capacity = end->pair->capacity;
	if (!other->is_open || end->has_ended || !is_writable(end))
		return fail_with(is_writable(end) ? EPIPE : EAGAIN);
	size_t tail = (other->head + other->count) % capacity;
	size_t count = least(least(size, capacity - other->count), capacity - tail);
	memcpy(other->ring + tail, buf, count);
	other->count += count;
	wake_all(other, 0);
	return (ssize_t)count;
}

static int pair_wait(void *ctx, int events)
{
	struct pair_end *end = ctx;
	struct task *task = checkpoint();
	if (!task)
		return -1;
	if (((events & POLLIN) && is_readable(end)) || ((events & POLLOUT) && is_writable(end)))
		return 0;
	wait_begin(task, &end->waiters, WAIT_STREAM, end);
	int status = park(task, BIDE_NEVER);
	errno = status ? status : errno;
	return status ? -1 : 0;
}

static int pair_shutdown(void *ctx)
{
	struct pair_end *end = ctx;
	end->has_ended = true;
	wake_all(end->other, 0);
	return 0;
}

static int pair_close(void *ctx)
{
	struct pair_end *end = ctx;
	struct pair *pair = end->pair;
	end->is_open = false;
	end->has_ended = true;
	wake_all(end, EBADF);
	wake_all(end->other, 0);
	if (!end->other->is_open)
		memory_free(pair->loop->memory, pair, size_of_pair(pair->capacity));
	return 0;
}

static const bide_stream_ops pair_ops = {
	.size = sizeof(bide_stream_ops),
	.read = pair_read,
	.write = pair_write,
	.wait = pair_wait,
	.shutdown = pair_shutdown,
	.close = pair_close,
};

/* ---- making it --------------------------------------------------------------------------------- */

static struct pair *new_pair(struct loop *loop, size_t capacity)
{
	struct pair *pair = memory_alloc_raw(loop->memory, size_of_pair(capacity));
	if (!pair)
		return NULL;
	pair->loop = loop;
	pair->capacity = capacity;
	for (int i = 0; i < 2; i++)
		pair->ends[i] = (struct pair_end){
			.pair = pair,
			.other = &pair->ends[1 - i],
			.ring = pair->rings + (size_t)i * capacity,
			.is_open = true,
		};
	return pair;
}

int bide_stream_pair(bide_stream *streams[2], size_t capacity)
{
	struct loop *loop = loop_current;
	if (!streams || !loop || capacity > CAPACITY_MAX)
		return fail_with(!loop ? EPERM : EINVAL);
	struct pair *pair = new_pair(loop, capacity ? capacity : CAPACITY_DEFAULT);
	if (!pair)
		return -1;
	bide_stream *first = bide_stream_open_with(&pair_ops, &pair->ends[0]);
	bide_stream *second = first ? bide_stream_open_with(&pair_ops, &pair->ends[1]) : NULL;
	if (second) {
		streams[0] = first;
		streams[1] = second;
		return 0;
	}
	pair->ends[1].is_open = false; /* so that the first one, or we, can free both */
	if (first)
		bide_stream_abort(first);
	else
		pair_close(&pair->ends[0]);
	return fail_with(ENOMEM);
}
