/* SPDX-License-Identifier: MIT
 * Layer inspect: holding another thread. See freeze.h for the protocol. */
#include "inspect/freeze.h"

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "base/futex.h"
#include "base/locks.h"
#include "base/system.h"
#include "interrupted.h"
#include "stack/frames.h"

#define PATIENCE (500 * BIDE_MSEC)

enum freeze_state {
	FREEZE_NONE,
	FREEZE_WANTED,
	FREEZE_TAKEN, /* the handler looks where the thread stands */
	FREEZE_HELD
};

/* One thread at a time, under LOCK_FREEZE, which who holds it keeps. */
struct cell {
	atomic_uint state;
	atomic_uint releases; /* how many there were: each ends one hold */
	atomic_int thread_id;
	struct dump_frames frames;
};

static struct cell cell;

/* Under LOCK_FREEZE. */
static unsigned users;
static int number; /* of the signal */
static struct sigaction before;

/* ---- in the held thread --------------------------------------------------------------------------- */

/* Where a sanitizer has kept the signal back until a call of its own, what it interrupted is not below us any more:
 * then the handler's own way is told, and where that was called. */
static int look_where(const ucontext_t *context, uintptr_t *pcs)
{
	int count = frames_interrupted(context, pcs, DUMP_FRAMES);
	return count > 0 ? count : frames_here(pcs, DUMP_FRAMES);
}

static void be_held(const ucontext_t *context)
{
	unsigned wanted = FREEZE_WANTED;
	if (atomic_load(&cell.thread_id) != (int)syscall(SYS_gettid) ||
	    !atomic_compare_exchange_strong(&cell.state, &wanted, FREEZE_TAKEN))
		return;
	cell.frames.count = look_where(context, cell.frames.pcs);
	cell.frames.sp = interrupted_sp(context);
	unsigned releases = atomic_load(&cell.releases);
	atomic_store(&cell.state, FREEZE_HELD);
	futex_wake(&cell.state);
	while (atomic_load(&cell.releases) == releases)
		futex_wait(&cell.releases, releases, BIDE_NEVER);
}

/* Somebody else's: what its default action is. */
static void act_as_before(int signal_number, siginfo_t *info)
{
	sigaction(signal_number, &before, NULL);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), signal_number, info);
}

static void handle(int signal_number, siginfo_t *info, void *context)
{
	int saved = errno;
	if (info->si_code == SI_QUEUE && info->si_pid == getpid() && info->si_value.sival_ptr == &cell)
		be_held(context);
	else
		act_as_before(signal_number, info);
	errno = saved;
}

/* ---- who looks ------------------------------------------------------------------------------------ */

static bool send_to(pid_t thread_id)
{
	siginfo_t info = { .si_code = SI_QUEUE };
	struct sigaction now;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = &cell;
	if (!number || system_sigaction(number, NULL, &now) < 0 || now.sa_sigaction != handle)
		return false; /* or the host has taken it meanwhile */
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_id, number, &info) == 0;
}

/* False if it does not come. From "taken" on it surely comes. */
static bool await_held(void)
{
	bide_time until = clock_monotonic() + PATIENCE;
	unsigned state;
	while ((state = atomic_load(&cell.state)) != FREEZE_HELD) {
		unsigned wanted = FREEZE_WANTED;
		bool is_late = clock_monotonic() >= until;
		if (is_late && atomic_compare_exchange_strong(&cell.state, &wanted, FREEZE_NONE))
			return false;
		futex_wait(&cell.state, state, is_late ? BIDE_NEVER : until);
	}
	return true;
}

bool freeze_hold(pid_t thread_id, struct dump_frames *frames)
{
	lock_take(LOCK_FREEZE);
	atomic_store(&cell.thread_id, (int)thread_id);
	atomic_store(&cell.state, FREEZE_WANTED);
	if (send_to(thread_id) && await_held()) {
		*frames = cell.frames;
		fault_spares_thread = true;
		return true;
	}
	atomic_store(&cell.state, FREEZE_NONE);
	lock_release(LOCK_FREEZE);
	return false;
}

void freeze_release(void)
{
	fault_spares_thread = false;
	atomic_store(&cell.state, FREEZE_NONE);
	atomic_fetch_add(&cell.releases, 1);
	futex_wake(&cell.releases);
	lock_release(LOCK_FREEZE);
}

bool freeze_holds(pid_t thread_id)
{
	return atomic_load(&cell.state) != FREEZE_NONE && atomic_load(&cell.thread_id) == (int)thread_id;
}

/* ---- the signal ------------------------------------------------------------------------------------ */

static bool install(int candidate)
{
	struct sigaction ours = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK }, now;
	sigfillset(&ours.sa_mask);
	if (system_sigaction(candidate, NULL, &now) < 0 || now.sa_handler != SIG_DFL)
		return false;
	before = now;
	return system_sigaction(candidate, &ours, NULL) == 0;
}

/* An emulator cannot send the two highest. */
static bool install_one(void)
{
	for (number = SIGRTMAX - 2; number >= SIGRTMIN; number--)
		if (install(number))
			return true;
	number = 0;
	return false;
}

static void restore(void)
{
	struct sigaction now;
	if (number && sigaction(number, NULL, &now) == 0 && now.sa_sigaction == handle)
		sigaction(number, &before, NULL);
	number = 0;
}

bool freeze_begin(void)
{
	frames_prepare();
	lock_take(LOCK_FREEZE);
	bool is_ready = users > 0 || install_one();
	if (is_ready)
		users++;
	lock_release(LOCK_FREEZE);
	return is_ready;
}

void freeze_end(void)
{
	lock_take(LOCK_FREEZE);
	if (--users == 0)
		restore();
	lock_release(LOCK_FREEZE);
}

void freeze_forget(void)
{
	restore();
	users = 0;
	atomic_store(&cell.state, FREEZE_NONE);
}

void freeze_settle(void)
{
	static const struct timespec at_once = { 0, 0 };
	sigset_t blocked, ours;
	sigemptyset(&ours);
	sigaddset(&ours, number);
	if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0 || !sigismember(&blocked, number))
		return;
	while (sigtimedwait(&ours, NULL, &at_once) > 0)
		continue;
}
