/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what people write by hand: a queue under a mutex, a condition variable, threads
 * that take jobs from it. */
#ifndef BENCH_COMMON_JOBQUEUE_H
#define BENCH_COMMON_JOBQUEUE_H

#include <pthread.h>
#include <stdbool.h>

struct job {
	struct job *next;
	void (*run)(struct job *job);
};

struct jobqueue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct job *first, **last;
	bool is_closed;
};

void jobqueue_init(struct jobqueue *queue);
void jobqueue_put(struct jobqueue *queue, struct job *job);
/* The oldest job; NULL when the queue is closed and empty. */
struct job *jobqueue_take(struct jobqueue *queue);
void jobqueue_close(struct jobqueue *queue);

/* A thread's function, arg is the queue: runs jobs until it is closed. */
void *jobqueue_work(void *queue);

#endif
