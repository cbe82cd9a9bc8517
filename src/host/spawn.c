/* SPDX-License-Identifier: MIT
 * Layer host: starting other programs.
 *
 * posix_spawn(3) does it: between fork and exec of our own no other thread's lock, and none of our stacks,
 * could be relied on. The child's descriptors are copied out of the way first, so that whatever numbers
 * the caller's have, none is overwritten before it was used. */
#include <bide/process.h>

#include <spawn.h>

#include "base/fail.h"
#include "base/system.h"
#include "host/process.h"

#define FDS_MAX 64

struct plan {
	const bide_proc_opts *opts;
	int count;             /* descriptors of the child */
	int copies[FDS_MAX];   /* ours, for each of them; -1: not yet */
	int ends[3];           /* of pipes, the caller's; -1: none */
};

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Beyond the child's numbers. -1 with errno. */
static int copy_of(const struct plan *plan, int fd)
{
	return system_fcntl(fd, F_DUPFD_CLOEXEC, plan->count);
}

/* fds[] is closed; -1 with errno. */
static int keep_copy(struct plan *plan, int number, int fd)
{
	plan->copies[number] = copy_of(plan, fd);
	int err = errno;
	close(fd);
	return plan->copies[number] < 0 ? fail_with(err) : 0;
}

static int plan_pipe(struct plan *plan, int number)
{
	int fds[2], child_end = number == 0 ? 0 : 1;
	if (system_pipe(fds) < 0)
		return -1;
	plan->ends[number] = fds[!child_end];
	if (keep_copy(plan, number, fds[child_end]) < 0)
		return -1;
	return system_fcntl(plan->ends[number], F_SETFL, O_NONBLOCK);
}

static int plan_null(struct plan *plan, int number)
{
	int fd = system_open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -1 : keep_copy(plan, number, fd);
}

/* A standard descriptor that the caller itself has not is one the child has not either. */
static int plan_standard(struct plan *plan, int number, int what)
{
	if (what == BIDE_PROC_PIPE)
		return plan_pipe(plan, number);
	if (what == BIDE_PROC_NULL)
		return plan_null(plan, number);
	plan->copies[number] = copy_of(plan, what == BIDE_PROC_INHERIT ? number : what);
	return plan->copies[number] < 0 && (what != BIDE_PROC_INHERIT || errno != EBADF) ? -1 : 0;
}

static int plan_descriptors(struct plan *plan)
{
	const bide_proc_opts *opts = plan->opts;
	const int standard[3] = { opts->in, opts->out, opts->err };
	for (int i = 0; i < 3; i++)
		if (plan_standard(plan, i, standard[i]) < 0)
			return -1;
	for (int i = 0; i < opts->fd_count; i++) {
		plan->copies[3 + i] = copy_of(plan, opts->fds[i]);
		if (plan->copies[3 + i] < 0)
			return -1;
	}
	return 0;
}

/* 0 or an errno. */
static int fill_actions(const struct plan *plan, posix_spawn_file_actions_t *actions)
{
	int err = 0;
	for (int i = 0; i < plan->count && !err; i++)
		err = plan->copies[i] >= 0 ? posix_spawn_file_actions_adddup2(actions, plan->copies[i], i)
		    : posix_spawn_file_actions_addclose(actions, i);
	if (!err && plan->opts->directory)
		err = posix_spawn_file_actions_addchdir_np(actions, plan->opts->directory);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(actions, plan->count);
	return err;
}

static int fill_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* 0 or an errno. */
static int start(const struct plan *plan, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char *const *env = plan->opts->env ? plan->opts->env : environ;
	int err = posix_spawn_file_actions_init(&actions);
	if (err)
		return err;
	err = posix_spawnattr_init(&attributes);
	if (!err) {
		err = fill_actions(plan, &actions);
		if (!err)
			err = fill_attributes(&attributes);
		if (!err)
			err = system_posix_spawnp(pid, plan->opts->file, &actions, &attributes, plan->opts->argv, env);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

static int check(const bide_proc_opts *opts, const bide_proc *proc)
{
	bool is_good = opts && proc && opts->size == sizeof *opts && opts->file && opts->argv && opts->argv[0] &&
	    !(opts->flags & ~BIDE_PROC_KILL) && opts->grace >= 0 && opts->fd_count >= 0 &&
	    opts->fd_count <= FDS_MAX - 3 && (opts->fds || opts->fd_count == 0) && opts->in >= BIDE_PROC_PIPE &&
	    opts->out >= BIDE_PROC_PIPE && opts->err >= BIDE_PROC_PIPE;
	return is_good ? 0 : fail_with(EINVAL);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* All of them before the first copy, which may get the number of one that is closed. */
static int check_descriptors(const bide_proc_opts *opts)
{
	const int standard[3] = { opts->in, opts->out, opts->err };
	for (int i = 0; i < 3; i++)
		if (standard[i] >= 0 && !is_open(standard[i]))
			return fail_with(EBADF);
	for (int i = 0; i < opts->fd_count; i++)
		if (!is_open(opts->fds[i]))
			return fail_with(EBADF);
	return 0;
}

int bide_proc_spawn(const bide_proc_opts *opts, bide_proc *proc)
{
	struct plan plan = { .opts = opts, .ends = { -1, -1, -1 } };
	if (check(opts, proc) < 0)
		return -1;
	if (!loop_current)
		return fail_with(EPERM);
	if (check_descriptors(opts) < 0)
		return -1;
	struct host_room *room = host_room(loop_current);
	struct process *process = room ? process_new(room, 0) : NULL;
	if (!process)
		return -1;
	plan.count = 3 + opts->fd_count;
	for (int i = 0; i < plan.count; i++)
		plan.copies[i] = -1;
	int err = plan_descriptors(&plan) < 0 ? errno : start(&plan, &process->pid);
	close_all(plan.copies, plan.count);
	if (err) {
		close_all(plan.ends, 3);
		process_free(loop_current, process);
		return fail_with(err);
	}
	process->is_ours = true;
	process->kills = opts->flags & BIDE_PROC_KILL;
	process->grace = opts->grace;
	for (int i = 0; i < 3; i++)
		if (plan.ends[i] >= 0)
			descriptor_fresh(loop_current, plan.ends[i], DESCRIPTOR_PIPE, 0);
	*proc = (bide_proc){ process->pid, plan.ends[0], plan.ends[1], plan.ends[2] };
	return 0;
}
