/* SPDX-License-Identifier: MIT
 * Layer host: files on threads. See file.h. */
#include "host/file.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/fail.h"
#include "base/system.h"
#include "host/room.h"

/* So much is copied from or to the system's memory on the spot: it takes no longer than the way to a thread. */
#define ON_THE_SPOT_MAX ((size_t)128 * 1024)

/* That no thread could be made is no reason to try again at once, as EAGAIN would say to a reader. */
static int offload(void *(*fn)(void *arg), void *arg, unsigned flags, void (*drop)(void *value, void *arg))
{
	bide_offload_attr attr = BIDE_OFFLOAD_ATTR_INIT;
	attr.flags = flags;
	attr.drop = drop;
	if (bide_offload_with(fn, arg, &attr, NULL) == 0)
		return 0;
	return fail_with(errno == EAGAIN ? ENOMEM : errno);
}

/* ---- calls on a descriptor ---------------------------------------------------------------------- */

/* On the stack of the task, which waits for the thread whatever happens. */
struct file_call {
	struct link link;         /* in the room's files */
	ssize_t (*call)(const struct file_call *call);
	int fd;
	const struct iovec *iov;
	int count;
	off_t offset;
	ssize_t result;
	bool closes;              /* fd, when it is done */
};

static void *make_call(void *arg)
{
	struct file_call *call = arg;
	do
		call->result = call->call(call);
	while (call->result < 0 && errno == EINTR);
	if (call->result >= 0)
		errno = 0;
	return call;
}

static struct file_call *other_call(struct host_room *room, int fd)
{
	list_each(link, &room->files) {
		struct file_call *call = container_of(link, struct file_call, link);
		if (call->fd == fd)
			return call;
	}
	return NULL;
}

bool file_closes_later(struct loop *loop, int fd)
{
	struct host_room *room = loop->rooms[LOOP_ROOM_HOST];
	struct file_call *call = room ? other_call(room, fd) : NULL;
	if (!call)
		return false;
	call->closes = true;
	return true;
}

/* The last one to use it closes it. */
static void finish(struct host_room *room, struct file_call *call)
{
	link_remove(&call->link);
	if (!call->closes)
		return;
	struct file_call *other = other_call(room, call->fd);
	if (other)
		other->closes = true;
	else
		system_close(call->fd);
}

static ssize_t run(struct file_call *call)
{
	if (!task_current())
		return fail_with(EPERM);
	struct host_room *room = host_room(loop_current);
	if (!room)
		return -1;
	list_push_tail(&room->files, &call->link);
	int status = offload(make_call, call, 0, NULL);
	int err = errno;
	finish(room, call);
	errno = err;
	return status < 0 ? -1 : call->result;
}

static ssize_t call_readv(const struct file_call *call)
{
	return system_preadv2(call->fd, call->iov, call->count, call->offset, 0);
}

static ssize_t call_writev(const struct file_call *call)
{
	return system_pwritev2(call->fd, call->iov, call->count, call->offset, 0);
}

static ssize_t call_fsync(const struct file_call *call)
{
	return system_fsync(call->fd);
}

static ssize_t call_fdatasync(const struct file_call *call)
{
	return system_fdatasync(call->fd);
}

static size_t size_of(const struct iovec *iov, int count)
{
	size_t size = 0;
	for (int i = 0; i < count && size <= ON_THE_SPOT_MAX; i++)
		size += iov[i].iov_len < ON_THE_SPOT_MAX ? iov[i].iov_len : ON_THE_SPOT_MAX + 1;
	return size;
}

/* File systems that are nothing but memory, and do not know RWF_NOWAIT. */
static bool is_in_memory(int fd)
{
	struct statfs status;
	if (system_fstatfs(fd, &status) < 0)
		return false;
	return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC || status.f_type == PROC_SUPER_MAGIC ||
	    status.f_type == SYSFS_MAGIC;
}

/* -1 with EAGAIN where a thread has to do it. */
static ssize_t read_on_the_spot(int fd, const struct iovec *iov, int count, off_t offset)
{
	if (size_of(iov, count) > ON_THE_SPOT_MAX)
		return fail_with(EAGAIN);
	ssize_t result = system_preadv2(fd, iov, count, offset, RWF_NOWAIT);
	if (result >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
		return result;
	return is_in_memory(fd) ? system_preadv2(fd, iov, count, offset, 0) : fail_with(EAGAIN);
}

static ssize_t write_on_the_spot(int fd, const struct iovec *iov, int count, off_t offset)
{
	bool is_possible = size_of(iov, count) <= ON_THE_SPOT_MAX && is_in_memory(fd);
	return is_possible ? system_pwritev2(fd, iov, count, offset, 0) : fail_with(EAGAIN);
}

static ssize_t transfer(int fd, const struct iovec *iov, int count, off_t offset, struct file_call *call)
{
	call->fd = fd;
	call->iov = iov;
	call->count = count;
	call->offset = offset;
	return run(call);
}

ssize_t file_readv(int fd, const struct iovec *iov, int count, off_t offset)
{
	struct file_call call = { .call = call_readv };
	ssize_t result = read_on_the_spot(fd, iov, count, offset);
	bool needs_thread = result < 0 && (errno == EAGAIN || errno == EINTR);
	return needs_thread ? transfer(fd, iov, count, offset, &call) : result;
}

ssize_t file_writev(int fd, const struct iovec *iov, int count, off_t offset)
{
	struct file_call call = { .call = call_writev };
	ssize_t result = write_on_the_spot(fd, iov, count, offset);
	bool needs_thread = result < 0 && (errno == EAGAIN || errno == EINTR);
	return needs_thread ? transfer(fd, iov, count, offset, &call) : result;
}

enum answer { WAITS, NOTHING, AT_HAND }; /* NOTHING: no byte is there, or waiting for it is the reader's business */

static bool is_on_disk(int fd)
{
	struct stat status;
	return system_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && !is_in_memory(fd);
}

/* Can this byte be read without waiting? Of what does not tell, a file may be on a disk. */
static enum answer ask_for(int fd, off_t offset)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	ssize_t got;
	do
		got = system_preadv2(fd, &iov, 1, offset, RWF_NOWAIT);
	while (got < 0 && errno == EINTR);
	if (got >= 0)
		return got > 0 ? AT_HAND : NOTHING;
	bool may_wait = errno == EAGAIN || ((errno == EOPNOTSUPP || errno == ENOSYS) && is_on_disk(fd));
	return may_wait ? WAITS : NOTHING;
}

