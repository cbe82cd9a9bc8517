/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: two threads that hand a turn to each other. */
#include "pingpong.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

struct court {
	_Atomic int turn; /* of player 0 or 1 */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int pipes[2][2]; /* [player]: what is written for that player */
	pthread_barrier_t start;
	const struct means *means;
	int second_cpu;
	uint64_t rounds;
};

/* How a turn is given to a player, and how a player waits for it. */
struct means {
	void (*give)(struct court *court, int player);
	void (*await)(struct court *court, int player);
};

static void set_turn(struct court *court, int player)
{
	atomic_store_explicit(&court->turn, player, memory_order_release);
}

static bool has_turn(struct court *court, int player)
{
	return atomic_load_explicit(&court->turn, memory_order_acquire) == player;
}

static void yield_await(struct court *court, int player)
{
	while (!has_turn(court, player))
		sched_yield();
}

static void spin_await(struct court *court, int player)
{
	while (!has_turn(court, player)) {
	}
}

static void futex_give(struct court *court, int player)
{
	set_turn(court, player);
	syscall(SYS_futex, &court->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(struct court *court, int player)
{
	while (!has_turn(court, player))
		syscall(SYS_futex, &court->turn, FUTEX_WAIT_PRIVATE, 1 - player, NULL, NULL, 0);
}

static void condvar_give(struct court *court, int player)
{
	pthread_mutex_lock(&court->mutex);
	set_turn(court, player);
	pthread_cond_signal(&court->changed);
	pthread_mutex_unlock(&court->mutex);
}

static void condvar_await(struct court *court, int player)
{
	pthread_mutex_lock(&court->mutex);
	while (!has_turn(court, player))
		pthread_cond_wait(&court->changed, &court->mutex);
	pthread_mutex_unlock(&court->mutex);
}

static void pipe_give(struct court *court, int player)
{
	if (write(court->pipes[player][1], "x", 1) != 1)
		bench_fail("write to a pipe failed");
}

static void pipe_await(struct court *court, int player)
{
	char byte;
	if (read(court->pipes[player][0], &byte, 1) != 1)
		bench_fail("read from a pipe failed");
}

static const struct means all_means[] = {
	[PINGPONG_SCHED_YIELD] = { set_turn, yield_await },
	[PINGPONG_SPIN] = { set_turn, spin_await },
	[PINGPONG_FUTEX] = { futex_give, futex_await },
	[PINGPONG_CONDVAR] = { condvar_give, condvar_await },
	[PINGPONG_PIPE] = { pipe_give, pipe_await },
};

static void *play_second(void *arg)
{
	struct court *court = arg;
	bench_pin(court->second_cpu);
	pthread_barrier_wait(&court->start);
	for (uint64_t i = 0; i < court->rounds; i++) {
		court->means->await(court, 1);
		court->means->give(court, 0);
	}
	return NULL;
}

static int64_t play_first(struct court *court, bench_clock clock)
{
	pthread_barrier_wait(&court->start);
	int64_t start = bench_now(clock);
	for (uint64_t i = 0; i < court->rounds; i++) {
		court->means->give(court, 1);
		court->means->await(court, 0);
	}
	return bench_now(clock) - start;
}

static int open_court(struct court *court)
{
	if (pipe(court->pipes[0]) != 0)
		return -1;
	if (pipe(court->pipes[1]) != 0)
		return -1;
	pthread_mutex_init(&court->mutex, NULL);
	pthread_cond_init(&court->changed, NULL);
	pthread_barrier_init(&court->start, NULL, 2);
	return 0;
}

static void close_court(struct court *court)
{
	for (int i = 0; i < 4; i++)
		close(court->pipes[i / 2][i % 2]);
	pthread_mutex_destroy(&court->mutex);
	pthread_cond_destroy(&court->changed);
	pthread_barrier_destroy(&court->start);
}

double pingpong_measure(const bench_case *self, pingpong_kind kind, bool two_cpus, uint64_t hops)
{
	struct court court = { .means = &all_means[kind], .second_cpu = bench_options.cpu[two_cpus],
			.rounds = (hops + 1) / 2 };
	pthread_t second;
	if (open_court(&court) != 0 || pthread_create(&second, NULL, play_second, &court) != 0)
		return -1;
	int64_t spent = play_first(&court, self->clock);
	pthread_join(second, NULL);
	close_court(&court);
	return (double)spent * (double)hops / (2.0 * (double)court.rounds);
}
