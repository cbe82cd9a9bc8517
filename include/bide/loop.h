/* SPDX-License-Identifier: MIT
 * Part of bide: running a loop. */
#ifndef BIDE_LOOP_H
#define BIDE_LOOP_H

#include <bide/api.h>
#include <bide/time.h>

BIDE_BEGIN

/* Where a loop gets its memory. alloc and free go together, and so do stack_alloc and stack_free; a
 * pair left NULL is the library's own. free gets the size that alloc was asked for.
 * stack_alloc returns `size` bytes, aligned to a page, readable and writable, with a guard of the
 * host's own below them if it wants one; NULL means ENOMEM. */
typedef struct bide_allocator {
	void *(*alloc)(size_t size, void *ctx);
	void (*free)(void *memory, size_t size, void *ctx);
	void *(*stack_alloc)(size_t size, void *ctx);
	void (*stack_free)(void *memory, size_t size, void *ctx);
	void *ctx;
} bide_allocator;

/* bide_config.flags */
#define BIDE_DEBUG 0x1u         /* costly checks and more reports; also BIDE_DEBUG=1 in the environment */
#define BIDE_NO_SIGNALS 0x2u    /* leave all signals alone; see "Signals" */
#define BIDE_VIRTUAL_CLOCK 0x4u /* time jumps to the next deadline when all is idle (bide/testing.h) */
#define BIDE_RANDOM_ORDER 0x8u  /* ready tasks run in a seeded random order (bide/testing.h) */
#define BIDE_UNGUARDED_STACKS 0x10u /* when no more guards can be had: stacks without, not ENOMEM */
#define BIDE_PAINT_STACKS 0x20u /* measure how deep stacks are used (bide/inspect.h); every page of
                                   every stack is then touched */

/* REPORTS. bide_config.report is told what went wrong where no call could: one of these kinds, and a line
 * of text without a newline that is good during the call. It is called on the loop's thread, whenever the
 * trouble is noticed: between tasks on the loop's stack, or inside a call of the library on the stack of the
 * running task, which may be small. So it must be short and frugal, must return, and must call nothing of
 * bide but what is marked [T] or only asks (bide_self(), bide_task_name()): no [S] call, and nothing that
 * ends, cancels or frees. It may write to a descriptor, copy the text, or abort. errno is put back behind
 * it. Two loops with one hook may call it at the same time. BIDE_REPORT_STALL alone is told by another thread,
 * while the loop's is stuck, and may have several lines. */
enum {
	BIDE_REPORT_DEADLOCK = 1, /* nothing could ever run again: the cycle of waits if there is one, each
	                             waiting task, its object and where it was spawned, as many as 4 KiB
	                             hold, and how many more */
	BIDE_REPORT_LEFTOVER,     /* a task ignored its cancel, or a job ran on, beyond shutdown_grace */
	BIDE_REPORT_FAILURE,      /* a task failed and nobody read its outcome */
	BIDE_REPORT_OWNER_DEAD,   /* a task ended while it held a mutex */
	BIDE_REPORT_LEAK,         /* debug: a joinable task was never joined; or when the loop ended a timer was
	                             armed, a coroutine of its tasks was not closed, a descriptor that one waited
	                             for was open, 0 to 2 aside. Where it was made */
	BIDE_REPORT_LIMIT,        /* no stack could be had, or bide_serve() could not take a connection:
	                             which limit was met. At most once a second */
	BIDE_REPORT_STACK,        /* debug: a task's stack is nearly full, or was overrun, or its result lies
	                             there */
	BIDE_REPORT_MISUSE,       /* debug: a lock or the like was used as it must not be: the call failed,
	                             and this names the object, who holds it and who called */
	BIDE_REPORT_SLOW,         /* a slice took longer than slow_slice */
	BIDE_REPORT_STALL         /* a slice is stuck for longer than `stall`; by the watchdog's thread */
};

/* What a loop does when nothing can ever run again: every task waits, and no timer, descriptor, signal or program that
 * one waits for, no job of bide_offload(), keep-alive or shared channel is left that could wake one. A thread of yours
 * that will post, and holds no keep-alive (bide_loop_ref()), is not known. */
