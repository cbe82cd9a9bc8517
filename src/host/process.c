/* SPDX-License-Identifier: MIT
 * Layer host: waiting for other programs to end.
 *
 * A child has a record from its start, or from the first wait, until it is reaped and the last who waits
 * has its status. Whoever finds it ended reaps it for all of them: they wait for its descriptor, as
 * observers do, and look at the record first. */
#include "host/process.h"

#include <bide/cancel.h>
#include <bide/process.h>

#include "base/fail.h"
#include "base/system.h"
#include "host/room.h"

#define ASK_AGAIN (10 * BIDE_MSEC) /* without a descriptor to wait for */
#define DEFAULT_GRACE (5 * BIDE_SEC)

static struct process *find(struct host_room *room, pid_t pid)
{
	list_each(link, &room->processes) {
		struct process *process = container_of(link, struct process, link);
		if (process->pid == pid)
			return process;
	}
	return NULL;
}

struct process *process_new(struct host_room *room, pid_t pid)
{
	struct process *process = memory_alloc(room->loop->memory, sizeof *process);
	if (!process)
		return NULL;
	process->pid = pid;
	process->fd = -1;
	list_push_tail(&room->processes, &process->link);
	return process;
}

/* 0, also where there are no such descriptors; or -1 with errno. */
static int open_descriptor(struct process *process)
{
	if (process->fd >= 0)
		return 0;
	process->fd = system_pidfd_open(process->pid);
	if (process->fd < 0)
		return errno == ENOSYS ? 0 : -1;
	descriptor_fresh(loop_current, process->fd, DESCRIPTOR_PIPE, 0);
	return 0;
}

static void close_descriptor(struct process *process)
{
	if (process->fd < 0)
		return;
	descriptor_forget(loop_current, process->fd);
	close(process->fd);
	process->fd = -1;
}

void process_free(struct loop *loop, struct process *process)
{
	if (link_is_linked(&process->link))
		link_remove(&process->link);
	close_descriptor(process);
	memory_free(loop->memory, process, sizeof *process);
}

/* Reaps it if it has ended; afterwards nobody finds the record any more, and those who wait are woken. */
static void look(struct process *process)
{
	siginfo_t info = { .si_pid = 0 };
	int result;
	do
		result = system_waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG);
	while (result < 0 && errno == EINTR);
	if (result == 0 && info.si_pid == 0)
		return;
	process->err = result < 0 ? errno : 0;
	process->status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
	    : info.si_status | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
	process->has_ended = true;
	link_remove(&process->link);
	close_descriptor(process);
}

/* Parks until it may have ended. 0, or an interrupt's errno. */
static int wait_for_news(struct task *task, struct process *process)
{
	if (process->fd < 0) {
		wait_begin(task, NULL, WAIT_PROCESS, process);
		return park(task, time_add(loop_now(task->loop), ASK_AGAIN));
	}
	struct wait *wait = wait_begin(task, NULL, WAIT_FD, descriptor_get(task->loop, process->fd));
	wait->detail = process->fd;
	int err = wait->object ? descriptor_enqueue(task->loop, wait, DESCRIPTOR_IN, POLLER_IN, NULL) : errno;
	if (err)
		return err;
	int status = park(task, BIDE_NEVER);
	descriptor_leave(&task->loop->descriptors, wait, NULL);
	return status == EBADF ? 0 : status; /* somebody else reaped it */
}

/* 0, or the errno with which the wait ends. What has ended by the time of an interrupt counts; but a call
 * that begins with one pending fails. A checkpoint may let others run, who reap: the look comes after it. */
static int wait_for_end(struct process *process)
{
	struct task *task = checkpoint();
	if (!task)
		return errno;
	uint8_t was_interrupted = task->was_interrupted;
	for (int err = 0;;) {
		if (!process->has_ended)
			look(process);
		if (process->has_ended) {
			task->was_interrupted = was_interrupted; /* by a cancel that came too late */
			return process->err;
		}
		if (err)
			return err;
		if (open_descriptor(process) < 0)
			err = errno; /* ESRCH: another thread has just reaped it, as the look will tell */
		else
			err = wait_for_news(task, process);
		if (!err && !checkpoint())
			err = errno;
	}
}

/* Shielded: true if it has ended before the deadline. */
static bool ends_before(struct process *process, bide_time deadline)
{
	bide_scope scope = { { 0 } };
	bide_scope_enter(&scope, deadline, BIDE_SHIELD);
	wait_for_end(process);
	bide_scope_leave(&scope);
	return process->has_ended;
}

static void end(struct process *process)
{
	kill(process->pid, SIGTERM);
	if (ends_before(process, bide_after(process->grace ? process->grace : DEFAULT_GRACE)))
		return;
	kill(process->pid, SIGKILL);
	ends_before(process, BIDE_NEVER);
}

static bool is_interrupt(int err)
{
	return err == ECANCELED || err == ETIMEDOUT || err == EDEADLK;
}

/* The record is shared by all who wait. The last of them ends the child, if it is to be ended. */
static int wait_shared(struct process *process, int *status)
{
	process->users++;
	int err = wait_for_end(process);
	if (is_interrupt(err) && process->kills && process->users == 1)
		end(process);
	if (!err && status)
		*status = process->status;
	if (--process->users == 0 && (process->has_ended || !process->is_ours))
		process_free(loop_current, process);
	return err ? fail_with(err) : 0;
}

int bide_proc_wait(pid_t pid, int *status)
{
	struct task *task = task_current();
	if (!task)
		return fail_with(EPERM);
	if (pid < 1)
		return fail_with(EINVAL);
	struct host_room *room = host_room(task->loop);
	struct process *process = room ? find(room, pid) : NULL;
	if (room && !process)
		process = process_new(room, pid);
	return process ? wait_shared(process, status) : -1;
}

int bide_proc_kill(pid_t pid, int number)
{
	siginfo_t info;
	if (!loop_current)
		return fail_with(EPERM);
	if (pid < 1)
		return fail_with(EINVAL);
	/* While it can be waited for, nobody else has its number. */
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return fail_with(errno == ECHILD ? ESRCH : errno);
	return kill(pid, number);
}

void processes_forget(struct loop *loop, struct list *processes)
{
	struct link *link;
	while ((link = list_head(processes)))
		process_free(loop, container_of(link, struct process, link));
}
