/* SPDX-License-Identifier: MIT
 * Layer await: futures that another thread, or a signal handler, gives their result.
 *
 * The state decides between posters, and between them and the future's end: who moves it from NOT to
 * FILLING is the one poster, and fills in what the loop will read. Once the post is in the inbox the poster
 * looks at the future no more, since its owner may have destroyed it. */
#include "await/posted.h"

#include <sched.h>

#include <bide/post.h>

#include "await/record.h"
#include "base/fail.h"
#include "sched/posts.h"

static struct posted_future *posted_of(bide_future *future)
{
	return (struct posted_future *)future;
}

/* bide_future_set() refuses it if the loop's own thread was first. Then nobody will take the value. */
static void posted_run(struct inbox_post *post)
{
	struct posted_future *posted = container_of(post, struct posted_future, post);
	bide_future *future = (bide_future *)posted;
	void *value = posted->value;
	int err = posted->err;
	atomic_store_explicit(&posted->state, POSTED_RUN, memory_order_relaxed);
	int result = err ? bide_future_fail(future, err) : bide_future_set(future, value);
	if (result < 0 && !err && posted->future.drop)
		posted->future.drop(value);
}

static int send(bide_loop *loop, struct posted_future *posted)
{
	posted->post.run = posted_run;
	posted->loop = loop;
	atomic_store(&posted->state, POSTED_SENT);
	int result = inbox_post(loop, &posted->post);
	if (result < 0 && errno == ESHUTDOWN)
		atomic_store(&posted->state, POSTED_NOT);
	return result;
}

int bide_future_post(bide_loop *loop, bide_future *future, void *value, int err)
{
	struct posted_future *posted = posted_of(future);
	int state = POSTED_NOT;
	if (!loop || !future || err < 0 || posted->future.of_task)
		return fail_with(EINVAL);
	if (!atomic_compare_exchange_strong(&posted->state, &state, POSTED_FILLING))
		return fail_with(state == POSTED_GONE ? EPIPE : EALREADY);
	posted->value = value;
	posted->err = err;
	return send(loop, posted);
}

int bide_post_signal(bide_loop *loop, bide_future *future)
{
	int saved = errno;
	int result = bide_future_post(loop, future, NULL, 0);
	if (result == 0)
		errno = saved;
	return result;
}

/* The poster may be between its two steps, on another thread: then it is almost there. */
static int recall_sent(struct posted_future *posted)
{
	while (atomic_load(&posted->state) == POSTED_FILLING)
		sched_yield();
	if (atomic_load(&posted->state) != POSTED_SENT)
		return 0;
	struct loop *loop = loop_current;
	if (!loop || loop_handle(loop) != posted->loop)
		return fail_with(EPERM);
	while (!posts_withdraw(loop, &posted->post)) {
		if (atomic_load(&posted->state) == POSTED_NOT)
			return 0; /* the loop is ending, and refused it */
		sched_yield();
	}
	return 1;
}

int posted_recall(struct posted_future *posted, void **value)
{
	int state = POSTED_NOT;
	if (atomic_compare_exchange_strong(&posted->state, &state, POSTED_GONE))
		return 0;
	int found = recall_sent(posted);
	if (found < 0)
		return -1;
	if (found > 0 && !posted->err)
		*value = posted->value;
	atomic_store(&posted->state, POSTED_GONE);
	return 0;
}
