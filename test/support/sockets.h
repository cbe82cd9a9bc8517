/* SPDX-License-Identifier: MIT
 * Descriptors of every kind in pairs, made with the system's own calls, and what tests do with them. */
#ifndef SUPPORT_SOCKETS_H
#define SUPPORT_SOCKETS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <bide.h>

#include "suite.h"

/* ---- pairs: fds[0] reads what is written to fds[1] ---- */

typedef void make_pair(int fds[2]);

make_pair make_tcp, make_tcp6, make_unix, make_seqpacket, make_unix_datagram, make_udp;
make_pair make_pipe, make_fifo;
make_pair make_pty;     /* fds[0] is the slave, in raw mode */
make_pair make_eventfd; /* twice the same */

enum {
	TWO_WAY = 1, /* fds[1] also reads what is written to fds[0] */
	STREAM = 2,  /* bytes without boundaries; the end of one side is told to the other */
	SOCKET = 4,
	TCP = 8
};

struct fd_kind {
	const char *name;
	make_pair *make;
	unsigned traits;
};

/* All but eventfd, whose transfers are numbers. */
#define FD_KINDS 9
extern const struct fd_kind fd_kinds[FD_KINDS];

/* Kinds whose traits include `traits`; the i-th of them, NULL beyond the last one. */
const struct fd_kind *kind_with(unsigned traits, int i);

/* Closes what is not negative, by bide_close(). */
void close_pair(int fds[2]);

/* ---- one descriptor, without the library ---- */

void set_nonblocking(int fd, bool on);
bool is_nonblocking(int fd);
bool is_cloexec(int fd);
bool is_open(int fd);
int socket_option(int fd, int level, int name);
/* So that few bytes fill it. */
void shrink_buffers(int fd);
/* The peer's death without a word: RST instead of FIN. */
void reset_connection(int fd);

/* Writes all of it, and fails the test otherwise. */
void must_write(int fd, const void *buf, size_t size);
/* Writes until there is no room; how many bytes. Flags are left as they are. */
size_t fill(int fd);
/* Reads until nothing is there, or the end; how many bytes. */
size_t drain(int fd);
/* What a read would get now: FIONREAD. */
int bytes_waiting(int fd);

/* A listening TCP socket on 127.0.0.1, blocking, made without the library, and its address. */
int plain_listener(int backlog, struct sockaddr_in *address);
int plain_connection(const struct sockaddr_in *address);
struct sockaddr_in local_address(int fd);
/* "127.0.0.1:port" of a socket. */
const char *address_text(int fd, char text[32]);

/* An abstract unix address that no other process has: as bide_dial() wants it, and as connect() does. */
const char *abstract_text(const char *name, char text[64]);
socklen_t abstract_address(const char *name, struct sockaddr_un *address);

/* The bytes that both ends can make up: byte number `position` of stream `seed`. */
unsigned char pattern(unsigned seed, size_t position);
void pattern_fill(unsigned seed, size_t position, void *buf, size_t size);
/* Fails the test if buf is not what pattern_fill() makes. */
void pattern_check(unsigned seed, size_t position, const void *buf, size_t size);

/* ---- in a loop ---- */

/* Joins `task`; fails the test if it has not ended after `limit` on the loop's clock. */
bide_result join_within(bide_task *task, bide_time limit);
/* Such a limit, that says "it hangs". */
#define LONG (3 * BIDE_SEC * suite_scale())

/* Lets every ready task run, so often. */
void turns(int count);

/* Counts up once in `period` of real time, beside whatever else runs. */
struct heartbeat {
	bide_task *task;
	bide_time period;
	int beats;
	bide_time longest; /* between two beats */
};
void heartbeat_start(struct heartbeat *heartbeat, bide_time period);
void heartbeat_stop(struct heartbeat *heartbeat);

/* A call of a task of its own, and what became of it. */
struct io {
	int fd;
	int events;
	size_t size;
	const void *data;
	char buf[64];
	ssize_t count; /* what it returned; -2 until then */
	int err;       /* errno if that is -1 */
	int order;     /* 1 for the first one of all to return, and so on; set io_order to 0 before */
};
extern int io_order;
bide_fn io_read, io_recv, io_write, io_write_all, io_send, io_wait, io_accept;
/* Spawns fn(io) and lets it run until it waits. */
bide_task *io_start(bide_fn *fn, struct io *io);
/* As io_start, for one that must wait. Not NULL: it writes a byte, its descriptor is filled before, and again if
 * it takes that byte a moment later, as a TCP socket may; *filled grows by what went in. */
bide_task *io_start_parked(bide_fn *fn, struct io *io, size_t *filled);

#endif
