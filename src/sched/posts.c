/* SPDX-License-Identifier: MIT
 * Layer sched: what other threads bring runs in the loop's turns. See posts.h. */
#include "sched/posts.h"

static void append(struct loop *loop, struct inbox_post *posts)
{
	*loop->posts_end = posts;
	while (*loop->posts_end)
		loop->posts_end = &(*loop->posts_end)->next;
}

static void make_due(struct loop *loop)
{
	if (!loop->posts || loop->posts_are_due)
		return;
	loop->posts_are_due = true;
	ready_push(&loop->ready, &loop->posts_entry);
}

bool posts_take(struct loop *loop)
{
	if (likely(!loop->inbox || !inbox_has_post(loop->inbox)))
		return false;
	append(loop, inbox_take(loop->inbox));
	make_due(loop);
	return true;
}

static void take_out(struct loop *loop, struct inbox_post **at)
{
	struct inbox_post *post = *at;
	*at = post->next;
	if (loop->posts_end == &post->next)
		loop->posts_end = at;
}

/* The oldest, if there is one. */
static bool run_one(struct loop *loop)
{
	struct inbox_post *post = loop->posts;
	if (!post)
		return false;
	take_out(loop, &loop->posts);
	board_add(loop->board, BOARD_posts, 1);
	slice_changes(loop, NULL);
	trace_note(loop->tracer, TRACE_POST, NULL, NULL, 0);
	post->run(post);
	return true;
}

void posts_run(struct entry *entry)
{
	struct loop *loop = container_of(entry, struct loop, posts_entry);
	loop->posts_are_due = false;
	for (int i = 0; i < POSTS_AT_ONCE && run_one(loop); i++)
		continue;
	make_due(loop);
}

bool posts_withdraw(struct loop *loop, struct inbox_post *post)
{
	posts_take(loop);
	for (struct inbox_post **at = &loop->posts; *at; at = &(*at)->next)
		if (*at == post) {
			take_out(loop, at);
			return true;
		}
	return false;
}

void posts_close(struct loop *loop)
{
	board_copy(&loop->board_left, loop->board);
	loop->board = &loop->board_left;
	append(loop, inbox_close(loop->inbox));
	loop->inbox = NULL;
	loop->is_known = false;
	while (run_one(loop))
		continue;
	slice_ends(loop);
}
