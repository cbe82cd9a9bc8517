/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: channels between two tasks, of one loop and of two.
 *
 * Ping-pong: a word to the other one by one channel and back by another; a hop is one way. Stream: one
 * sends and the other receives, an item is one hop. Without a buffer each item is a switch there and one
 * back; with a buffer the two change places once for many items. Beside them two threads on one CPU that
 * pass a turn by mutex and condition variable; and, where the go tool is found, Go's channels on one CPU:
 * a child process that is built once, runs the same loops and tells its own CPU time. Starting is outside
 * the clock.
 *
 * Between two loops, which have a CPU each: shared channels, a hop and an item, in wall time; beside them two
 * threads with a bounded queue under a mutex each way. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bide/chan.h>
#include <bide/loop.h>
#include <bide/task.h>

#include "common/bench.h"
#include "common/boundedqueue.h"
#include "common/go.h"
#include "common/pingpong.h"
#include "peers/fiber.h"

struct game {
	bench_clock clock;
	size_t capacity;
	bool is_stream;
	uint64_t rounds;
	int64_t spent;
	bide_chan *there, *back;
};

static int bounce(struct game *game)
{
	for (uint64_t i = 0; i < game->rounds; i++) {
		uint64_t word;
		if (bide_chan_recv(game->there, &word) < 0 || bide_chan_send(game->back, &word) < 0)
			return -1;
	}
	return 0;
}

static int drain(struct game *game)
{
	uint64_t word;
	for (uint64_t i = 0; i < game->rounds; i++)
		if (bide_chan_recv(game->there, &word) < 0 || word != i)
			return -1;
	return 0;
}

static void *second_player(void *arg)
{
	struct game *game = arg;
	int status = game->is_stream ? drain(game) : bounce(game);
	return status < 0 ? NULL : game;
}

static int ping(struct game *game)
{
	for (uint64_t i = 0; i < game->rounds; i++) {
		uint64_t word = i;
		if (bide_chan_send(game->there, &word) < 0 || bide_chan_recv(game->back, &word) < 0 || word != i)
			return -1;
	}
	return 0;
}

static int pour(struct game *game)
{
	for (uint64_t i = 0; i < game->rounds; i++)
		if (bide_chan_send(game->there, &i) < 0)
			return -1;
	return 0;
}

static void *run_game(void *arg)
{
	struct game *game = arg;
	bide_result result;
	game->there = bide_chan_new(sizeof(uint64_t), game->capacity, 0, NULL);
	game->back = bide_chan_new(sizeof(uint64_t), game->capacity, 0, NULL);
	bide_task *second = bide_spawn(second_player, game);
	if (!game->there || !game->back || !second)
		return NULL;
	bide_yield(); /* it waits */
	int64_t start = bench_now(game->clock);
	int status = game->is_stream ? pour(game) : ping(game);
	if (bide_join(second, &result) < 0)
		return NULL;
	game->spent = bench_now(game->clock) - start;
	bide_chan_unref(game->there);
	bide_chan_unref(game->back);
	return status == 0 ? result.value : NULL;
}

static double hops(const bench_case *self, uint64_t count, bool is_stream)
{
	uint64_t per_round = is_stream ? 1 : 2;
	struct game game = { .clock = self->clock, .capacity = (size_t)self->number, .is_stream = is_stream,
		.rounds = count / per_round + 1 };
	bide_result result;
	if (bide_run(run_game, &game, NULL, &result) != 0 || !result.value)
		return -1;
	return (double)game.spent * (double)count / (double)(game.rounds * per_round);
}

static double pingpong(const bench_case *self, uint64_t count)
{
	return hops(self, count, false);
}

static double stream(const bench_case *self, uint64_t count)
{
	return hops(self, count, true);
}

/* ---- two loops ------------------------------------------------------------------------------------- */

/* One word there and back before the clock starts, so that both are at it; one back at a stream's end. */
static void *second_main(void *arg)
{
	struct game *game = arg;
	uint64_t word;
	bool worked = bide_chan_recv(game->there, &word) == 0 && bide_chan_send(game->back, &word) == 0 &&
	    second_player(game) && (!game->is_stream || bide_chan_send(game->back, &word) == 0);
	return worked ? game : NULL;
}

static void *second_thread(void *arg)
{
	bide_result result;
	bench_pin(bench_options.cpu[1]);
	return bide_run(second_main, arg, NULL, &result) == 0 ? result.value : NULL;
}

