/* SPDX-License-Identifier: MIT
 * Layer io: all that a child reads and writes, at the same time, so that neither side waits for ever for a
 * full pipe to be emptied by the other. */
#include <bide/process.h>

#include <errno.h>
#include <stdlib.h>

#include <bide/group.h>
#include <bide/io.h>
#include <bide/task.h>

#include "base/fail.h"

#define ROOM_AT_FIRST 4096

struct feed {
	int *fd;
	const void *bytes;
	size_t size;
};

struct collection {
	int *fd;
	size_t limit; /* 0: none */
	char *bytes;
	size_t size, room;
};

static void close_end(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		bide_close(*fd);
	*fd = -1;
	errno = saved;
}

static void *feed_body(void *arg)
{
	struct feed *feed = arg;
	ssize_t count = bide_write_all(*feed->fd, feed->bytes, feed->size, NULL);
	close_end(feed->fd);
	return count < 0 && errno != EPIPE ? bide_fail(errno) : NULL;
}

/* One byte more than was read, for the zero at the end. */
static int make_room(struct collection *collection)
{
	size_t wanted = collection->room ? 2 * collection->room : ROOM_AT_FIRST;
	if (collection->room > collection->size + 1)
		return 0;
	char *bytes = wanted > collection->room ? realloc(collection->bytes, wanted) : NULL;
	if (!bytes)
		return fail_with(ENOMEM);
	collection->bytes = bytes;
	collection->room = wanted;
	return 0;
}

/* 1: more may come; 0: that was the end; -1 with errno. */
static int collect_some(struct collection *collection)
{
	if (make_room(collection) < 0)
		return -1;
	ssize_t count = bide_read(*collection->fd, collection->bytes + collection->size,
	    collection->room - collection->size - 1);
	if (count <= 0)
		return (int)count;
	collection->size += (size_t)count;
	return collection->limit && collection->size > collection->limit ? fail_with(EFBIG) : 1;
}

static void *collect_body(void *arg)
{
	struct collection *collection = arg;
	int result;
	do
		result = collect_some(collection);
	while (result > 0);
	if (result < 0)
		return bide_fail(errno);
	collection->bytes[collection->size] = '\0';
	return NULL;
}

static int start(bide_group *group, const int *fd, bide_fn *body, void *arg)
{
	return *fd < 0 || bide_group_spawn(group, body, arg, NULL) ? 0 : -1;
}

static int exchange(struct feed *feed, struct collection *out, struct collection *err)
{
	bide_group group = { { 0 } };
	if (bide_group_enter(&group, 0, 0) < 0)
		return -1;
	int started = 0;
	if (start(&group, feed->fd, feed_body, feed) < 0 || start(&group, out->fd, collect_body, out) < 0 ||
	    start(&group, err->fd, collect_body, err) < 0) {
		started = errno;
		bide_group_cancel(&group, "a child's output cannot be read");
	}
	int result = bide_group_leave(&group);
	return started ? fail_with(started) : result;
}

/* Also if the exchange was interrupted: then the wait is so too, and ends a child that is to be ended. */
static int exchange_and_wait(bide_proc *proc, struct feed *feed, struct collection *out,
    struct collection *err, int *status)
{
	int result = exchange(feed, out, err);
	close_end(&proc->in);
	close_end(&proc->out);
	close_end(&proc->err);
	if (result < 0 && errno != ECANCELED && errno != ETIMEDOUT)
		return -1;
	return bide_proc_wait(proc->pid, status) < 0 ? -1 : result;
}

int bide_proc_communicate(bide_proc *proc, const void *input, size_t size, size_t limit,
    bide_proc_output *output)
{
	if (!proc || !output || (!input && size > 0))
		return fail_with(EINVAL);
	struct feed feed = { &proc->in, input, size };
	struct collection out = { .fd = &proc->out, .limit = limit }, err = { .fd = &proc->err, .limit = limit };
	int status;
	if (exchange_and_wait(proc, &feed, &out, &err, &status) < 0) {
		int saved = errno;
		free(out.bytes);
		free(err.bytes);
		return fail_with(saved);
	}
	*output = (bide_proc_output){ out.bytes, err.bytes, out.size, err.size, status };
	return 0;
}
