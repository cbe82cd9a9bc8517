/* SPDX-License-Identifier: MIT
 * A random life of many connections: connects, echoes, cancels, closes, resets, half closes, strangers'
 * closes; descriptors, tasks and bytes are counted at the end. The seed is printed with a failure; give
 * it as BIDE_TEST_SEED to see it again. Statements 83, 193, scenarios C15, E8, F1. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

#define PLACES 24 /* connections at a time */

/* One connection: two ends, each with a writer and a reader. */
struct flow {
	size_t sent, received;     /* bytes; the numbers of both ends must fit in the end */
	bool is_closed_by_force;   /* cancel, reset or close in the middle: bytes may be missing, not wrong */
};

struct side {
	struct soak *soak;
	struct connection *connection;
	int fd;
	unsigned generation;       /* of the connection, when the tasks began */
	struct flow *out, *in;
	size_t to_send;
};

struct connection {
	unsigned seed, generation;
	struct flow flows[2];
	struct side sides[2];
	bide_task *tasks[4];
	int fds[2];
	bool is_up;
};

struct soak {
	struct random random;
	struct connection connections[PLACES];
	int listener, unix_listener;
	char tcp_text[32], unix_text[64];
	unsigned long opened, bytes;
};

static size_t below(struct soak *soak, size_t limit)
{
	return (size_t)random_below(&soak->random, limit);
}

static void force(struct connection *connection)
{
	connection->flows[0].is_closed_by_force = connection->flows[1].is_closed_by_force = true;
}

static void *sends(void *arg)
{
	struct side *side = arg;
	struct soak *soak = side->soak;
	unsigned char buf[3000];
	while (side->to_send > 0) {
		size_t size = 1 + below(soak, below(soak, 4) ? 100 : sizeof buf), done = 0;
		size = size < side->to_send ? size : side->to_send;
		pattern_fill(side->connection->seed, side->out->sent, buf, size);
		ssize_t count;
		if (below(soak, 2)) {
			count = bide_write_all(side->fd, buf, size, &done);
		} else {
			count = bide_send(side->fd, buf, size, 0);
			done = count > 0 ? (size_t)count : 0;
		}
		side->out->sent += done;
		side->to_send -= done;
		if (count < 0)
			return bide_fail(errno);
		if (below(soak, 8) == 0 && bide_sleep((bide_time)below(soak, 300) * BIDE_USEC) < 0)
			return bide_fail(errno);
	}
	shutdown(side->fd, SHUT_WR);
	return NULL;
}

static void *receives(void *arg)
{
	struct side *side = arg;
	struct soak *soak = side->soak;
	unsigned char buf[2000];
	for (;;) {
		size_t size = 1 + below(soak, below(soak, 4) ? 50 : sizeof buf);
		ssize_t count;
		switch (below(soak, 4)) {
		case 0:
			count = bide_read(side->fd, buf, size);
			break;
		case 1:
			count = bide_fd_wait(side->fd, POLLIN);
			if (count >= 0)
				count = bide_recv(side->fd, buf, size, 0);
			break;
		default:
			count = bide_recv(side->fd, buf, size, 0);
		}
		if (count < 0)
			return bide_fail(errno);
		if (count == 0)
			return NULL;
		pattern_check(side->connection->seed, side->in->received, buf, (size_t)count);
		side->in->received += (size_t)count;
		soak->bytes += (size_t)count;
		if (below(soak, 16) == 0 && bide_yield() < 0)
			return bide_fail(errno);
	}
}

static int dial_and_accept(struct soak *soak, int fds[2])
{
	bool is_tcp = below(soak, 2);
	fds[0] = bide_dial(is_tcp ? "tcp" : "unix", is_tcp ? soak->tcp_text : soak->unix_text);
	must_msg(fds[0] >= 0, "dial: %s", strerror(errno));
	fds[1] = bide_accept(is_tcp ? soak->listener : soak->unix_listener, NULL, NULL);
	must_msg(fds[1] >= 0, "accept: %s", strerror(errno));
	return 0;
}

static void open_connection(struct soak *soak, struct connection *connection)
{
	switch (below(soak, 4)) {
	case 0:
		make_unix(connection->fds); /* blocking ones, and numbers that the loop does not know are new */
		break;
	case 1:
		make_tcp(connection->fds);
		break;
	default:
		dial_and_accept(soak, connection->fds);
	}
	connection->seed = (unsigned)below(soak, 1000000);
	connection->flows[0] = connection->flows[1] = (struct flow){ 0 };
	for (int i = 0; i < 2; i++) {
		struct side *side = &connection->sides[i];
		*side = (struct side){ soak, connection, connection->fds[i], 0, &connection->flows[i],
			&connection->flows[1 - i], below(soak, 20000) };
		connection->tasks[2 * i] = must_spawn(sends, side);
		connection->tasks[2 * i + 1] = must_spawn(receives, side);
	}
	connection->is_up = true;
	soak->opened++;
}

static void join_connection(struct connection *connection)
{
	for (int i = 0; i < 4; i++) {
		bide_result result = join_within(connection->tasks[i], LONG);
		bool is_forced = connection->flows[0].is_closed_by_force;
		must_msg(result.err == 0 || is_forced, "task %d failed: %s", i, strerror(result.err));
	}
	for (int i = 0; i < 2; i++) {
		struct flow *flow = &connection->flows[i];
		must(flow->received <= flow->sent);
		must(flow->is_closed_by_force || flow->received == flow->sent);
	}
}

static void finish(struct connection *connection)
{
	join_connection(connection);
	for (int i = 0; i < 2; i++)
		if (connection->fds[i] >= 0)
			must(bide_close(connection->fds[i]) == 0);
	connection->is_up = false;
}

