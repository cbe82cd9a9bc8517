/* SPDX-License-Identifier: MIT
 * Layer host: what other threads may ask of a loop. Each request is a block of its own, made here and freed
 * by the loop; the way between is sched/inbox.h. */
#include <bide/post.h>

#include "await/record.h"
#include "base/fail.h"

struct request {
	struct inbox_post post;
	void (*fn)(void *arg);
	void *arg;
};

struct cancel_request {
	struct inbox_post post;
	bide_task *task;
	const char *reason;
};

static struct inbox_post *request_new(size_t size, void (*run)(struct inbox_post *post))
{
	struct inbox_post *post = memory_alloc(&memory_default, size);
	if (post)
		post->run = run;
	return post;
}

/* The first member of each request is its post. */
static int send(bide_loop *loop, struct inbox_post *post, size_t size)
{
	int result = inbox_post(loop, post);
	if (result < 0 && errno == ESHUTDOWN)
		memory_free(&memory_default, post, size);
	return result;
}

static void request_run(struct inbox_post *post)
{
	struct request copy = *container_of(post, struct request, post);
	memory_free(&memory_default, post, sizeof copy);
	loop_calls(loop_current, (uintptr_t)copy.fn);
	copy.fn(copy.arg);
}

int bide_post(bide_loop *loop, void (*fn)(void *arg), void *arg)
{
	if (!loop || !fn)
		return fail_with(EINVAL);
	struct request *request = (struct request *)request_new(sizeof *request, request_run);
	if (!request)
		return -1;
	request->fn = fn;
	request->arg = arg;
	return send(loop, &request->post, sizeof *request);
}

static void cancel_request_run(struct inbox_post *post)
{
	struct cancel_request *request = container_of(post, struct cancel_request, post);
	bide_cancel(request->task, request->reason);
	memory_free(&memory_default, request, sizeof *request);
}

int bide_post_cancel(bide_loop *loop, bide_task *task, const char *reason)
{
	if (!loop || !task)
		return fail_with(EINVAL);
	struct cancel_request *request = (struct cancel_request *)request_new(sizeof *request, cancel_request_run);
	if (!request)
		return -1;
	request->task = task;
	request->reason = reason;
	return send(loop, &request->post, sizeof *request);
}

int bide_loop_ref(bide_loop *loop)
{
	return loop ? inbox_hold(loop) : fail_with(EINVAL);
}

int bide_loop_unref(bide_loop *loop)
{
	return loop ? inbox_release(loop) : fail_with(EINVAL);
}
