/* SPDX-License-Identifier: MIT
 * What an echo costs beside a hundred others: all system calls are counted, from outside, by ptrace. Statements
 * 160, 163; the bar of performance.md.
 * valgrind: skip (it and emulators have no ptrace) */
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "runs.h"
#include "sched/doubt.h"
#include "sockets.h"
#include "suite.h"
#include "traced.h"

#define CONNECTIONS 100
#define ROUNDS 10

static int fds[CONNECTIONS][2];
static int answered;

static void *echo(void *arg)
{
	int fd = *(int *)arg;
	char buf[64];
	ssize_t count;
	while ((count = bide_recv(fd, buf, sizeof buf, 0)) > 0) {
		must(bide_send(fd, buf, (size_t)count, 0) == count);
		answered++;
	}
	must(bide_close(fd) == 0);
	return NULL;
}

/* Its own calls: a write and a read an echo. */
static void be_all_clients(int round)
{
	char byte = 'x';
	for (int i = 0; i < CONNECTIONS; i++)
		must_write(fds[i][1], &byte, 1);
	while (answered < (round + 1) * CONNECTIONS)
		must(bide_yield() == 0);
	for (int i = 0; i < CONNECTIONS; i++)
		must(read(fds[i][1], &byte, 1) == 1);
}

static void *serve(void *arg)
{
	bide_task *tasks[CONNECTIONS];
	must(bide_fault(NULL) == 0);
	for (int i = 0; i < CONNECTIONS; i++) {
		make_tcp(fds[i]);
		tasks[i] = must_spawn(echo, &fds[i][0]);
	}
	be_all_clients(0); /* everybody is registered, and known */
	traced_mark();
	for (int round = 1; round <= ROUNDS; round++)
		be_all_clients(round);
	traced_mark();
	for (int i = 0; i < CONNECTIONS; i++) {
		close(fds[i][1]);
		must_end_well(tasks[i]);
	}
	return arg;
}

static void run_server(void)
{
	run_virtual(serve, NULL); /* in real time looks would be made by the machine's speed */
}

START_TEST(among_a_hundred_connections_an_echo_is_two_system_calls_and_a_share_of_a_wait)
{
	const long echoes = CONNECTIONS * ROUNDS;
	struct traced traced;
	bide_time begin = clock_monotonic();
	if (!traced_run(run_server, &traced))
		return;
	/* Doubts are asked about by time, in passing: 32 each 20 ms (sched/doubt.c). */
	long controls = traced.of[SYS_epoll_ctl], asked = (long)((clock_monotonic() - begin) / DOUBT_NS + 1) * 32;
	long others = traced.calls - 4 * echoes - controls; /* nor recv and send, and the clients' read and write */
	printf("%ld echoes: %ld recv, %ld send, %ld epoll_ctl, %ld others\n", echoes, traced.of[SYS_recvfrom],
	    traced.of[SYS_sendto], controls, others);
	ck_assert_int_eq(traced.of[SYS_recvfrom], echoes);
	ck_assert_int_eq(traced.of[SYS_sendto], echoes);
	ck_assert_int_le(controls, asked); /* none a wait */
	if (!suite_is_hostile()) /* there each event comes alone */
		ck_assert_int_le(others, echoes / 5);
}
END_TEST

int main(void)
{
	return SUITE("io_syscalls",
	    TEST(among_a_hundred_connections_an_echo_is_two_system_calls_and_a_share_of_a_wait));
}
