/* SPDX-License-Identifier: MIT
 * Layer stack: the handler that names an overflow. */
#include "stack/overflow.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "base/check.h"
#include "base/fail.h"
#include "base/locks.h"
#include "base/modules.h"
#include "base/output.h"
#include "base/system.h"
#include "base/text.h"
#include "interrupted.h"

/* How far above its low end a stack pointer can be while the access below it that faults is its own: by
 * a push of many registers that moves it only afterwards, or in the red zone. */
#define REACH 1024

/* Room for a handler of the host's that is called from ours. */
#define ALTERNATE_ROOM ((size_t)64 * 1024)

static const int signals[] = { SIGSEGV, SIGBUS };
#define SIGNALS 2

/* Written under the lock and only while nobody watches; so the handler reads without. */
static unsigned watches;
static struct sigaction before[SIGNALS];
static overflow_finder *find_victim;
static size_t guard_size;

/* ---- is it one? --------------------------------------------------------------------------------- */

struct overflow_trace {
	uintptr_t address; /* that was accessed */
	uintptr_t sp, pc;
	bool is_frame;     /* the kernel found no room for a signal's frame, and tells no address */
};

/* A pointer that goes astray may hit a guard as well: so the stack pointer must be there too. */
bool overflow_is_of(const struct overflow_trace *trace, const struct stack *stack, bool is_running)
{
	uintptr_t low = (uintptr_t)stack->low, depth = is_running ? guard_size : REACH;
	if (!low || trace->sp > (uintptr_t)stack->high)
		return false;
	if (trace->is_frame)
		return trace->sp - low < stack_signal_frame() + INTERRUPTED_RED_ZONE || low - trace->sp < depth;
	return low - 1 - trace->address < depth && trace->sp - (low - depth) < depth + REACH;
}

bool overflow_stepped_over(const struct overflow_trace *trace, const struct stack *stack,
    const struct stack_pool *pool, bool *beyond_guard)
{
	uintptr_t low = (uintptr_t)stack->low;
	if (!low || trace->sp >= low)
		return false;
	*beyond_guard = low - 1 - trace->address >= guard_size;
	return !*beyond_guard || stack_pool_contains(pool, (void *)trace->sp);
}

/* False if it cannot be an overflow. */
static bool trace_fault(const siginfo_t *info, const ucontext_t *context, struct overflow_trace *trace)
{
	*trace = (struct overflow_trace){
		.address = (uintptr_t)info->si_addr,
		.sp = interrupted_sp(context),
		.pc = interrupted_pc(context),
		.is_frame = info->si_code == SI_KERNEL,
	};
	return info->si_code > 0 && !(trace->is_frame && interrupted_by_itself(context));
}

/* ---- saying so ---------------------------------------------------------------------------------- */

static void add_place(struct text *text, uintptr_t address)
{
	char place[MODULE_PLACE_SIZE];
	text_add(text, modules_place(address, place));
}

static void add_who(struct text *text, const struct overflow_victim *victim)
{
	if (victim->is_coroutine)
		text_add(text, victim->task_id ? "a coroutine of " : "a coroutine");
	if (!victim->task_id)
		return;
	text_add(text, "task ");
	text_add_decimal(text, victim->task_id);
	if (victim->task_name)
		text_add_name(text, victim->task_name);
	if (victim->spawn_site) {
		text_add(text, " (spawned at ");
		add_place(text, victim->spawn_site - 1); /* the call, not where it returns to */
		text_add(text, ")");
	}
}

static void add_where(struct text *text, const struct overflow_trace *trace,
    const struct overflow_victim *victim)
{
	const struct stack *stack = &victim->stack;
	if (trace->is_frame) {
		text_add(text, ": no room for a signal's frame at ");
		text_add_address(text, trace->sp);
		text_add(text, ", on its stack ");
	} else {
		text_add(text, ": address ");
		text_add_address(text, trace->address);
		text_add(text, victim->has_stepped_over ? " is below the guard of its stack, which a large frame has "
		    "stepped over (compile with -fstack-clash-protection), " : " is below its stack ");
	}
	text_add_address(text, (uintptr_t)stack->low);
	text_add(text, "-");
	text_add_address(text, (uintptr_t)stack->high);
	text_add(text, " (");
	text_add_decimal(text, (uintptr_t)stack->high - (uintptr_t)stack->low);
	text_add(text, " bytes), in the function at ");
	add_place(text, trace->pc);
}

static void report(const struct overflow_trace *trace, const struct overflow_victim *victim)
{
	char room[768];
	struct text text;
	text_init(&text, room, sizeof room);
	text_add(&text, "bide: stack overflow in ");
	add_who(&text, victim);
	add_where(&text, trace, victim);
	text_add(&text, victim->is_coroutine ? "; raise stack_size of bide_coro_new()\n"
	                                     : "; raise bide_task_attr.stack_size, or bide_config.stack_size\n");
	output_to_stderr(room, (size_t)(text.at - room));
}

/* ---- and going on -------------------------------------------------------------------------------- */

/* The faulting instruction runs again on return and faults again. Anything else, a signal that was sent
 * or one whose frame had no room, is sent anew, and comes when this handler is left. */