enum {
	BIDE_DEADLOCK_FAIL,  /* every wait fails with EDEADLK, and bide_run() in the end */
	BIDE_DEADLOCK_ABORT, /* abort(), with every stack still as it was */
	BIDE_DEADLOCK_WAIT   /* sleep until something comes all the same: a post, or a signal that ends the loop */
};

/* All fields may be zero, meaning the default. Set `size`, or start from BIDE_CONFIG_INIT. */
typedef struct bide_config {
	size_t size;              /* sizeof(bide_config): lets the struct grow */
	unsigned flags;           /* BIDE_DEBUG ... */
	unsigned max_tasks;       /* at most so many live tasks, then EAGAIN from spawn; 0: no limit */
	uint64_t seed;            /* of BIDE_RANDOM_ORDER; 0: from the clock. Named in every report */
	size_t stack_size;        /* bytes of a task's stack; 0: 48 KiB, more in a library that is built
	                             without optimisation or with a sanitizer. See bide_task_attr */
	bide_time shutdown_grace; /* default 5 s */
	void (*report)(int kind, const char *text, void *ctx); /* NULL: a line on stderr */
	void *report_ctx;
	const bide_allocator *allocator; /* NULL: the library's */
	size_t stack_cache;       /* bytes that unused stacks may hold for the next tasks, about; 0: 16 MiB */
	bide_time trim_after;     /* a task parked for so long, and for twice that at most, gives unused
	                             pages of its stack back as bide_trim() does; 0: never */
	unsigned offload_threads; /* of the loop's own pool, at most (bide/offload.h); 0: as
	                             bide_pool_attr.threads */
	bide_time slow_slice;     /* a slice that takes so long is reported; see "Slow slices". 0: 100 ms in
	                             debug, else never; BIDE_NEVER: never */
	bide_time stall;          /* one that is still stuck is reported by a watchdog; 0: 500 ms in debug, else
	                             never; BIDE_NEVER: never */
	int deadlock;             /* what happens in one, after the report: BIDE_DEADLOCK_... */
} bide_config;

#define BIDE_CONFIG_INIT { sizeof(bide_config), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* SLOW SLICES. What runs between two switches, a task up to its next suspending call, a callback or a post, is
 * a slice; while it runs, nobody else does. With bide_config.slow_slice one that takes so long is reported
 * once, when it is over (BIDE_REPORT_SLOW): which task and where it was spawned, or which function, how long
 * it took, how much of that it used the processor, and how much it was blocked. With bide_config.stall a
 * watchdog reports one that is still stuck (BIDE_REPORT_STALL), at one and a half times that setting, and
 * below it the calls in which it stands, a line for each.
 * A slice is blamed for its own time: what it used the processor, and what it was found blocked in the kernel,
 * as in a read(2) or at a pthread mutex. While it waited for a processor, or the whole process stood still, as
 * by SIGSTOP or in a debugger, it is not to blame. Own time is measured to an eighth of the setting, and to
 * a quarter where it was blocked.
 * It is always real time, also where the clock is virtual. It costs two readings of the clock at each switch, some
 * 60 ns, and tasks hand over to each other by way of the loop.
 * The watchdog is one thread for all loops of the process; it looks four times in the shortest setting while
 * one of them runs anything, and not at all while all sleep. Where no thread can be had, nobody is found
 * stuck or blocked.
 * To see where a stuck slice stands, its thread is held for a moment in the handler of a signal: a real-time one
 * whose action is the default, which it is again when the loop has ended. Nobody is interrupted so but a slice that
 * is stuck; its system calls go on, but for the few that never do (nanosleep(2), poll(2) and their like), which
 * fail with EINTR. With BIDE_NO_SIGNALS, and where the thread blocks the signal or does not answer within half
 * a second, the report has no calls. In debug mode, where reports go to stderr, the tree of all tasks follows;
 * a hook of yours may call bide_dump_loop() for it. */

/* REPORTS ON STDERR. A pipe or a terminal that nobody reads holds nobody up: a text that finds no room within a second
 * is cut, as is one that takes ten seconds in all, and those that follow are left out until there is room again. Then a
 * line says that something was cut. */