#define SMALLEST_PAGE 4096 /* what is read is read by pages */

/* The first byte and the last are asked for: what is read ahead is read in order. Where the file ends is asked
 * only if it ends before `size`, which most callers know. */
static bool are_at_hand(int fd, off_t offset, size_t size)
{
	struct stat status;
	off_t beyond = INT64_MAX - offset, last = offset + ((off_t)size <= beyond ? (off_t)size - 1 : beyond);
	enum answer first = ask_for(fd, offset);
	if (first != AT_HAND || last / SMALLEST_PAGE == offset / SMALLEST_PAGE)
		return first != WAITS;
	enum answer end = ask_for(fd, last);
	if (end != NOTHING)
		return end == AT_HAND;
	if (system_fstat(fd, &status) < 0 || (status.st_size - 1) / SMALLEST_PAGE <= offset / SMALLEST_PAGE)
		return true;
	return ask_for(fd, status.st_size - 1) != WAITS;
}

void file_load(int fd, off_t offset, size_t size)
{
	if (are_at_hand(fd, offset, size))
		return;
	struct iovec iov = { memory_alloc(&memory_default, size), size };
	struct file_call call = { .call = call_readv };
	if (iov.iov_base)
		transfer(fd, &iov, 1, offset, &call);
	memory_free(&memory_default, iov.iov_base, size);
}

/* ---- the public ones ---------------------------------------------------------------------------- */

static int check_transfer(const void *buf, size_t size, off_t offset)
{
	if ((!buf && size > 0) || offset < 0)
		return fail_with(EINVAL);
	return checkpoint() ? 0 : -1;
}

ssize_t bide_pread(int fd, void *buf, size_t size, off_t offset)
{
	struct iovec iov = { buf, size };
	return check_transfer(buf, size, offset) < 0 ? -1 : file_readv(fd, &iov, 1, offset);
}

ssize_t bide_pwrite(int fd, const void *buf, size_t size, off_t offset)
{
	struct iovec iov = { (void *)(uintptr_t)buf, size };
	return check_transfer(buf, size, offset) < 0 ? -1 : file_writev(fd, &iov, 1, offset);
}

int bide_fsync(int fd)
{
	struct file_call call = { .call = call_fsync, .fd = fd };
	return (int)run(&call);
}

int bide_fdatasync(int fd)
{
	struct file_call call = { .call = call_fdatasync, .fd = fd };
	return (int)run(&call);
}

/* ---- calls on a path ---------------------------------------------------------------------------- */

/* In memory of its own, so that it can be left behind: a path may lead anywhere. */
struct path_call {
	int flags;
	mode_t mode;
	struct stat status;
	int result;
	char path[];
};

static size_t path_call_size(const struct path_call *call)
{
	return sizeof *call + strlen(call->path) + 1;
}

static struct path_call *path_call_new(const char *path)
{
	if (!path) {
		errno = EINVAL;
		return NULL;
	}
	size_t length = strlen(path);
	struct path_call *call = memory_alloc(&memory_default, sizeof *call + length + 1);
	if (call)
		memcpy(call->path, path, length);
	return call;
}

static void path_call_free(struct path_call *call)
{
	memory_free(&memory_default, call, path_call_size(call));
}

static void *call_open(void *arg)
{
	struct path_call *call = arg;
	do
		call->result = system_open_file(call->path, call->flags | O_CLOEXEC, call->mode);
	while (call->result < 0 && errno == EINTR);
	return call;
}

static void *call_stat(void *arg)
{
	struct path_call *call = arg;
	call->result = system_stat(call->path, &call->status);
	return call;
}

static void drop_open(void *value, void *arg)
{
	struct path_call *call = arg;
	if (value && call->result >= 0)
		system_close(call->result);
	path_call_free(call);
}

static void drop_stat(void *value, void *arg)
{
	(void)value;
	path_call_free(arg);
}

int bide_open(const char *path, int flags, mode_t mode)
{
	struct path_call *call = path_call_new(path);
	if (!call)
		return -1;
	call->flags = flags;
	call->mode = mode;
	if (offload(call_open, call, BIDE_ABANDON, drop_open) < 0)
		return -1; /* and it is gone */
	int fd = call->result;
	path_call_free(call); /* keeps errno */
	if (fd >= 0)
		descriptor_fresh(loop_current, fd, DESCRIPTOR_UNKNOWN, -1);
	return fd;
}

int bide_stat(const char *path, struct stat *status)
{
	struct path_call *call = status ? path_call_new(path) : NULL;
	if (!call)
		return status ? -1 : fail_with(EINVAL);
	if (offload(call_stat, call, BIDE_ABANDON, drop_stat) < 0)
		return -1;
	int result = call->result;
	if (result == 0)
		*status = call->status;
	path_call_free(call); /* keeps errno */
	return result;
}
