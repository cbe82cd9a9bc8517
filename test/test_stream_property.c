/* SPDX-License-Identifier: MIT
 * Streams under random use: pieces of random sizes, written, flushed and read by random calls, with
 * cancels and deadlines at random moments, in both directions at once. Whatever happens, each byte arrives
 * once and in its place. Statement 40; scenarios E8, E9. A failure prints the seed: BIDE_SEED=n repeats
 * it. */
#include <stdlib.h>

#include "base/random.h"
#include "io/buffer.h"
#include "runs.h"
#include "sockets.h"
#include "streams.h"

#define PIECE_MAX (3 * BUFFER_SIZE)
#define INTERRUPTS_MAX 200 /* of a side: a call that takes all or nothing must succeed at last */

struct side {
	bide_stream *stream;
	struct random random;
	unsigned pattern;
	size_t position, total;
	unsigned interrupts;  /* that it met */
	bide_task *task;
	bide_time patience;   /* a deadline around each call; 0: none */
	unsigned char bytes[PIECE_MAX];
};

static uint64_t seed;

static size_t below(struct side *side, size_t limit)
{
	return (size_t)random_below(&side->random, (uint32_t)limit);
}

/* Small ones mostly, and all around a buffer's size. */
static size_t piece(struct side *side)
{
	switch (below(side, 8)) {
	case 0: return BUFFER_SIZE - 2 + below(side, 5);
	case 1: return below(side, PIECE_MAX);
	case 2: return below(side, 5000);
	default: return below(side, 60);
	}
}

static void met(struct side *side, int err)
{
	must_msg(err == ECANCELED || err == ETIMEDOUT, "seed %llu: %s", (unsigned long long)seed, strerror(err));
	side->interrupts++;
	while (bide_canceling() > 0)
		must(bide_uncancel() >= 0);
}

static void check(struct side *side, const void *bytes, size_t size)
{
	const unsigned char *got = bytes;
	for (size_t i = 0; i < size; i++)
		must_msg(got[i] == pattern(side->pattern, side->position + i), "seed %llu: byte %zu is wrong",
		    (unsigned long long)seed, side->position + i);
	side->position += size;
}

/* ---- one call ------------------------------------------------------------------------------------------- */

static ssize_t write_piece(struct side *side)
{
	size_t size = piece(side), done = 0;
	if (size > side->total - side->position)
		size = side->total - side->position;
	pattern_fill(side->pattern, side->position, side->bytes, size);
	ssize_t result;
	if (below(side, 3) > 0) {
		result = bide_stream_write(side->stream, side->bytes, size, &done);
	} else {
		size_t cut = below(side, size + 1);
		struct iovec iov[2] = { { side->bytes, cut }, { side->bytes + cut, size - cut } };
		result = bide_stream_writev(side->stream, iov, 2, &done);
	}
	int err = errno;
	must(done <= size && (result < 0 || (size_t)result == size));
	side->position += done;
	errno = err;
	return result;
}

static ssize_t write_something(struct side *side)
{
	if (side->position == side->total)
		return bide_stream_shutdown(side->stream) < 0 ? -1 : 0;
	ssize_t result = below(side, 4) > 0 ? write_piece(side) : bide_stream_flush(side->stream);
	return result < 0 ? -1 : 1;
}

static ssize_t took(struct side *side, ssize_t count)
{
	int err = errno;
	if (count > 0)
		check(side, side->bytes, (size_t)count);
	errno = err;
	return count;
}

static ssize_t read_a_line(struct side *side)
{
	unsigned char delimiter[2] = { (unsigned char)below(side, 256), (unsigned char)below(side, 256) };
	size_t bound = 1 + piece(side), size = 1 + below(side, 2);
	ssize_t count = bide_stream_read_until(side->stream, side->bytes, bound, delimiter, size);
	if (count < 0 && errno == EMSGSIZE)
		count = bide_stream_read(side->stream, side->bytes, bound);
	return took(side, count);
}

static ssize_t peek_and_skip(struct side *side)
{
	const void *data;
	ssize_t count = bide_stream_peek(side->stream, &data, 1 + piece(side));
	if (count > 0) {
		size_t size = 1 + below(side, (size_t)count);
		check(side, data, size);
		must(bide_stream_skip(side->stream, size) == 0);
	}
	return count;
}

static ssize_t read_something(struct side *side)
{
	size_t size = 1 + piece(side), done = 0;
	if (size > PIECE_MAX)
		size = PIECE_MAX;
	switch (below(side, 4)) {
	case 0:
		return took(side, bide_stream_read(side->stream, side->bytes, size));
	case 1: {
		ssize_t count = bide_stream_read_exact(side->stream, side->bytes, size, &done);
		int err = errno;
		must(count < 0 || (size_t)count == done);
		took(side, (ssize_t)done);
		errno = err;
		return count;
	}
	case 2:
		return read_a_line(side);
	default:
		return peek_and_skip(side);
	}
}

