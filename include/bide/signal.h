/* SPDX-License-Identifier: MIT
 * Part of bide: signals as something to wait for.
 *
 *	sigset_t set;
 *	sigemptyset(&set);
 *	sigaddset(&set, SIGHUP);
 *	int hangups = bide_signal_open(&set);
 *	while (bide_signal_wait(hangups, NULL) > 0)
 *		reload();
 *
 * From bide_signal_open() on nothing is lost, whether somebody waits or not: each signal of the set has one
 * flag, so that of many that come before they are waited for one is told, as with pending signals of the
 * kernel. Several sets may share a signal: each is told. A handler that the host had for it goes on being
 * called; its default action does not happen while it is watched. When the last set that has it is
 * closed, or its loop ends, the host's disposition is back.
 *
 * SIGINT and SIGTERM in no set end a run as bide/loop.h says. */
#ifndef BIDE_SIGNAL_H
#define BIDE_SIGNAL_H

#include <sys/select.h> /* sigset_t, also where <signal.h> is that of the C standard alone */
#include <sys/types.h>

#include <bide/api.h>

BIDE_BEGIN

/* Watches the signals of `set` for this thread's loop, also outside its tasks. They must not be blocked in
 * every thread. Returns a handle, >= 0, which is no descriptor.
 * Errors: EINVAL set is NULL or empty, or has SIGKILL, SIGSTOP, or one that a fault raises (SIGSEGV,
 * SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS); EPERM outside a loop's thread; ENOMEM. */
BIDE_API int bide_signal_open(const sigset_t *set);

/* What the kernel told about a signal, as in siginfo_t (sigaction(2)). */
typedef struct bide_signal_info {
	int number;
	int code;   /* SI_USER ... */
	pid_t pid;  /* who sent it, or, for SIGCHLD, the child; 0 if the kernel did */
	uid_t uid;
	int value;  /* of sigqueue(3) */
} bide_signal_info;

/* Waits until one of them has come since it was told last. Returns its number; the lowest first. Several
 * tasks may wait: each signal goes to one of them, first come, first served.
 * `*info` (may be NULL) receives what was told about it, at one of the last times it came. [S]
 * Errors: EBADF no such handle, or it was closed meanwhile. A wait that fails takes no signal. */
BIDE_API int bide_signal_wait(int handle, bide_signal_info *info);

/* Ends the watch; who waits gets EBADF. What was raised and not told is dropped.
 * Errors: EBADF no such handle; EPERM outside a loop's thread. */
BIDE_API int bide_signal_close(int handle);

BIDE_END

#endif
