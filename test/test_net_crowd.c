/* SPDX-License-Identifier: MIT
 * bide_serve() and a crowd: ten thousand connections, peers that misbehave in every way at random moments, servers
 * that end at random moments, and what a child process inherits. Statement 179, scenarios C6, F10, I4.
 *
 * The seed is printed; BIDE_TEST_SEED sets it. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static void echo(int fd, void *arg)
{
	int *alive = arg;
	char buf[64];
	ssize_t count;
	++*alive;
	while ((count = bide_recv(fd, buf, sizeof buf, 0)) > 0)
		if (bide_write_all(fd, buf, (size_t)count, NULL) < 0)
			break;
	--*alive;
}

struct server {
	int listener;
	bide_serve_opts opts;
	int alive;
	int err;
};

static void *serve(void *arg)
{
	struct server *server = arg;
	must(bide_serve(server->listener, echo, &server->alive, &server->opts) == -1);
	server->err = errno;
	return NULL;
}

static bide_task *start(struct server *server, struct sockaddr_in *address)
{
	server->opts.size = sizeof server->opts;
	server->listener = plain_listener(1000, address);
	return must_spawn(serve, server);
}

static void stop(struct server *server, bide_task *task)
{
	must(bide_cancel(task, NULL) == 0);
	join_within(task, LONG);
	must(server->err == ECANCELED && server->alive == 0 && bide_close(server->listener) == 0);
}

/* ---- ten thousand ------------------------------------------------------------------------------------------ */

#define CROWD 10000

/* The other ends live in a process of their own, since one may not have so many. It connects, and for each byte
 * that it is sent it has every connection echo one byte. */
static void be_the_crowd(const struct sockaddr_in *address, int count, int commands)
{
	static int fds[CROWD];
	char byte;
	for (int i = 0; i < count; i++)
		fds[i] = plain_connection(address);
	while (read(commands, &byte, 1) == 1) {
		for (int i = 0; i < count; i++)
			must(write(fds[i], &byte, 1) == 1);
		for (int i = 0; i < count; i++) {
			char answer = 0;
			must(read(fds[i], &answer, 1) == 1 && answer == byte);
		}
		must(write(commands, &byte, 1) == 1);
	}
	for (int i = 0; i < count; i++)
		reset_connection(fds[i]); /* leaves no port behind */
	raise(SIGKILL); /* no exit status, of which memcheck would have its own idea */
}

static void *ten_thousand(void *arg)
{
	const int *count = arg;
	struct server server = { .err = 0 };
	struct sockaddr_in address;
	struct rusage before, after;
	int commands[2], status;
	char byte = 'a';
	bide_task *task = start(&server, &address);
	make_unix(commands);
	pid_t crowd = fork();
	if (crowd == 0) {
		close(commands[0]);
		be_the_crowd(&address, *count, commands[1]);
	}
	close(commands[1]);
	long kib = resident_kib();
	while (server.alive < *count)
		must(bide_sleep(5 * BIDE_MSEC) == 0);
	for (int round = 0; round < 3; round++)
		must(bide_write(commands[0], &byte, 1) == 1 && bide_read(commands[0], &byte, 1) == 1);
	double each = (double)(resident_kib() - kib) / *count;
	printf("%d connections: %.2f KiB each\n", *count, each);
	must_msg(!suite_is_native() || each < 5.5, "%.2f KiB a connection", each);
	do /* doubts are settled, after 20 us of silence for each, and what that reported is heard */
		must(bide_sleep(100 * BIDE_MSEC) == 0);
	while (loop_current->descriptors.listed > 0);
	must(bide_sleep(100 * BIDE_MSEC) == 0);
	uint64_t turn = loop_current->ready.turn;
	int waits = counted.epoll_wait;
	getrusage(RUSAGE_THREAD, &before);
	must(bide_sleep(BIDE_SEC) == 0);
	getrusage(RUSAGE_THREAD, &after);
	must(counted.epoll_wait - waits <= 2 && loop_current->ready.turn - turn <= 2);
	must(after.ru_nvcsw - before.ru_nvcsw <= 3);
	must(bide_write(commands[0], &byte, 1) == 1 && bide_read(commands[0], &byte, 1) == 1);
	must(bide_close(commands[0]) == 0);
	must(waitpid(crowd, &status, 0) == crowd && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	while (server.alive > 0)
		must(bide_sleep(5 * BIDE_MSEC) == 0);
	stop(&server, task);
	return NULL;
}

/* Statement 179, scenario C6. */
START_TEST(ten_thousand_connections_are_served_and_cost_nothing_while_idle)
{
	struct rlimit limit;
	int count = suite_scaled_down(CROWD, 300);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < (rlim_t)count + 100)
		count = (int)limit.rlim_max - 100;
	run_real(ten_thousand, &count);
}
END_TEST

/* ---- peers that misbehave ------------------------------------------------------------------------------------ */

