/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a bounded queue under a mutex. */
#include "boundedqueue.h"

void boundedqueue_init(struct boundedqueue *queue, size_t capacity)
{
	*queue = (struct boundedqueue){ .capacity = capacity };
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->filled, NULL);
	pthread_cond_init(&queue->emptied, NULL);
}

void boundedqueue_put(struct boundedqueue *queue, uint64_t word)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->length == queue->capacity)
		pthread_cond_wait(&queue->emptied, &queue->lock);
	queue->words[(queue->first + queue->length++) % queue->capacity] = word;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

uint64_t boundedqueue_take(struct boundedqueue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->length == 0)
		pthread_cond_wait(&queue->filled, &queue->lock);
	uint64_t word = queue->words[queue->first];
	queue->first = (queue->first + 1) % queue->capacity;
	queue->length--;
	pthread_cond_signal(&queue->emptied);
	pthread_mutex_unlock(&queue->lock);
	return word;
}
