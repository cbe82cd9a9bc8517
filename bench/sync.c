/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: handing over between two tasks by a mutex, a semaphore, a condition.
 *
 * A hop is one hand-over: the one parks and the other runs. With the mutex both want it all the time, so
 * each unlock gives it to the other one; with semaphores and conditions a turn is passed to and fro. Beside
 * them two threads on one CPU that pass a turn by pthread mutex and condition variable. Starting is
 * outside the clock. */
#include <bide/loop.h>
#include <bide/sync.h>
#include <bide/task.h>

#include "common/bench.h"
#include "common/pingpong.h"

struct game {
	bench_clock clock;
	const struct means *means;
	uint64_t rounds;
	int64_t spent;
	bool has_failed;
	int turn; /* of player 0 or 1 */
	bide_mutex mutex;
	bide_cond changed[2];
	bide_sem turns[2];
};

/* What a player does in a round, which has one turn of it. */
struct means {
	int (*play)(struct game *game, int player);
	bool holds_mutex; /* it has the mutex all the time, but while it waits */
};

static int play_mutex(struct game *game, int player)
{
	(void)player;
	if (bide_mutex_lock(&game->mutex) < 0)
		return -1;
	return bide_mutex_unlock(&game->mutex);
}

static int play_sem(struct game *game, int player)
{
	if (bide_sem_release(&game->turns[!player], 1) < 0)
		return -1;
	return bide_sem_acquire(&game->turns[player], 1);
}

static int play_cond(struct game *game, int player)
{
	while (game->turn != player)
		if (bide_cond_wait(&game->changed[player], &game->mutex) < 0)
			return -1;
	game->turn = !player;
	return bide_cond_signal(&game->changed[!player], 1);
}

static const struct means mutex_means = { play_mutex, false }, sem_means = { play_sem, false },
	cond_means = { play_cond, true };

static void play(struct game *game, int player)
{
	if (game->means->holds_mutex && bide_mutex_lock(&game->mutex) < 0)
		game->has_failed = true;
	for (uint64_t i = 0; i < game->rounds; i++)
		if (game->means->play(game, player) < 0)
			game->has_failed = true;
	if (game->means->holds_mutex && bide_mutex_unlock(&game->mutex) < 0)
		game->has_failed = true;
}

static void *second_player(void *arg)
{
	play(arg, 1);
	return arg;
}

static void *run_game(void *arg)
{
	struct game *game = arg;
	bide_task *second = bide_spawn(second_player, game);
	if (!second)
		return NULL;
	if (game->means == &mutex_means) { /* the second one is in line, and from now on one always is */
		bide_mutex_lock(&game->mutex);
		bide_yield();
		bide_mutex_unlock(&game->mutex);
	}
	int64_t start = bench_now(game->clock);
	play(game, 0);
	game->spent = bench_now(game->clock) - start;
	if (game->means == &sem_means)
		bide_sem_release(&game->turns[1], 1); /* the second one's last turn */
	return bide_join(second, NULL) == 0 && !game->has_failed ? game : NULL;
}

static double hops(const bench_case *self, uint64_t count)
{
	struct game game = { .clock = self->clock, .means = self->arg, .rounds = count / 2 + 1 };
	bide_result result;
	if (bide_run(run_game, &game, NULL, &result) != 0 || !result.value)
		return -1;
	return (double)game.spent * (double)count / (2.0 * (double)game.rounds);
}

static double thread_hops(const bench_case *self, uint64_t count)
{
	return pingpong_measure(self, PINGPONG_CONDVAR, false, count);
}

#define MUTEX "mutex"
#define SEM "semaphore"
#define COND "mutex and condition"
#define THREADS "2 threads, mutex and condvar"

static bench_case cases[] = {
	{ .name = MUTEX, .run = hops, .arg = &mutex_means },
	{ .name = SEM, .run = hops, .arg = &sem_means },
	{ .name = COND, .run = hops, .arg = &cond_means },
	{ .name = THREADS, .run = thread_hops, .vs = COND },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "sync", "handing over between two tasks by mutex, semaphore, condition");
	bench_group("a hop", cases, sizeof cases / sizeof *cases);
	bench_bar(MUTEX, BENCH_MEDIAN_AT_MOST, 30);
	bench_bar(SEM, BENCH_MEDIAN_AT_MOST, 30);
	bench_bar(COND, BENCH_MEDIAN_AT_MOST, 30);
	bench_bar(THREADS, BENCH_RATIO_AT_LEAST, 100);
	return bench_end();
}
