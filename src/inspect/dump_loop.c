/* SPDX-License-Identifier: MIT
 * Layer inspect: the tree of a loop's tasks for another thread.
 *
 * A loop that goes on is asked, by a post, and tells on its own thread. One that does not answer is stuck: its thread
 * is held, and the tree read from here. In both cases the text goes into a file in memory first: neither a loop nor a
 * held thread waits for whoever reads it. */
#include "inspect/dump_loop.h"

#include "base/fail.h"
#include "base/futex.h"
#include "base/modules.h"
#include "base/output.h"
#include "base/system.h"
#include "inspect/dump.h"
#include "inspect/watch.h"
#include "stack/frames.h"

#define PATIENCE (100 * BIDE_MSEC) /* with a loop that is asked */
#define KNOWN_FLAGS (BIDE_DUMP_BACKTRACES | BIDE_DUMP_ALL)

static void write_tree(struct loop *loop, pid_t thread_id, int file, unsigned flags, const struct dump_frames *running,
    const char *state)
{
	struct writer writer;
	writer_to_fd(&writer, file, BIDE_NEVER);
	writer_add(&writer, "bide: the loop of thread ");
	writer_add_decimal(&writer, (uint64_t)thread_id);
	writer_add(&writer, state);
	writer_add(&writer, "\n");
	dump_write(loop, &writer, flags, running);
	writer_flush(&writer);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

enum question_state {
	QUESTION_ASKED,
	QUESTION_TAKEN,    /* the loop is answering */
	QUESTION_ANSWERED,
	QUESTION_ABANDONED /* nobody waits for the answer */
};

/* The asker's and the loop's; the last frees it. */
struct question {
	struct inbox_post post;
	atomic_uint state;
	atomic_uint references;
	int file;
	unsigned flags;
};

static void drop(struct question *question)
{
	if (atomic_fetch_sub(&question->references, 1) == 1)
		memory_free(&memory_default, question, sizeof *question);
}

static void answer(struct inbox_post *post)
{
	struct question *question = container_of(post, struct question, post);
	unsigned asked = QUESTION_ASKED;
	if (atomic_compare_exchange_strong(&question->state, &asked, QUESTION_TAKEN)) {
		write_tree(loop_current, (pid_t)syscall(SYS_gettid), question->file, question->flags, NULL, "");
		atomic_store(&question->state, QUESTION_ANSWERED);
		futex_wake(&question->state);
	}
	drop(question);
}

/* Whether it was answered; else nobody will answer any more. */
static bool await_answer(struct question *question)
{
	bide_time until = clock_monotonic() + PATIENCE;
	unsigned state;
	while ((state = atomic_load(&question->state)) != QUESTION_ANSWERED) {
		bool is_late = clock_monotonic() >= until;
		if (is_late && state == QUESTION_ASKED &&
		    atomic_compare_exchange_strong(&question->state, &state, QUESTION_ABANDONED))
			return false;
		futex_wait(&question->state, state, is_late ? BIDE_NEVER : until);
	}
	return true;
}

/* 1: answered, 0: it does not answer, -1: errno. */
static int ask(bide_loop *loop, int file, unsigned flags)
{
	struct question *question = memory_alloc(&memory_default, sizeof *question);
	if (!question)
		return -1;
	question->post.run = answer;
	question->file = file;
	question->flags = flags;
	atomic_init(&question->references, 2);
	if (inbox_post(loop, &question->post) < 0 && errno == ESHUTDOWN) {
		memory_free(&memory_default, question, sizeof *question);
		return fail_with(ESHUTDOWN);
	}
	bool is_answered = await_answer(question);
	drop(question);
	return is_answered;
}

/* ---- holding ---------------------------------------------------------------------------------------- */

static int hold_and_write(struct watch *watch, int file, unsigned flags)
{
	struct dump_frames running;
	if (!watch_hold(watch, &running))
		return fail_with(ETIMEDOUT);
	write_tree(&watch->run->loop, watch->thread_id, file, flags, &running, ", which does not answer");
	freeze_release();
	return 0;
}

static int write_held(bide_loop *loop, int file, unsigned flags)
{
	struct watch *watch = watch_claim(loop);
	if (!watch)
		return fail_with(ESHUTDOWN);
	int result = hold_and_write(watch, file, flags);
	watch_give_back(watch);
	return result;
}

/* ---- both ------------------------------------------------------------------------------------------- */

static int write_own(int file, unsigned flags)
{
	struct dump_frames running;
	running.count = frames_here(running.pcs, DUMP_FRAMES);
	write_tree(loop_current, (pid_t)syscall(SYS_gettid), file, flags, &running, "");
	return 0;
}

static int write_somehow(bide_loop *loop, int file, unsigned flags)
{
	modules_note();
	if (loop_current && loop == loop_current->handle)
		return write_own(file, flags);
	int asked = ask(loop, file, flags);
	return asked == 0 ? write_held(loop, file, flags) : asked < 0 ? -1 : 0;
}

/* From the beginning of `file`. */
static int copy_out(int file, int fd, bide_time patience)
{
	char text[512];
	struct output output;
	ssize_t count;
	output_begin(&output, fd, patience);
	for (off_t at = 0; (count = system_pread(file, text, sizeof text, at)) != 0; at += count) {
		if (count < 0 && errno != EINTR)
			return -1;
		count = count < 0 ? 0 : count;
		if (output_write(&output, text, (size_t)count) < 0)
			return -1;
	}
	return 0;
}

static int dump_loop(bide_loop *loop, int fd, unsigned flags, bide_time patience)
{
	if (!loop || fd < 0 || flags & ~KNOWN_FLAGS)
		return fail_with(EINVAL);
	if (system_fcntl(fd, F_GETFD, 0) < 0) /* or the file would become fd, and be copied to its own end without end */
		return -1;
	int file = system_memfd();
	if (file < 0)
		return -1;
	int result = write_somehow(loop, file, flags);
	if (result == 0)
		result = copy_out(file, fd, patience);
	int err = errno;
	system_close(file);
	return result < 0 ? fail_with(err) : 0;
}

int bide_dump_loop(bide_loop *loop, int fd, unsigned flags)
{
	return dump_loop(loop, fd, flags, BIDE_NEVER);
}

void dump_loop_to_stderr(bide_loop *loop)
{
	dump_loop(loop, STDERR_FILENO, BIDE_DUMP_BACKTRACES, OUTPUT_PATIENCE);
}

/* ---- all of them ------------------------------------------------------------------------------------- */

static uint64_t newest_serial(void)
{
	uint64_t newest = 0;
	for (struct watch *watch = watch_claim_next(NULL); watch; watch = watch_claim_next(watch))
		if (watch->run->serial > newest)
			newest = watch->run->serial;
	return newest;
}

/* The first run behind `*serial`, which becomes its own, up to `newest`; NULL: there is none. It is not claimed: it
 * may end while its tree, or another one, is being written. */
static bide_loop *next_loop(uint64_t *serial, uint64_t newest)
{
	uint64_t first = newest + 1;
	bide_loop *loop = NULL;
	for (struct watch *watch = watch_claim_next(NULL); watch; watch = watch_claim_next(watch)) {
		if (watch->run->serial <= *serial || watch->run->serial >= first)
			continue;
		first = watch->run->serial;
		loop = watch->handle;
	}
	*serial = first;
	return loop;
}

/* Not of loops that begin meanwhile: where they follow each other quickly there would be no end of it. */
void dump_all_loops(void)
{
	uint64_t serial = 0, newest = newest_serial();
	bide_loop *loop;
	while ((loop = next_loop(&serial, newest)))
		dump_loop_to_stderr(loop);
}