/* SIGNALS. While a loop runs, SIGSEGV and SIGBUS have a handler that names the task whose stack
 * overflowed, in one line on stderr; then the process dies by that signal, or your own handler is
 * called. Every other fault goes on to your handler, or to the default action, untouched. It runs on
 * the thread's alternate signal stack; a thread that has none gets one for the time of bide_run().
 * Handlers and alternate stacks are as before when the last loop has ended; one that you changed
 * meanwhile stays as you left it. The signal mask is never changed, so a thread that blocks SIGSEGV
 * dies without the line.
 * SIGINT and SIGTERM, where their action is the default, cancel main, with the reason "SIGINT" or
 * "SIGTERM" (bide/cancel.h); of several loops in a process, each one's main. So deferred calls run, tasks
 * clean up, and main decides on the exit status. Their default action is back at once: the second one
 * ends the process. A signal that a task watches (bide/signal.h) cancels nothing. */

/* Runs main_fn(arg) as the first task of a new loop on this thread, and with it every task it
 * spawns, until main_fn returns. Tasks that are left then are canceled and run until they end;
 * callbacks still armed are dropped. `*out` receives main's outcome; its failure is in
 * out->err and is not a failure of bide_run().
 * Everything the loop took (memory, descriptors, mappings) is given back before it returns.
 * Each thread may run a loop; runs may follow each other.
 * With `out` NULL a failure of main is one of bide_run(): -1 with the errno it failed with, so that
 *	if (bide_run(serve, NULL, NULL, NULL) < 0)
 *		perror("serve");
 * says what went wrong, whatever it was. bide_stop() makes main fail with ECANCELED unless it returns a
 * value.
 * Arguments that point into main's own frame are good only while main is in it: when main returns,
 * tasks that are left run once more, to clean up.
 * Returns 0. Errors, with *out {NULL, errno} unless main had ended:
 *     EBUSY    this thread is inside bide_run() already; or a leftover task ignored its cancel for
 *              config->shutdown_grace: it was reported, and will never be resumed; or a job of
 *              bide_offload() did not end in that time: it was reported, and its thread goes on
 *     EDEADLK  every task waited for something that could never happen. The report names them;
 *              each wait failed with EDEADLK, clean-up code ran, and main ended
 *     EINVAL   main_fn is NULL, or config has a wrong size, unknown flags or a negative time
 *     EMFILE, ENFILE, ENOMEM  no descriptors or memory for the loop */
BIDE_API int bide_run(bide_fn *main_fn, void *arg, const bide_config *config, bide_result *out);

/* Cancels main, as bide_cancel() would, with the reason "bide_stop". Errors: EPERM outside a loop's thread;
 * ESRCH main ended. */
BIDE_API int bide_stop(void);

/* Gives memory back to the system: the pages of stacks below what their parked tasks use, and all that
 * is kept of stacks not in use. Nothing that lives is touched. A program calls it after a burst, or
 * when it is idle; see also bide_config.trim_after. Outside a loop it does the same for the stacks of
 * bare coroutines that are not in use. Returns 0. [T] */
BIDE_API int bide_trim(void);

/* ENDING A PROCESS, OR A THREAD. exit(3) in a task ends the process as anywhere else: its exit handlers run on the
 * stack of that task; no other task runs any more, and no deferred call. A task ends by returning or by bide_exit(),
 * never by pthread_exit(3), nor may a thread be canceled that runs a loop: bide_run() would never return, all
 * that the loop has would stay, and posts to it would wait for ever. */

/* FORKS. A process that fork(2) makes while a loop runs has the parent's tasks as a copy, but must not run them:
 * what they wait for is shared with the parent. So in the child the thread has no loop any more, and every
 * call that needs one fails with EPERM (posts to the parent's loops with ESHUTDOWN). The task that called
 * fork() may go on, exec, exit, or run a new loop with bide_run(); when it returns, no other task runs, and
 * bide_run() returns -1 with EPERM in the child. Pools of threads (bide/offload.h) are the parent's. The
 * parent notices nothing. For other programs see bide/process.h.
 *
 * bide_after_fork() does the same in a child that was made without fork(2), as by clone(2), and is harmless
 * elsewhere. Returns 0. Errors: EINVAL the loop of this thread is this process's own. */
BIDE_API int bide_after_fork(void);

/* The loop of this thread, NULL outside bide_run(): a name for other threads to post to (bide/post.h), good for
 * ever. [T] */
BIDE_API bide_loop *bide_loop_self(void);

BIDE_END

#endif
