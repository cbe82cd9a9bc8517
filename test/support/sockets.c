/* SPDX-License-Identifier: MIT */
#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pty.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "runs.h"
#include "suite.h"

/* ---- pairs ------------------------------------------------------------------------------------- */

static void connect_pair(int family, int fds[2])
{
	struct sockaddr_storage address = { .ss_family = (sa_family_t)family };
	socklen_t length = sizeof address;
	if (family == AF_INET6)
		((struct sockaddr_in6 *)&address)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int listener = socket(family, SOCK_STREAM, 0);
	must(listener >= 0 && bind(listener, (void *)&address, length) == 0 && listen(listener, 1) == 0);
	must(getsockname(listener, (void *)&address, &length) == 0);
	fds[1] = socket(family, SOCK_STREAM, 0);
	must(fds[1] >= 0 && connect(fds[1], (void *)&address, length) == 0);
	fds[0] = accept(listener, NULL, NULL);
	must(fds[0] >= 0);
	close(listener);
}

void make_tcp(int fds[2])
{
	connect_pair(AF_INET, fds);
}

void make_tcp6(int fds[2])
{
	connect_pair(AF_INET6, fds);
}

void make_unix(int fds[2])
{
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
}

void make_seqpacket(int fds[2])
{
	must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
}

void make_unix_datagram(int fds[2])
{
	must(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == 0);
}

void make_udp(int fds[2])
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
		must(fds[i] >= 0 && bind(fds[i], (void *)&any, sizeof any) == 0);
	}
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in other = local_address(fds[1 - i]);
		must(connect(fds[i], (void *)&other, sizeof other) == 0);
	}
}

void make_pipe(int fds[2])
{
	must(pipe(fds) == 0);
}

void make_fifo(int fds[2])
{
	char directory[] = "/tmp/bide-test-XXXXXX", path[64];
	must(mkdtemp(directory) != NULL);
	snprintf(path, sizeof path, "%s/fifo", directory);
	must(mkfifo(path, 0600) == 0);
	fds[0] = open(path, O_RDONLY | O_NONBLOCK);
	fds[1] = open(path, O_WRONLY);
	must(fds[0] >= 0 && fds[1] >= 0);
	set_nonblocking(fds[0], false);
	unlink(path);
	rmdir(directory);
}

void make_pty(int fds[2])
{
	struct termios raw;
	must(openpty(&fds[1], &fds[0], NULL, NULL, NULL) == 0);
	must(tcgetattr(fds[0], &raw) == 0);
	cfmakeraw(&raw);
	must(tcsetattr(fds[0], TCSANOW, &raw) == 0);
}

void make_eventfd(int fds[2])
{
	fds[0] = eventfd(0, 0);
	fds[1] = dup(fds[0]);
	must(fds[0] >= 0 && fds[1] >= 0);
}

const struct fd_kind fd_kinds[FD_KINDS] = {
	{ "tcp", make_tcp, TWO_WAY | STREAM | SOCKET | TCP },
	{ "tcp6", make_tcp6, TWO_WAY | STREAM | SOCKET | TCP },
	{ "unix", make_unix, TWO_WAY | STREAM | SOCKET },
	{ "pipe", make_pipe, STREAM },
	{ "fifo", make_fifo, STREAM },
	{ "seqpacket", make_seqpacket, TWO_WAY | SOCKET },
	{ "unix datagram", make_unix_datagram, TWO_WAY | SOCKET },
	{ "udp", make_udp, TWO_WAY | SOCKET },
	{ "pty", make_pty, TWO_WAY },
};

const struct fd_kind *kind_with(unsigned traits, int i)
{
	for (int k = 0; k < FD_KINDS; k++)
		if ((fd_kinds[k].traits & traits) == traits && i-- == 0)
			return &fd_kinds[k];
	return NULL;
}

void close_pair(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			must(bide_close(fds[i]) == 0);
		fds[i] = -1;
	}
}

/* ---- one descriptor ---------------------------------------------------------------------------- */