static struct random randomness;

static void seed_randomness(void)
{
	const char *seed = getenv("BIDE_TEST_SEED");
	randomness.state = seed ? strtoull(seed, NULL, 10) : (uint64_t)getpid();
	printf("seed %llu\n", (unsigned long long)randomness.state);
}

static const struct sockaddr_in *target;

static int peer_connect(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	must(fd >= 0 && bide_connect(fd, (const void *)target, sizeof *target) == 0);
	return fd;
}

static void take_a_break(void)
{
	must(bide_sleep((bide_time)random_below(&randomness, 3000) * BIDE_USEC) == 0);
}

static void one_byte_at_a_time(int fd)
{
	for (int i = 0; i < 50; i++) {
		char byte = (char)i, answer = 1;
		must(bide_send(fd, &byte, 1, 0) == 1);
		if (random_below(&randomness, 8) == 0)
			take_a_break();
		must(bide_recv(fd, &answer, 1, 0) == 1 && answer == byte);
	}
}

static void resets(int fd)
{
	static char bytes[3000];
	size_t done, size = (size_t)random_below(&randomness, sizeof bytes);
	must(bide_write_all(fd, bytes, size, &done) == (ssize_t)size);
	if (random_below(&randomness, 2) == 0)
		take_a_break();
	reset_connection(fd);
}

static void never_reads(int fd)
{
	static char bytes[65536];
	BIDE_TIMEOUT((bide_time)random_below(&randomness, 20) * BIDE_MSEC)
		while (bide_send(fd, bytes, sizeof bytes, 0) > 0)
			continue;
	must(errno == ETIMEDOUT); /* the server does not read while it cannot write */
	reset_connection(fd);
}

static void half_closes(int fd)
{
	unsigned char bytes[20000], back[1000];
	size_t done = 0;
	ssize_t count;
	pattern_fill(5, 0, bytes, sizeof bytes);
	must(bide_write_all(fd, bytes, sizeof bytes, NULL) == sizeof bytes && bide_shutdown(fd, SHUT_WR) == 0);
	while ((count = bide_recv(fd, back, 1 + (size_t)random_below(&randomness, sizeof back), 0)) > 0) {
		pattern_check(5, done, back, (size_t)count);
		done += (size_t)count;
	}
	must(count == 0 && done == sizeof bytes); /* all of it, then the end */
}

static void says_nothing(int fd)
{
	(void)fd;
	take_a_break();
}

static void *misbehave(void *arg)
{
	void (*const ways[])(int) = { one_byte_at_a_time, resets, never_reads, half_closes, says_nothing };
	long index = (long)(intptr_t)arg;
	take_a_break();
	int fd = peer_connect();
	ways[index % 5](fd);
	must(bide_close(fd) == 0 || errno == EBADF); /* resets() closes nothing, it only arms the reset */
	return NULL;
}

static void *bad_company(void *arg)
{
	enum { PEERS = 250 };
	const int *count = arg;
	static bide_task *peers[PEERS];
	struct server server = { .opts = { .max_conns = 100 } };
	struct sockaddr_in address;
	int before = count_fds();
	bide_task *task = start(&server, &address);
	target = &address;
	int good = peer_connect();
	for (int i = 0; i < *count; i++)
		peers[i] = must_spawn(misbehave, (void *)(intptr_t)i);
	for (int round = 0; round < 20; round++) {
		take_a_break();
		one_byte_at_a_time(good); /* is served all the while */
	}
	for (int i = 0; i < *count; i++)
		must_end_well(peers[i]);
	must(bide_close(good) == 0);
	while (server.alive > 0)
		must(bide_sleep(BIDE_MSEC) == 0);
	stop(&server, task);
	must(count_fds() == before);
	return NULL;
}

/* Scenario F10, and: one byte at a time, resets at random moments, never reads, half-closes. */
START_TEST(peers_that_misbehave_hurt_nobody_else)
{
	seed_randomness();
	int count = suite_scaled_down(250, 50);
	run_real(bad_company, &count);
}
END_TEST

/* ---- ends at random moments ------------------------------------------------------------------------------------ */

/* Goes on until something fails, which may be anything here. */
static void wander(int fd)
{
	static char bytes[30000];
	for (ssize_t count = 0; count >= 0;) {
		switch (random_below(&randomness, 5)) {
		case 0:
			count = bide_send(fd, bytes, 1 + (size_t)random_below(&randomness, sizeof bytes - 1), 0);
			break;
		case 1:
			BIDE_TIMEOUT((bide_time)random_below(&randomness, 2000) * BIDE_USEC)
				count = bide_recv(fd, bytes, sizeof bytes, 0);
			break;
		case 2:
			count = bide_sleep((bide_time)random_below(&randomness, 2000) * BIDE_USEC);
			break;
		case 3:
			count = bide_yield();
			break;
		default:
			if (random_below(&randomness, 4) == 0)
				count = random_below(&randomness, 2) ? bide_shutdown(fd, SHUT_WR) : (reset_connection(fd), -1);
		}
	}
}