static void *first_main(void *arg)
{
	struct game *game = arg;
	uint64_t word = 0;
	if (bide_chan_send(game->there, &word) < 0 || bide_chan_recv(game->back, &word) < 0)
		return NULL;
	int64_t start = bench_now(game->clock);
	int status = game->is_stream ? pour(game) : ping(game);
	if (status == 0 && game->is_stream)
		status = bide_chan_recv(game->back, &word);
	game->spent = bench_now(game->clock) - start;
	return status == 0 ? game : NULL;
}

static double apart(const bench_case *self, uint64_t count, bool is_stream)
{
	uint64_t per_round = is_stream ? 1 : 2;
	struct game game = { .clock = self->clock, .is_stream = is_stream, .rounds = count / per_round + 1 };
	pthread_t thread;
	bide_result result;
	void *second = NULL;
	game.there = bide_chan_new(sizeof(uint64_t), (size_t)self->number, BIDE_CHAN_SHARED, NULL);
	game.back = bide_chan_new(sizeof(uint64_t), (size_t)self->number, BIDE_CHAN_SHARED, NULL);
	if (!game.there || !game.back || pthread_create(&thread, NULL, second_thread, &game) != 0)
		return -1;
	bool worked = bide_run(first_main, &game, NULL, &result) == 0 && result.value;
	worked = pthread_join(thread, &second) == 0 && second && worked;
	bide_chan_unref(game.there);
	bide_chan_unref(game.back);
	return worked ? (double)game.spent * (double)count / (double)(game.rounds * per_round) : -1;
}

static double pingpong_apart(const bench_case *self, uint64_t count)
{
	return apart(self, count, false);
}

static double stream_apart(const bench_case *self, uint64_t count)
{
	return apart(self, count, true);
}

struct queues {
	struct boundedqueue there, back;
	bool is_stream;
	uint64_t rounds;
};

static void *second_queue_thread(void *arg)
{
	struct queues *queues = arg;
	bench_pin(bench_options.cpu[1]);
	boundedqueue_put(&queues->back, boundedqueue_take(&queues->there));
	for (uint64_t i = 0; i < queues->rounds; i++) {
		uint64_t word = boundedqueue_take(&queues->there);
		if (!queues->is_stream)
			boundedqueue_put(&queues->back, word);
		else if (word != i)
			return NULL;
	}
	boundedqueue_put(&queues->back, 0);
	return queues;
}

static void play_queues(struct queues *queues)
{
	for (uint64_t i = 0; i < queues->rounds; i++) {
		boundedqueue_put(&queues->there, i);
		if (!queues->is_stream)
			boundedqueue_take(&queues->back);
	}
	boundedqueue_take(&queues->back);
}

static double queues_apart(const bench_case *self, uint64_t count, bool is_stream)
{
	static struct queues queues;
	uint64_t per_round = is_stream ? 1 : 2;
	pthread_t thread;
	void *second;
	queues.is_stream = is_stream;
	queues.rounds = count / per_round + 1;
	boundedqueue_init(&queues.there, (size_t)self->number);
	boundedqueue_init(&queues.back, (size_t)self->number);
	if (pthread_create(&thread, NULL, second_queue_thread, &queues) != 0)
		return -1;
	boundedqueue_put(&queues.there, 0);
	boundedqueue_take(&queues.back);
	int64_t start = bench_now(self->clock);
	play_queues(&queues);
	double spent = (double)(bench_now(self->clock) - start);
	bool worked = pthread_join(thread, &second) == 0 && second;
	return worked ? spent * (double)count / (double)(queues.rounds * per_round) : -1;
}

static double queue_pingpong(const bench_case *self, uint64_t count)
{
	return queues_apart(self, count, false);
}

static double queue_stream(const bench_case *self, uint64_t count)
{
	return queues_apart(self, count, true);
}

static double thread_hops(const bench_case *self, uint64_t count)
{
	return pingpong_measure(self, PINGPONG_CONDVAR, false, count);
}

/* ---- Go -------------------------------------------------------------------------------------------- */