static bool comes_again(int number, const siginfo_t *info)
{
	return info->si_code > 0 && info->si_code != SI_KERNEL && !(number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

static void act_by_default(int number, siginfo_t *info)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigaction(number, &action, NULL);
	if (!comes_again(number, info))
		syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), number, info);
}

static void call_host(int number, siginfo_t *info, void *context, struct sigaction *action)
{
	struct sigaction host = *action;
	sigset_t own;
	pthread_sigmask(SIG_BLOCK, &host.sa_mask, NULL);
	if (host.sa_flags & SA_NODEFER) {
		sigemptyset(&own);
		sigaddset(&own, number);
		pthread_sigmask(SIG_UNBLOCK, &own, NULL);
	}
	if (host.sa_flags & (int)SA_RESETHAND)
		*action = (struct sigaction){ .sa_handler = SIG_DFL };
	annotate_fault_ends(); /* it may not come back */
	if (host.sa_flags & SA_SIGINFO)
		host.sa_sigaction(number, info, context);
	else
		host.sa_handler(number);
	annotate_fault_begins();
}

/* A host that put its own handler over ours may chain to ours, which chains to what it found, which may
 * be the host's. The frame tells such a circle from a handler that was left by siglongjmp(). */
static __thread uintptr_t chained_from __attribute__((tls_model("initial-exec")));

static void chain(int number, siginfo_t *info, void *context, struct sigaction *action)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), outer = chained_from;
	bool is_plain = !(action->sa_flags & SA_SIGINFO);
	if (is_plain && action->sa_handler == SIG_IGN && !comes_again(number, info))
		return;
	if ((is_plain && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)) ||
	    (outer > frame && outer - frame < ALTERNATE_ROOM)) {
		act_by_default(number, info);
		return;
	}
	chained_from = frame;
	call_host(number, info, context, action);
	chained_from = outer;
}

static void handle(int number, siginfo_t *info, void *context)
{
	annotate_fault_begins();
	int saved = errno;
	struct overflow_trace trace;
	struct overflow_victim victim = { .task_id = 0 };
	if (trace_fault(info, context, &trace) && find_victim(&trace, &victim))
		report(&trace, &victim);
	chain(number, info, context, &before[number == SIGBUS]);
	errno = saved;
	annotate_fault_ends();
}

/* ---- the process's part -------------------------------------------------------------------------- */

static void restore(int index)
{
	struct sigaction now;
	if (system_sigaction(signals[index], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
	    now.sa_sigaction == handle)
		system_sigaction(signals[index], &before[index], NULL);
}

static int install(overflow_finder *finder)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	sigemptyset(&action.sa_mask);
	find_victim = finder;
	guard_size = stack_guard_size();
	for (int i = 0; i < SIGNALS; i++) {
		if (system_sigaction(signals[i], NULL, &before[i]) == 0 &&
		    system_sigaction(signals[i], &action, NULL) == 0)
			continue;
		int err = errno;
		while (i-- > 0)
			restore(i);
		return fail_with(err);
	}
	return 0;
}

static int join(overflow_finder *finder)
{
	modules_note();
	lock_take(LOCK_OVERFLOW);
	int result = watches == 0 ? install(finder) : 0;
	if (result == 0)
		watches++;
	lock_release(LOCK_OVERFLOW);
	return result;
}

static void leave(void)
{
	lock_take(LOCK_OVERFLOW);
	if (--watches == 0)
		for (int i = 0; i < SIGNALS; i++)
			restore(i);
	lock_release(LOCK_OVERFLOW);
}

/* ---- the thread's part ---------------------------------------------------------------------------- */

static int give_alternate(struct overflow_watch *watch)
{
	if (system_sigaltstack(NULL, &watch->host) < 0)
		return -1;
	if (!(watch->host.ss_flags & SS_DISABLE))
		return 0;
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE), guard = stack_guard_size();
	size_t size = (ALTERNATE_ROOM + stack_signal_frame() + page_size - 1) / page_size * page_size + guard;
	char *memory = system_mmap(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	if (memory == MAP_FAILED)
		return -1;
	stack_t alternate = { .ss_sp = memory + guard, .ss_size = size - guard };
	if (stack_guard_install(memory, guard) < 0 || system_sigaltstack(&alternate, NULL) < 0)
		goto unmap;
	watch->alternate = memory;
	watch->alternate_size = size;
	return 0;

unmap:;
	int err = errno;
	system_munmap(memory, size);
	errno = err;
	return -1;
}

static void take_alternate(struct overflow_watch *watch)
{
	stack_t now;
	if (!watch->alternate)
		return;
	char *memory = watch->alternate, *ours = memory;
	if (sigaltstack(NULL, &now) == 0 && (char *)now.ss_sp > ours &&
	    (char *)now.ss_sp < ours + watch->alternate_size)
		sigaltstack(&watch->host, NULL);
	munmap(memory, watch->alternate_size);
}

int overflow_watch(struct overflow_watch *watch, overflow_finder *finder)
{
	*watch = (struct overflow_watch){ .is_on = false };
	if (give_alternate(watch) < 0)
		return -1;
	if (join(finder) < 0) {
		int err = errno;
		take_alternate(watch);
		return fail_with(err);
	}
	watch->is_on = true;
	return 0;
}

void overflow_unwatch(struct overflow_watch *watch)
{
	if (!watch->is_on)
		return;
	leave();
	take_alternate(watch);
	watch->is_on = false;
}