static void *wanderer(void *arg)
{
	int fd = bide_dial("tcp", arg);
	if (fd < 0)
		return NULL;
	wander(fd);
	must(bide_close(fd) == 0);
	return NULL;
}

static void *random_end(void *arg)
{
	enum { WANDERERS = 30 };
	bide_task *wanderers[WANDERERS];
	char text[32];
	(void)arg;
	struct server server = { .opts = {
		sizeof server.opts, (unsigned)random_below(&randomness, 20), (unsigned)random_below(&randomness, 2),
		(bide_time)random_below(&randomness, 3) * 5 * BIDE_MSEC } };
	int before = count_fds();
	server.listener = bide_listen("tcp", "127.0.0.1:0", 0);
	address_text(server.listener, text);
	bide_task *task = must_spawn(serve, &server);
	settle(); /* it serves before its listener's number can be another's */
	for (int i = 0; i < WANDERERS; i++)
		wanderers[i] = must_spawn(wanderer, text);
	must(bide_sleep((bide_time)random_below(&randomness, 15) * BIDE_MSEC) == 0);
	bool is_closed = random_below(&randomness, 3) == 0;
	must((is_closed ? bide_close(server.listener) : bide_cancel(task, NULL)) == 0);
	bide_result result = join_within(task, LONG);
	must(server.alive == 0 && (server.err == ECANCELED || server.err == EBADF || result.err == ECANCELED));
	if (!is_closed && !(server.err && server.opts.flags == BIDE_SERVE_CLOSE))
		must(bide_close(server.listener) == 0);
	for (int i = 0; i < WANDERERS; i++) {
		if (random_below(&randomness, 2) == 0)
			bide_cancel(wanderers[i], NULL);
		join_within(wanderers[i], LONG);
	}
	must(count_fds() == before);
	return NULL;
}

static void *random_ends(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		random_end(NULL);
	return NULL;
}

START_TEST(servers_that_end_at_random_moments_leave_nothing)
{
	int rounds = suite_scaled_down(60, 10);
	seed_randomness();
	run_real(random_ends, &rounds);
}
END_TEST

/* ---- what a child inherits ---------------------------------------------------------------------------------------- */

extern char **environ;

/* How many descriptors a program has that is started now. */
static int inherited(void)
{
	char text[4096];
	ssize_t count;
	size_t size = 0;
	int fds[2], status, lines = 0;
	pid_t child;
	posix_spawn_file_actions_t actions;
	char *const command[] = { "sh", "-c", "ls /proc/self/fd", NULL };
	must(pipe2(fds, O_CLOEXEC) == 0 && posix_spawn_file_actions_init(&actions) == 0);
	must(posix_spawn_file_actions_adddup2(&actions, fds[1], 1) == 0);
	must(posix_spawnp(&child, "sh", &actions, NULL, command, environ) == 0);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	while ((count = read(fds[0], text + size, sizeof text - size)) > 0)
		size += (size_t)count;
	close(fds[0]);
	must(waitpid(child, &status, 0) == child && status == 0);
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

static void *with_everything_open(void *arg)
{
	const int *before = arg;
	struct server server = { .listener = bide_listen("tcp", "127.0.0.1:0", 100), .opts = BIDE_SERVE_OPTS_INIT };
	char text[32], name[64];
	int clients[50], pair[2], got;
	bide_task *task = must_spawn(serve, &server);
	address_text(server.listener, text);
	for (int i = 0; i < 50; i++)
		must((clients[i] = bide_dial("tcp", text)) >= 0);
	while (server.alive < 50)
		must(bide_sleep(BIDE_MSEC) == 0);
	int unix_fd = bide_listen("unix", abstract_text("inherit", name), 1), udp = bide_listen("udp", "127.0.0.1:0", 0);
	must(unix_fd >= 0 && udp >= 0 && bide_socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	must(bide_send_fd(pair[0], pair[0]) == 0 && (got = bide_recv_fd(pair[1])) >= 0);
	must(inherited() == *before);
	must(bide_close(got) == 0 && bide_close(unix_fd) == 0 && bide_close(udp) == 0);
	close_pair(pair);
	for (int i = 0; i < 50; i++)
		must(bide_close(clients[i]) == 0);
	stop(&server, task);
	return NULL;
}

/* Scenario I4. */
START_TEST(a_child_process_inherits_nothing)
{
	int before = inherited();
	run_real(with_everything_open, &before);
}
END_TEST

int main(void)
{
	return SUITE("net_crowd", TEST(ten_thousand_connections_are_served_and_cost_nothing_while_idle),
	    TEST(peers_that_misbehave_hurt_nobody_else),
	    TEST(servers_that_end_at_random_moments_leave_nothing), TEST(a_child_process_inherits_nothing));
}
