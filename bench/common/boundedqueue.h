/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what people write by hand between two threads: a bounded queue of words under a
 * mutex, with a condition variable for each side. */
#ifndef BENCH_COMMON_BOUNDEDQUEUE_H
#define BENCH_COMMON_BOUNDEDQUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define BOUNDEDQUEUE_MAX 1024

struct boundedqueue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	size_t capacity, length, first;
	uint64_t words[BOUNDEDQUEUE_MAX];
};

void boundedqueue_init(struct boundedqueue *queue, size_t capacity); /* BOUNDEDQUEUE_MAX at most */
void boundedqueue_put(struct boundedqueue *queue, uint64_t word);
uint64_t boundedqueue_take(struct boundedqueue *queue);

#endif
