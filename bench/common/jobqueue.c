/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a queue under a mutex. */
#include "jobqueue.h"

#include <stddef.h>

void jobqueue_init(struct jobqueue *queue)
{
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->filled, NULL);
	queue->first = NULL;
	queue->last = &queue->first;
	queue->is_closed = false;
}

void jobqueue_put(struct jobqueue *queue, struct job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&queue->lock);
	*queue->last = job;
	queue->last = &job->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

struct job *jobqueue_take(struct jobqueue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->is_closed)
		pthread_cond_wait(&queue->filled, &queue->lock);
	struct job *job = queue->first;
	if (job)
		queue->first = job->next;
	if (!queue->first)
		queue->last = &queue->first;
	pthread_mutex_unlock(&queue->lock);
	return job;
}

void jobqueue_close(struct jobqueue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

void *jobqueue_work(void *queue)
{
	struct job *job;
	while ((job = jobqueue_take(queue)))
		job->run(job);
	return NULL;
}