static const char go_program[] =
	"package main\n"
	"import (\"fmt\"; \"os\"; \"runtime\"; \"strconv\"; \"syscall\")\n"
	GO_SPENT
	"func main() {\n"
	"	runtime.GOMAXPROCS(1)\n"
	"	stream := os.Args[1] == \"stream\"\n"
	"	capacity, _ := strconv.Atoi(os.Args[2])\n"
	"	rounds, _ := strconv.ParseUint(os.Args[3], 10, 64)\n"
	"	there, back, done := make(chan uint64, capacity), make(chan uint64, capacity), make(chan bool)\n"
	"	go func() {\n"
	"		for i := uint64(0); i < rounds; i++ {\n"
	"			word := <-there\n"
	"			if !stream { back <- word }\n"
	"		}\n"
	"		done <- true\n"
	"	}()\n"
	"	runtime.Gosched()\n"
	"	start := spent()\n"
	"	for i := uint64(0); i < rounds; i++ {\n"
	"		there <- i\n"
	"		if !stream { if <-back != i { os.Exit(1) } }\n"
	"	}\n"
	"	<-done\n"
	"	fmt.Println(spent() - start)\n"
	"}\n";

static double go_hops(const bench_case *self, uint64_t count, bool is_stream)
{
	char arguments[100];
	uint64_t per_round = is_stream ? 1 : 2, rounds = count / per_round + 1;
	snprintf(arguments, sizeof arguments, "%s %d %llu", is_stream ? "stream" : "pingpong", self->number,
	    (unsigned long long)rounds);
	double spent = go_run(arguments);
	return spent < 0 ? -1 : spent * (double)count / (double)(rounds * per_round);
}

static double go_pingpong(const bench_case *self, uint64_t count)
{
	return go_hops(self, count, false);
}

static double go_stream(const bench_case *self, uint64_t count)
{
	return go_hops(self, count, true);
}

/* ---- all ---------------------------------------------------------------------------------------------- */

#define RENDEZVOUS "ping-pong, no buffer"
#define BUFFERED "ping-pong, buffer of 16"
#define STREAM_0 "stream, no buffer"
#define STREAM_64 "stream, buffer of 64"
#define GO_COUNT 200000 /* a child's own start is not in its time, but takes some of ours */

static bench_case cases[] = {
	{ .name = RENDEZVOUS, .run = pingpong, .number = 0 },
	{ .name = BUFFERED, .run = pingpong, .number = 16 },
	{ .name = STREAM_0, .run = stream, .number = 0 },
	{ .name = STREAM_64, .run = stream, .number = 64 },
	{ .name = "2 threads, mutex and condvar", .run = thread_hops, .vs = RENDEZVOUS },
#ifdef HAVE_BOOST_FIBER
	{ .name = "Boost.Fiber, " RENDEZVOUS, .run = fiber_hops, .vs = RENDEZVOUS },
#endif
	{ .name = "Go, " RENDEZVOUS, .run = go_pingpong, .number = 0, .count = GO_COUNT,
	  .vs = RENDEZVOUS },
	{ .name = "Go, " BUFFERED, .run = go_pingpong, .number = 16, .count = GO_COUNT,
	  .vs = BUFFERED },
	{ .name = "Go, " STREAM_0, .run = go_stream, .number = 0, .count = GO_COUNT, .vs = STREAM_0 },
	{ .name = "Go, " STREAM_64, .run = go_stream, .number = 64, .count = GO_COUNT, .vs = STREAM_64 },
};

#define GO_CASES 4

#define APART "2 loops, ping-pong, buffer of 16"
#define STREAM_APART "2 loops, stream, buffer of 64"

static bench_case apart_cases[] = {
	{ .name = APART, .run = pingpong_apart, .number = 16, .clock = BENCH_WALL },
	{ .name = "2 loops, ping-pong, no buffer", .run = pingpong_apart, .number = 0, .clock = BENCH_WALL },
	{ .name = STREAM_APART, .run = stream_apart, .number = 64, .clock = BENCH_WALL },
	{ .name = "2 threads, ping-pong, queue of 16", .run = queue_pingpong, .number = 16, .clock = BENCH_WALL,
	  .vs = APART },
	{ .name = "2 threads, stream, queue of 64", .run = queue_stream, .number = 64, .clock = BENCH_WALL,
	  .vs = STREAM_APART },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "chan", "channels between two tasks");
	bool has_go = go_build(go_program);
	bench_group("a hop, or an item", cases, sizeof cases / sizeof *cases - (has_go ? 0 : GO_CASES));
	bench_group("between two CPUs", apart_cases, sizeof apart_cases / sizeof *apart_cases);
	bench_bar(RENDEZVOUS, BENCH_MEDIAN_AT_MOST, 30);
	bench_bar(BUFFERED, BENCH_MEDIAN_AT_MOST, 30);
	bench_bar("2 threads, mutex and condvar", BENCH_RATIO_AT_LEAST, 100);
	return bench_end();
}