void set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);
	must(flags >= 0 && fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0);
}

bool is_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	must(flags >= 0);
	return flags & O_NONBLOCK;
}

bool is_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);
	must(flags >= 0);
	return flags & FD_CLOEXEC;
}

bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

int socket_option(int fd, int level, int name)
{
	int value = 0;
	socklen_t length = sizeof value;
	must(getsockopt(fd, level, name, &value, &length) == 0);
	return value;
}

void shrink_buffers(int fd)
{
	int size = 4096;
	must(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
	must(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
}

void reset_connection(int fd)
{
	struct linger linger = { 1, 0 };
	must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
}

void must_write(int fd, const void *buf, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = write(fd, (const char *)buf + done, size - done);
		must_msg(count > 0, "write of %zu bytes: %s", size - done, strerror(errno));
		done += (size_t)count;
	}
}

/* A TCP socket whose peer has acknowledged everything that it has room for makes no room for more. Until then it
 * does, also by a timer: the last part of the peer's window, when it is less than a segment, is used after some
 * 200 ms. Not known of what is not TCP, and by systems that do not tell. */
static bool is_moving(int fd)
{
	struct tcp_info info = { .tcpi_snd_wnd = 0 };
	socklen_t length = sizeof info;
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && (info.tcpi_unacked || info.tcpi_snd_wnd);
}

static size_t write_while_there_is_room(int fd)
{
	static char chunk[4096];
	size_t total = 0;
	for (size_t size = sizeof chunk; size > 0; size /= 2)
		for (ssize_t count; (count = write(fd, chunk, size)) > 0;)
			total += (size_t)count;
	return total;
}

#define MOVES_MS 2000 /* no longer than that */

size_t fill(int fd)
{
	size_t total = 0, more;
	bool blocks = !is_nonblocking(fd), was_moving;
	if (blocks)
		set_nonblocking(fd, true);
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	int tries = 0;
	do { /* what moved before it was asked has made its room by then */
		was_moving = is_moving(fd);
		total += more = write_while_there_is_room(fd);
	} while (more > 0 || poll(&poll_fd, 1, 2) == 1 || (was_moving && tries++ < MOVES_MS / 2));
	if (blocks)
		set_nonblocking(fd, false);
	return total;
}

size_t drain(int fd)
{
	char chunk[4096];
	size_t total = 0;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	while (poll(&poll_fd, 1, 0) == 1) {
		ssize_t count = read(fd, chunk, sizeof chunk);
		if (count <= 0)
			break;
		total += (size_t)count;
	}
	return total;
}

int bytes_waiting(int fd)
{
	int count = -1;
	must(ioctl(fd, FIONREAD, &count) == 0);
	return count;
}

struct sockaddr_in local_address(int fd)
{
	struct sockaddr_in address;
	socklen_t length = sizeof address;
	must(getsockname(fd, (void *)&address, &length) == 0);
	return address;
}

const char *address_text(int fd, char text[32])
{
	snprintf(text, 32, "127.0.0.1:%d", ntohs(local_address(fd).sin_port));
	return text;
}

int plain_listener(int backlog, struct sockaddr_in *address)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	must(fd >= 0 && bind(fd, (void *)&any, sizeof any) == 0 && listen(fd, backlog) == 0);
	*address = local_address(fd);
	return fd;
}

int plain_connection(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	must(fd >= 0 && connect(fd, (const void *)address, sizeof *address) == 0);
	return fd;
}

const char *abstract_text(const char *name, char text[64])
{
	snprintf(text, 64, "@bide-test-%d-%s", getpid(), name);
	return text;
}

