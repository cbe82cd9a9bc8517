/* SPDX-License-Identifier: MIT
 * Layer inspect: the tree of a loop's tasks for another thread.
 *
 * A loop that goes on is asked, by a post, and tells on its own thread. One that does not answer is stuck: its thread
 * is held, and the tree read from here. In both cases the text goes into a file in memory first: neither a loop nor a
 * held thread waits for whoever reads it. Every wait has a limit. */
#include "inspect/dump_loop.h"

#include "base/fail.h"
#include "base/futex.h"
#include "base/modules.h"
#include "base/output.h"
#include "base/system.h"
#include "inspect/dump.h"
#include "inspect/sound.h"
#include "inspect/watch.h"
#include "stack/frames.h"

#define PATIENCE (100 * BIDE_MSEC) /* with a loop that is asked */
#define ANSWERING BIDE_SEC         /* with one that has begun to answer and tells nothing more */
#define KNOWN_FLAGS (BIDE_DUMP_BACKTRACES | BIDE_DUMP_ALL)

static void write_tree(struct loop *loop, pid_t thread_id, int file, unsigned flags, const struct dump_frames *running,
    struct sound *sound)
{
	struct writer writer;
	writer_to_fd(&writer, file, BIDE_NEVER);
	writer_add(&writer, "bide: the loop of thread ");
	writer_add_decimal(&writer, (uint64_t)thread_id);
	writer_add(&writer, sound ? ", which does not answer\n" : "\n");
	dump_write(loop, &writer, flags, running, sound);
	writer_flush(&writer);
}

static void close_file(int file)
{
	int saved = errno;
	if (file >= 0)
		system_close(file);
	errno = saved;
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
	int file;          /* for the answer: the loop may be writing when nobody waits for it any more */
	unsigned flags;
};

static struct question *question_new(int file, unsigned flags)
{
	struct question *question = memory_alloc(&memory_default, sizeof *question);
	if (!question)
		return NULL;
	question->file = file;
	question->flags = flags;
	atomic_init(&question->references, 2);
	return question;
}

static void question_free(struct question *question)
{
	close_file(question->file);
	memory_free(&memory_default, question, sizeof *question);
}

static void drop(struct question *question)
{
	if (atomic_fetch_sub(&question->references, 1) == 1)
		question_free(question);
}

static bool change(struct question *question, unsigned from, unsigned to)
{
	return atomic_compare_exchange_strong(&question->state, &from, to);
}

static void answer(struct inbox_post *post)
{
	struct question *question = container_of(post, struct question, post);
	if (change(question, QUESTION_ASKED, QUESTION_TAKEN)) {
		write_tree(loop_current, (pid_t)syscall(SYS_gettid), question->file, question->flags, NULL, NULL);
		change(question, QUESTION_TAKEN, QUESTION_ANSWERED);
		futex_wake(&question->state);
	}
	drop(question);
}

/* Whether there is more of an answer than there was. */
static bool has_grown(const struct question *question, off_t *size)
{
	struct stat status;
	if (system_fstat(question->file, &status) < 0 || status.st_size <= *size)
		return false;
	*size = status.st_size;
	return true;
}

/* Whether it was answered; else nobody waits for the answer any more. A loop that has begun may be held up in the middle
 * of it, by a handler of the host's, or its thread may be canceled there: so its beginning is no promise. */
static bool await_answer(struct question *question)
{
	bide_time until = clock_monotonic() + PATIENCE;
	off_t size = -1;
	unsigned state;
	while ((state = atomic_load(&question->state)) != QUESTION_ANSWERED) {
		if (clock_monotonic() < until)
			futex_wait(&question->state, state, until);
		else if (state == QUESTION_TAKEN && has_grown(question, &size))
			until = clock_monotonic() + ANSWERING;
		else if (change(question, state, QUESTION_ABANDONED))
			return false;
	}
	return true;
}

/* 1: *file has the answer, 0: it does not answer, -1: errno. */
static int ask(bide_loop *loop, unsigned flags, int *file)
{
	int empty = system_memfd();
	struct question *question = empty < 0 ? NULL : question_new(empty, flags);
	if (!question) {
		close_file(empty);
		return -1;
	}
	question->post.run = answer;
	if (inbox_post(loop, &question->post) < 0 && errno == ESHUTDOWN) {
		question_free(question);
		return fail_with(ESHUTDOWN);
	}
	bool is_answered = await_answer(question);
	if (is_answered) {
		*file = question->file;
		question->file = -1;
	}
	drop(question);
	return is_answered;
}

/* ---- holding ---------------------------------------------------------------------------------------- */

static int hold_and_write(struct watch *watch, int file, unsigned flags)
{
	struct dump_frames running;
	struct sound sound;
	if (sound_begin(&sound, &watch->run->loop) < 0)
		return -1;
	bool is_held = watch_hold(watch, &running);
	if (is_held) {
		write_tree(&watch->run->loop, watch->thread_id, file, flags, &running, &sound);
		freeze_release();
	}
	sound_end(&sound);
	return is_held ? 0 : fail_with(ETIMEDOUT);
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
	struct dump_frames running = { .sp = 0 };
	running.count = frames_here(running.pcs, DUMP_FRAMES);
	write_tree(loop_current, (pid_t)syscall(SYS_gettid), file, flags, &running, NULL);
	return 0;
}

/* A file in memory that has the text, or -1. */
static int file_of(bide_loop *loop, unsigned flags)
{
	bool is_own = loop_current && loop == loop_current->handle;
	int file = -1, asked = is_own ? 0 : ask(loop, flags, &file);
	if (asked)
		return file;
	file = system_memfd();
	if (file < 0)
		return -1;
	if ((is_own ? write_own(file, flags) : write_held(loop, file, flags)) == 0)
		return file;
	close_file(file);
	return -1;
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
	modules_note();
	int file = file_of(loop, flags);
	if (file < 0)
		return -1;
	int result = copy_out(file, fd, patience);
	close_file(file);
	return result;
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