static void close_side(struct connection *connection, int i)
{
	if (connection->fds[i] >= 0)
		must(bide_close(connection->fds[i]) == 0);
	connection->fds[i] = -1;
}

/* Ends a connection in one of the ways there are. */
static void end_connection(struct soak *soak, struct connection *connection)
{
	switch (below(soak, 6)) {
	case 0: /* in peace */
	case 1:
		break;
	case 2: /* cancels; the peers of who is canceled would wait for ever, so both ends are closed then */
		force(connection);
		for (int i = 0; i < 4; i++)
			if (below(soak, 2))
				(void)bide_cancel(connection->tasks[i], NULL);
		if (below(soak, 2))
			turns(1);
		close_side(connection, 0);
		close_side(connection, 1);
		break;
	case 3: /* one end is closed; the other one learns of it from the system */
		force(connection);
		close_side(connection, (int)below(soak, 2));
		break;
	case 4: { /* a reset */
		force(connection);
		struct linger linger = { 1, 0 };
		(void)setsockopt(connection->fds[0], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
		close_side(connection, 0);
		break;
	}
	default: /* forgotten, and waited for again by nobody */
		force(connection);
		must(bide_fd_forget(connection->fds[0]) == 0 && bide_fd_forget(connection->fds[1]) == 0);
		shutdown(connection->fds[0], SHUT_RDWR);
		shutdown(connection->fds[1], SHUT_RDWR);
	}
	finish(connection);
	/* Now and then a stranger takes one of the numbers that have become free, and gives it back. */
	if (below(soak, 4) == 0) {
		int fds[2];
		make_pipe(fds);
		must_write(fds[1], "x", 1);
		struct io io = { .fd = fds[0] };
		must(join_within(io_start(io_read, &io), LONG).err == 0 && io.count == 1);
		if (below(soak, 2)) {
			bide_task *reader = io_start(io_read, &io);
			must_write(fds[1], "x", 1);
			must(join_within(reader, LONG).err == 0 && io.count == 1);
		}
		close(fds[0]);
		close(fds[1]);
	}
}

/* What strangers closed may be listed still, until the loop asks again. */
static void check_doubts(const struct descriptors *descriptors)
{
	size_t listed = 0;
	const struct list *const lists[] = { &descriptors->doubted, &descriptors->asked };
	for (int i = 0; i < 2; i++)
		list_each(link, lists[i]) {
			const struct descriptor *descriptor = container_of(link, struct descriptor, doubt);
			must(list_is_empty(&descriptor->waiters[0]) && list_is_empty(&descriptor->waiters[1]));
			must(descriptor->is_asked == i);
			listed++;
		}
	must(listed == descriptors->listed);
}

static void *soak_main(void *arg)
{
	struct soak *soak = arg;
	int steps = suite_scaled_down(1500, 150);
	soak->listener = bide_listen("tcp", "127.0.0.1:0", 0);
	abstract_text("soak", soak->unix_text);
	soak->unix_listener = bide_listen("unix", soak->unix_text, 0);
	must(soak->listener >= 0 && soak->unix_listener >= 0);
	address_text(soak->listener, soak->tcp_text);
	for (int i = 0; i < steps; i++) {
		struct connection *connection = &soak->connections[below(soak, PLACES)];
		if (connection->is_up)
			end_connection(soak, connection);
		else
			open_connection(soak, connection);
		if (below(soak, 4) == 0)
			must(bide_sleep((bide_time)below(soak, 1000) * BIDE_USEC) == 0);
	}
	for (int i = 0; i < PLACES; i++)
		if (soak->connections[i].is_up)
			end_connection(soak, &soak->connections[i]);
	must(bide_close(soak->listener) == 0 && bide_close(soak->unix_listener) == 0);
	must(loop_current->descriptors.waiting == 0);
	check_doubts(&loop_current->descriptors);
	must(timers_next(&loop_current->timers) == BIDE_NEVER);
	sched_check(loop_current);
	return NULL;
}

static uint64_t first_seed;

START_TEST(a_random_life_leaves_nothing_and_loses_nothing)
{
	static struct soak soak;
	struct counting counting;
	static struct reports reports;
	uint64_t seed = first_seed + (uint64_t)_i / 2;
	memset(&soak, 0, sizeof soak);
	soak.random = (struct random){ seed };
	counting_init(&counting, false);
	bide_config config = config_with(_i % 2 ? BIDE_RANDOM_ORDER : 0, &reports);
	config.seed = seed ? seed : 1;
	config.allocator = &counting.allocator;
	int fds = count_fds();
	bide_result result = { NULL, -1 };
	must_msg(bide_run(soak_main, &soak, &config, &result) == 0 && result.err == 0,
	    "seed %llu: %s", (unsigned long long)seed, strerror(errno));
	must_msg(count_fds() == fds, "seed %llu: descriptors", (unsigned long long)seed);
	must_msg(counting_is_balanced(&counting), "seed %llu: memory", (unsigned long long)seed);
	must_msg(reports.count[BIDE_REPORT_LEFTOVER] == 0 && reports.count[BIDE_REPORT_DEADLOCK] == 0,
	    "seed %llu: %s%s", (unsigned long long)seed, reports.text[BIDE_REPORT_LEFTOVER],
	    reports.text[BIDE_REPORT_DEADLOCK]);
	must(soak.opened > 0 && soak.bytes > 0);
}
END_TEST

int main(void)
{
	const char *given = getenv("BIDE_TEST_SEED");
	first_seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000;
	printf("first seed %llu\n", (unsigned long long)first_seed);
	fflush(stdout);
	return SUITE("io_soak", LOOP(a_random_life_leaves_nothing_and_loses_nothing, 0, given ? 2 : 8));
}