socklen_t abstract_address(const char *name, struct sockaddr_un *address)
{
	char text[64];
	size_t length = strlen(abstract_text(name, text));
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, text + 1, length - 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

unsigned char pattern(unsigned seed, size_t position)
{
	uint32_t x = (uint32_t)position * 2654435761u + seed * 40503u;
	return (unsigned char)(x >> 24 ^ x >> 11);
}

void pattern_fill(unsigned seed, size_t position, void *buf, size_t size)
{
	unsigned char *bytes = buf;
	for (size_t i = 0; i < size; i++)
		bytes[i] = pattern(seed, position + i);
}

void pattern_check(unsigned seed, size_t position, const void *buf, size_t size)
{
	const unsigned char *bytes = buf;
	for (size_t i = 0; i < size; i++)
		must_msg(bytes[i] == pattern(seed, position + i), "byte %zu of stream %u is wrong",
		    position + i, seed);
}

/* ---- in a loop --------------------------------------------------------------------------------- */

struct watch {
	bide_timer timer;
	bide_task *task;
	bool is_over;
};

static void watch_ends(void *arg)
{
	struct watch *watch = arg;
	watch->is_over = true;
	bide_cancel(watch->task, "it hangs");
}

bide_result join_within(bide_task *task, bide_time limit)
{
	struct watch watch = { .task = task };
	must(bide_call_later(&watch.timer, limit, watch_ends, &watch) == 0);
	bide_result result = must_join(task);
	bide_timer_cancel(&watch.timer);
	must_msg(!watch.is_over, "a task hangs");
	return result;
}

void turns(int count)
{
	while (count-- > 0)
		must(bide_yield() == 0);
}

static void *beat(void *arg)
{
	struct heartbeat *heartbeat = arg;
	bide_time last = clock_monotonic();
	while (bide_sleep(heartbeat->period) == 0) {
		bide_time now = clock_monotonic();
		if (now - last > heartbeat->longest)
			heartbeat->longest = now - last;
		last = now;
		heartbeat->beats++;
	}
	return NULL;
}

void heartbeat_start(struct heartbeat *heartbeat, bide_time period)
{
	*heartbeat = (struct heartbeat){ .period = period };
	heartbeat->task = must_spawn(beat, heartbeat);
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
	bide_cancel(heartbeat->task, NULL);
	must_join(heartbeat->task);
}

int io_order;

static void *io_done(struct io *io, ssize_t count)
{
	io->err = count < 0 ? errno : 0;
	io->count = count;
	io->order = ++io_order;
	return count < 0 ? bide_fail(io->err) : NULL;
}

void *io_read(void *arg)
{
	struct io *io = arg;
	return io_done(io, bide_read(io->fd, io->buf, io->size ? io->size : sizeof io->buf));
}

void *io_recv(void *arg)
{
	struct io *io = arg;
	return io_done(io, bide_recv(io->fd, io->buf, io->size ? io->size : sizeof io->buf, 0));
}

void *io_write(void *arg)
{
	struct io *io = arg;
	return io_done(io, bide_write(io->fd, io->data, io->size));
}

void *io_write_all(void *arg)
{
	struct io *io = arg;
	return io_done(io, bide_write_all(io->fd, io->data, io->size, NULL));
}

void *io_send(void *arg)
{
	struct io *io = arg;
	return io_done(io, bide_send(io->fd, io->data, io->size, 0));
}

void *io_wait(void *arg)
{
	struct io *io = arg;
	return io_done(io, bide_fd_wait(io->fd, io->events));
}

void *io_accept(void *arg)
{
	struct io *io = arg;
	return io_done(io, bide_accept(io->fd, NULL, NULL));
}

bide_task *io_start(bide_fn *fn, struct io *io)
{
	io->count = -2;
	io->err = 0;
	bide_task *task = must_spawn(fn, io);
	int left = 20; /* turns, for one that never waits */
	do
		turns(1);
	while (left-- > 0 && bide_task_state(task) != BIDE_TASK_SUSPENDED && bide_task_state(task) != BIDE_TASK_DONE);
	return task;
}

bide_task *io_start_parked(bide_fn *fn, struct io *io, size_t *filled)
{
	for (;;) {
		if (filled)
			*filled += fill(io->fd);
		bide_task *task = io_start(fn, io);
		turns(2);
		if (!filled || io->count != 1)
			return task;
		must_join(task);
		*filled += 1;
	}
}