/* ---- a side's task --------------------------------------------------------------------------------------- */

static ssize_t with_patience(struct side *side, ssize_t (*call)(struct side *))
{
	bide_scope scope = { 0 };
	if (!side->patience || side->interrupts > INTERRUPTS_MAX || below(side, 4) > 0)
		return call(side);
	must(bide_scope_enter(&scope, bide_after((bide_time)below(side, (size_t)side->patience)), 0) == 0);
	ssize_t result = call(side);
	int err = errno;
	(void)bide_scope_leave(&scope);
	errno = err;
	return result;
}

static void *go_on(struct side *side, ssize_t (*call)(struct side *))
{
	ssize_t result;
	do {
		result = with_patience(side, call);
		if (result < 0)
			met(side, errno);
	} while (result != 0);
	side->task = NULL;
	return NULL;
}

static void *writes(void *arg)
{
	return go_on(arg, write_something);
}

static void *reads(void *arg)
{
	return go_on(arg, read_something);
}

/* ---- a run ------------------------------------------------------------------------------------------------ */

#define SIDES 4 /* the writer and the reader of each direction */
static struct side sides[SIDES];

static void disturb(struct random *random)
{
	for (;;) {
		struct side *side = &sides[random_below(random, SIDES)];
		bool is_over = true;
		for (int i = 0; i < SIDES; i++)
			is_over = is_over && !sides[i].task;
		if (is_over)
			return;
		if (side->task && side->interrupts < INTERRUPTS_MAX)
			(void)!bide_cancel(side->task, NULL);
		if (random_below(random, 10) > 0)
			turns((int)random_below(random, 10));
		else
			must(bide_sleep((bide_time)random_below(random, 100) * BIDE_USEC) == 0);
	}
}

static void *run_main(void *arg)
{
	const struct stream_kind *kind = arg;
	struct random random = { seed };
	bide_stream *streams[2];
	size_t total = kind->capacity == 0 ? 500000 : 10000;
	streams_open(kind, streams);
	bide_task *tasks[SIDES];
	for (int i = 0; i < SIDES; i++) {
		sides[i].random.state = random_next(&random);
		sides[i].pattern = (unsigned)i / 2;
		sides[i].position = sides[i].interrupts = 0;
		sides[i].total = (size_t)suite_scaled_down((int)total, 1000);
		sides[i].patience = random_below(&random, 2) * 200 * BIDE_USEC;
		sides[i].stream = streams[i == 1 || i == 2]; /* writes to 0, reads from 1, and the other way */
		tasks[i] = sides[i].task = must_spawn(i % 2 ? reads : writes, &sides[i]);
	}
	turns(2); /* a cancel before it would keep them from beginning */
	disturb(&random);
	for (int i = 0; i < SIDES; i++) {
		must_join(tasks[i]);
		must_msg(sides[i].position == sides[i].total, "seed %llu: side %d is at %zu of %zu",
		    (unsigned long long)seed, i, sides[i].position, sides[i].total);
	}
	for (int i = 0; i < 2; i++)
		must(bide_stream_close(streams[i]) == 0);
	return NULL;
}

static uint64_t choose_seed(int i)
{
	const char *text = getenv("BIDE_SEED");
	return text ? strtoull(text, NULL, 10) : (uint64_t)i + 1;
}

START_TEST(every_byte_arrives_once_and_in_its_place)
{
	const struct stream_kind *kind = &stream_kinds[_i % STREAM_KINDS];
	seed = choose_seed(_i);
	unsigned flags = kind->is_memory ? BIDE_VIRTUAL_CLOCK : 0;
	run_with(flags | (_i % 2 ? BIDE_RANDOM_ORDER : 0), run_main, (void *)(uintptr_t)kind);
}
END_TEST

START_TEST(calls_are_interrupted_at_every_step)
{
	unsigned interrupts = 0;
	for (seed = 100; seed < 104; seed++) {
		run_virtual(run_main, (void *)(uintptr_t)&stream_kinds[2]);
		for (int i = 0; i < SIDES; i++)
			interrupts += sides[i].interrupts;
	}
	must_msg(interrupts >= 50, "%u interrupts in all", interrupts);
}
END_TEST

int main(void)
{
	return SUITE("stream_property", LOOP(every_byte_arrives_once_and_in_its_place, 0, 16 * STREAM_KINDS),
	    TEST(calls_are_interrupted_at_every_step));
}
