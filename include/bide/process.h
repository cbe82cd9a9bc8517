/* SPDX-License-Identifier: MIT
 * Part of bide: other programs.
 *
 * A child is waited for by a descriptor of its own (pidfd_open(2)) and reaped by its number: SIGCHLD and
 * other people's children are not touched. Where the kernel has no such descriptors it is asked every
 * 10 ms instead. A child that nobody waits for stays a zombie until the program ends, as anywhere. */
#ifndef BIDE_PROCESS_H
#define BIDE_PROCESS_H

#include <sys/types.h>

#include <bide/api.h>
#include <bide/time.h>

BIDE_BEGIN

/* What a child's standard descriptor is; or a descriptor of the caller's, which stays the caller's. */
#define BIDE_PROC_INHERIT (-1) /* the caller's own 0, 1 or 2 */
#define BIDE_PROC_NULL (-2)    /* /dev/null */
#define BIDE_PROC_PIPE (-3)    /* a pipe, whose other end is in bide_proc */

/* bide_proc_opts.flags */
#define BIDE_PROC_KILL 0x1u /* a canceled bide_proc_wait() ends the child, see there */

/* Start from BIDE_PROC_OPTS_INIT. */
typedef struct bide_proc_opts {
	size_t size;           /* sizeof(bide_proc_opts) */
	const char *file;      /* looked for in PATH if it has no slash */
	char *const *argv;     /* NULL-terminated, as execvp(3) wants it; argv[0] included */
	char *const *env;      /* NULL-terminated "NAME=value"; NULL: the caller's */
	const char *directory; /* to start in; NULL: the caller's */
	int in, out, err;
	const int *fds;        /* fd_count more of the caller's, which become 3, 4 ... in the child */
	int fd_count;
	unsigned flags;
	bide_time grace;       /* of BIDE_PROC_KILL, between SIGTERM and SIGKILL; 0: 5 s */
} bide_proc_opts;

#define BIDE_PROC_OPTS_INIT { sizeof(bide_proc_opts), 0, 0, 0, 0, BIDE_PROC_INHERIT,                 \
	BIDE_PROC_INHERIT, BIDE_PROC_INHERIT, 0, 0, 0, 0 }

/* A child, and the caller's ends of its pipes, -1 where there is none. They are non-blocking,
 * close-on-exec, and the caller's to close. */
typedef struct bide_proc {
	pid_t pid;
	int in, out, err;
} bide_proc;

/* Starts a program. It has the default action and no mask for every signal, and no descriptor beyond those
 * named. Until the program is there, usually well under a millisecond, the thread waits. Call it on a
 * loop's thread; a task need not be running.
 * Errors, with nothing started or left open: EINVAL NULL, a wrong size, unknown flags, numbers out of
 * range; EPERM outside a loop's thread; EBADF a named descriptor is not open; ENOENT, EACCES, ENOEXEC and
 * the like, as execvp(3) and chdir(2) have them; EMFILE, ENFILE, ENOMEM, EAGAIN. */
BIDE_API int bide_proc_spawn(const bide_proc_opts *opts, bide_proc *proc);

/* Waits until a child, started by bide_proc_spawn() or in any other way, has ended, and reaps it: `*status`
 * (may be NULL) is as waitpid(2) has it. Several tasks may wait for one child: each gets the status. [S]
 * A cancel or a deadline leaves the child as it is, to be waited for again. But when nobody else waits for one
 * that was started with BIDE_PROC_KILL, it gets SIGTERM, after its grace SIGKILL, and is reaped before
 * the call fails.
 * Errors: ECHILD there is no such child, or it was reaped by somebody else; EINVAL pid < 1; EMFILE, ENFILE,
 * ENOMEM. */
BIDE_API int bide_proc_wait(pid_t pid, int *status);

/* Sends a signal to a child that has not been reaped. Its number cannot be another process's meanwhile.
 * Errors: ESRCH it was reaped; EINVAL no such signal, or pid < 1; EPERM outside a loop's thread. */
BIDE_API int bide_proc_kill(pid_t pid, int number);

typedef struct bide_proc_output {
	char *out, *err; /* what came from them */
	size_t out_size, err_size;
	int status;      /* as waitpid(2) has it */
} bide_proc_output;

/* Writes `size` bytes to proc->in and closes it, reads proc->out and proc->err to their ends and closes
 * them, all at the same time, then waits for the child as bide_proc_wait() does. Ends that are -1 are left
 * out. What was read is in blocks of malloc(3), one byte longer and ended by a zero byte, which the caller
 * frees; NULL for an end that was -1. A child that does not read all of its input is no error. [S]
 * Errors, with nothing to free, all ends closed, and the child as bide_proc_wait() leaves it:
 * EINVAL NULL; EFBIG more than `limit` bytes came from one end (0: no limit); ENOMEM; and those of
 * bide_read() and bide_proc_wait(). */
BIDE_API int bide_proc_communicate(bide_proc *proc, const void *input, size_t size, size_t limit,
    bide_proc_output *output);

BIDE_END

#endif
