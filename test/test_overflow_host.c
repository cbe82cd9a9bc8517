/* SPDX-License-Identifier: MIT
 * stack/overflow.h and the host: its handlers, its alternate stacks and its mask are as they were before, and
 * its handlers get what is theirs. */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resources.h"
#include "stack/stack.h"
#include "victim.h"

/* ---- the host's handlers -------------------------------------------------------------------------------------- */

static bool is_blocked(int number)
{
	sigset_t mask;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, number);
}

static void host_with_info(int number, siginfo_t *info, void *context)
{
	say(info->si_signo == number && info->si_addr && context ? "info " : "no info ");
	say(is_blocked(SIGUSR2) ? "masked " : "unmasked ");
	say(is_blocked(number) ? "blocked\n" : "open\n");
	_exit(42);
}

struct host {
	int flags;
	const char *said;
	bide_fn *body;
};

static const struct host hosts[] = {
	{ SA_SIGINFO, "info masked blocked\n", overflowing },
	{ SA_SIGINFO | SA_NODEFER, "info masked open\n", overflowing },
	{ SA_SIGINFO | SA_ONSTACK, "info masked blocked\n", overflowing },
	{ SA_SIGINFO, "info masked blocked\n", touch_nothing_of_ours },
};

static void die_with_host(void *arg)
{
	const struct host *host = arg;
	struct sigaction action = { .sa_sigaction = host_with_info, .sa_flags = host->flags };
	struct victim victim = { .body = host->body };
	sigaddset(&action.sa_mask, SIGUSR2);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	die(&victim);
}

START_TEST(the_host_s_handler_is_called_as_it_was_installed)
{
	const struct host *host = &hosts[_i];
	if (is_seen_by_memcheck(host->body))
		return;
	struct death death = death_by(die_with_host, (void *)(uintptr_t)host);
	bool is_ours = host->body == overflowing;
	ck_assert_int_eq(death.signal, 0);
	ck_assert_int_eq(death.exit_status, 42);
	ck_assert_int_eq(strncmp(death.text, NAMED, strlen(NAMED)) == 0, is_ours);
	ck_assert_msg(strcmp(is_ours ? strchr(death.text, '\n') + 1 : death.text, host->said) == 0, "%s", death.text);
}
END_TEST

/* Whatever the host has, wherever it happens: the line first, then what the host wanted; and ignoring a
 * fault is not possible, for the kernel neither. Scenario B2. */
static void host_plain(int number)
{
	say(number == SIGSEGV || number == SIGBUS ? "plain\n" : "another signal\n");
	_exit(42);
}

static const struct host_action {
	void (*handler)(int); /* NULL: host_with_info */
	const char *said;
	int exit_status;      /* 0: it dies by the signal */
} host_actions[] = { { SIG_DFL, "", 0 }, { SIG_IGN, "", 0 }, { host_plain, "plain\n", 42 },
	{ NULL, "info masked blocked\n", 42 } };

static const struct victim_at {
	bide_fn *body;
	bool is_on_a_thread;
	const char *who;
} places[] = { { overflowing, false, "task 2" }, { overflowing, true, "task 2" },
	{ in_a_coroutine, false, "a coroutine of task 2" }, { in_a_coroutine, true, "a coroutine of task 2" },
	{ in_a_coroutine_of_a_coroutine, true, "a coroutine of task 2" } };

#define PLACES (int)(sizeof places / sizeof *places)
#define ACTIONS (int)(sizeof host_actions / sizeof *host_actions)

static void die_with_action(void *arg)
{
	int index = *(int *)arg;
	const struct host_action *wanted = &host_actions[index / PLACES];
	struct victim victim = { .body = places[index % PLACES].body,
		.is_on_a_thread = places[index % PLACES].is_on_a_thread };
	struct sigaction action = { .sa_sigaction = host_with_info, .sa_flags = SA_SIGINFO };
	sigaddset(&action.sa_mask, SIGUSR2);
	if (wanted->handler || !wanted->said[0])
		action = (struct sigaction){ .sa_handler = wanted->handler };
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	die(&victim);
}

START_TEST(it_is_named_and_then_the_host_s_action_is_taken_wherever_it_happens)
{
	const struct host_action *wanted = &host_actions[_i / PLACES];
	if (wanted->exit_status && places[_i % PLACES].is_on_a_thread && suite_is_under("valgrind"))
		return; /* memcheck takes what the other threads hold at an exit for lost */
	struct death death = death_by(die_with_action, &_i);
	const char *rest = strchr(death.text, '\n');
	ck_assert_int_eq(death.exit_status, wanted->exit_status);
	ck_assert_int_eq(died_of_access(&death), wanted->exit_status == 0);
	ck_assert_msg(strncmp(death.text, NAMED, strlen(NAMED)) == 0 && rest, "%s", death.text);
	ck_assert_msg(strncmp(death.text + strlen(NAMED), places[_i % PLACES].who, strlen(places[_i % PLACES].who)) == 0,
	    "%s", death.text);
	ck_assert_str_eq(rest + 1, wanted->said);
}
END_TEST

/* The host's alternate stack may be of the size that SIGSTKSZ had for decades. */
static void die_on_a_small_alternate_stack(void *arg)
{
	static char small[8192];
	stack_t alternate = { .ss_sp = small, .ss_size = sizeof small };
	struct victim victim = { .body = overflowing };
	(void)arg;
	sigaltstack(&alternate, NULL);
	die(&victim);
}

START_TEST(an_alternate_stack_of_eight_kib_is_enough)
{
	if (!suite_is_native())
		return; /* whose frames are larger */
	struct death death = death_by(die_on_a_small_alternate_stack, NULL);
	check_named(&death);
}
END_TEST

/* One that mends the fault and returns, as a garbage collector or an interpreter does. */
static char *mended;
static int mendings;

static void mend(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if ((char *)info->si_addr != mended)
		_exit(1);
	mendings++;
	mprotect(mended, 1, PROT_READ | PROT_WRITE);
}

static void *touch_what_is_mended(void *arg)
{
	mprotect(mended, 1, PROT_NONE);
	*mended = 1;
	mprotect(mended, 1, PROT_NONE);
	bide_yield();
	*mended = 2;
	return arg;
}

START_TEST(a_handler_of_the_host_s_that_mends_faults_goes_on_doing_so)
{
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO }, old;
	if (suite_is_under("valgrind"))
		return; /* which has an opinion of its own about such an access */
	mended = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mendings = 0;
	ck_assert_int_eq(sigaction(SIGSEGV, &action, &old), 0);
	run_real(touch_what_is_mended, NULL);
	ck_assert_int_eq(mendings, 2);
	ck_assert_int_eq(*mended, 2);
	sigaction(SIGSEGV, &old, NULL);
	munmap(mended, (size_t)sysconf(_SC_PAGESIZE));
}
END_TEST

/* SA_RESETHAND: the second time takes the default action. */
static void say_once(int number)
{
	(void)number;
	say("once\n");
}

static void die_the_second_time(void *arg)
{
	struct sigaction action = { .sa_handler = say_once, .sa_flags = (int)SA_RESETHAND };
	struct victim victim = { .body = touch_nothing_of_ours };
	(void)arg;
	sigaction(SIGSEGV, &action, NULL);
	die(&victim);
}

START_TEST(a_handler_for_once_is_called_once)
{
	if (is_seen_by_memcheck(touch_nothing_of_ours))
		return;
	struct death death = death_by(die_the_second_time, NULL);
	ck_assert_int_eq(death.signal, SIGSEGV);
	ck_assert_str_eq(death.text, "once\n");
}
END_TEST

static void *raise_and_go_on(void *arg)
{
	raise(SIGSEGV);
	raise(SIGBUS);
	return arg;
}

START_TEST(a_signal_that_is_sent_and_ignored_stays_ignored)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old_segv, old_bus;
	sigaction(SIGSEGV, &ignore, &old_segv);
	sigaction(SIGBUS, &ignore, &old_bus);
	ck_assert_ptr_eq(run_real(raise_and_go_on, &ignore), &ignore);
	sigaction(SIGSEGV, &old_segv, NULL);
	sigaction(SIGBUS, &old_bus, NULL);
}
END_TEST

/* A handler of the host's, put over ours during the run, that chains to ours, which in a later run
 * chains to what it finds: that very handler. */
static struct sigaction found_by_host;
static int calls_of_host;

static void chain_to_found(int number, siginfo_t *info, void *context)
{
	if (++calls_of_host > 3) {
		say("round and round\n");
		_exit(9);
	}
	if (found_by_host.sa_flags & SA_SIGINFO)
		found_by_host.sa_sigaction(number, info, context);
	else
		signal(number, SIG_DFL);
}

static void *install_over_ours(void *arg)
{
	struct sigaction action = { .sa_sigaction = chain_to_found, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	sigaction(SIGSEGV, &action, &found_by_host);
	return arg;
}

static void die_in_a_circle(void *arg)
{
	struct victim victim = { .body = overflowing };
	bide_run(install_over_ours, arg, NULL, NULL);
	die(&victim);
}

START_TEST(handlers_that_chain_to_each_other_come_to_an_end)
{
	struct death death = death_by(die_in_a_circle, NULL);
	ck_assert_int_eq(death.signal, SIGSEGV);
	ck_assert_ptr_null(strstr(death.text, "round and round"));
	ck_assert_msg(strncmp(death.text, NAMED, strlen(NAMED)) == 0, "%s", death.text);
}
END_TEST

/* ---- as it was before -------------------------------------------------------------------------------------- */

struct settings {
	struct sigaction segv, bus, usr1, pipe, child;
	stack_t alternate;
	sigset_t mask;
};

static struct settings settings(void)
{
	struct settings now;
	memset(&now, 0, sizeof now);
	sigaction(SIGSEGV, NULL, &now.segv);
	sigaction(SIGBUS, NULL, &now.bus);
	sigaction(SIGUSR1, NULL, &now.usr1);
	sigaction(SIGPIPE, NULL, &now.pipe);
	sigaction(SIGCHLD, NULL, &now.child);
	sigaltstack(NULL, &now.alternate);
	pthread_sigmask(SIG_BLOCK, NULL, &now.mask);
	return now;
}

static bool same_mask(const sigset_t *a, const sigset_t *b)
{
	for (int number = 1; number <= 64; number++)
		if (sigismember(a, number) != sigismember(b, number))
			return false;
	return true;
}

/* A C library may add a flag of its own whenever it installs something. */
static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	int known = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART | SA_NOCLDSTOP | (int)SA_RESETHAND;
	return a->sa_handler == b->sa_handler && ((a->sa_flags ^ b->sa_flags) & known) == 0 &&
	    same_mask(&a->sa_mask, &b->sa_mask);
}

/* The place of one that is disabled means nothing. */
static bool same_alternate(const stack_t *a, const stack_t *b)
{
	return a->ss_flags == b->ss_flags &&
	    (a->ss_flags & SS_DISABLE || (a->ss_sp == b->ss_sp && a->ss_size == b->ss_size));
}

static void check_same(const struct settings *a, const struct settings *b)
{
	ck_assert(same_action(&a->segv, &b->segv) && same_action(&a->bus, &b->bus));
	ck_assert(same_action(&a->usr1, &b->usr1) && same_action(&a->pipe, &b->pipe));
	ck_assert(same_action(&a->child, &b->child));
	ck_assert(same_alternate(&a->alternate, &b->alternate));
	ck_assert(same_mask(&a->mask, &b->mask));
}

static void *check_inside(void *arg)
{
	const struct settings *before = arg;
	struct settings inside = settings();
	ck_assert(!same_action(&before->segv, &inside.segv) && !same_action(&before->bus, &inside.bus));
	ck_assert(same_action(&before->usr1, &inside.usr1) && same_action(&before->child, &inside.child));
	ck_assert(!(inside.alternate.ss_flags & SS_DISABLE));
	ck_assert(same_mask(&before->mask, &inside.mask));
	if (!(before->alternate.ss_flags & SS_DISABLE))
		ck_assert_ptr_eq(before->alternate.ss_sp, inside.alternate.ss_sp);
	return NULL;
}

static char host_alternate[65536];

/* bit 0: the host has handlers; bit 1: an alternate stack; bit 2: a mask. */
static void check_around_runs(int which)
{
	struct settings original = settings();
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_RESTART };
	stack_t alternate = { .ss_sp = host_alternate, .ss_size = sizeof host_alternate };
	stack_t none = { .ss_flags = SS_DISABLE };
	sigset_t some;
	sigaddset(&action.sa_mask, SIGHUP);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	if (which & 1)
		ck_assert_int_eq(sigaction(SIGSEGV, &action, NULL) | sigaction(SIGBUS, &action, NULL), 0);
	ck_assert_int_eq(sigaltstack(which & 2 ? &alternate : &none, NULL), 0);
	if (which & 4)
		pthread_sigmask(SIG_BLOCK, &some, NULL);
	struct settings before = settings();
	for (int i = 0; i < 3; i++)
		run_real(check_inside, &before);
	struct settings after = settings();
	check_same(&before, &after);
	sigaction(SIGSEGV, &original.segv, NULL);
	sigaction(SIGBUS, &original.bus, NULL);
	sigaltstack(&original.alternate, NULL);
	pthread_sigmask(SIG_SETMASK, &original.mask, NULL);
}

static void *check_on_a_thread(void *arg)
{
	check_around_runs(*(int *)arg);
	return NULL;
}

/* _i bit 3: on a thread of its own; scenario B2. */
START_TEST(handlers_alternate_stack_and_mask_are_as_before)
{
	pthread_t thread;
	if (!(_i & 8)) {
		check_around_runs(_i);
		return;
	}
	ck_assert_int_eq(pthread_create(&thread, NULL, check_on_a_thread, &_i), 0);
	pthread_join(thread, NULL);
}
END_TEST

static void *check_untouched(void *arg)
{
	struct settings inside = settings();
	check_same(arg, &inside);
	return NULL;
}

START_TEST(without_signals_nothing_is_changed_even_inside)
{
	struct settings before = settings();
	run_with(BIDE_NO_SIGNALS, check_untouched, &before);
}
END_TEST

static void *change_inside(void *arg)
{
	struct sigaction action = { .sa_sigaction = host_with_info, .sa_flags = SA_SIGINFO };
	stack_t alternate = { .ss_sp = host_alternate, .ss_size = sizeof host_alternate };
	sigaction(SIGSEGV, &action, NULL);
	sigaltstack(&alternate, NULL);
	return arg;
}

START_TEST(what_the_host_changed_meanwhile_stays)
{
	struct settings original = settings();
	run_real(change_inside, NULL);
	struct settings after = settings();
	ck_assert(after.segv.sa_sigaction == host_with_info);
	ck_assert(same_action(&after.bus, &original.bus));
	ck_assert_ptr_eq(after.alternate.ss_sp, host_alternate);
	sigaction(SIGSEGV, &original.segv, NULL);
	sigaltstack(&original.alternate, NULL);
}
END_TEST

/* The last of several loops puts the handlers back, whichever it is, and no thread touches another's
 * alternate stack. */
static pthread_barrier_t all_run;

static void *meet(void *arg)
{
	struct settings inside = settings();
	pthread_barrier_wait(&all_run);
	ck_assert(inside.segv.sa_flags & SA_ONSTACK);
	bide_sleep((bide_time)(uintptr_t)arg * BIDE_MSEC);
	return NULL;
}

static void *run_and_compare(void *arg)
{
	struct settings before = settings();
	bide_run(meet, arg, NULL, NULL);
	struct settings after = settings();
	return (void *)(uintptr_t)same_alternate(&before.alternate, &after.alternate);
}

START_TEST(the_last_loop_puts_back_what_the_first_one_found)
{
	struct settings before = settings();
	pthread_t threads[6];
	pthread_barrier_init(&all_run, NULL, 6);
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, run_and_compare, (void *)(uintptr_t)((i * 5) % 7));
	for (int i = 0; i < 6; i++) {
		void *is_same;
		pthread_join(threads[i], &is_same);
		ck_assert_ptr_nonnull(is_same);
	}
	struct settings after = settings();
	check_same(&before, &after);
	pthread_barrier_destroy(&all_run);
}
END_TEST

static const char *const failures[] = { "sigaltstack:EINVAL@1", "sigaltstack:EPERM@2", "mmap:ENOMEM@1",
	"madvise:EINVAL,mprotect:ENOMEM@1", /* the guard of the alternate stack */
	"sigaction:EINVAL@1", "sigaction:EINVAL@2", "sigaction:EINVAL@3", "sigaction:EINVAL@4",
	"sigaction:EINVAL@5", "sigaction:EINVAL@6" };

START_TEST(what_cannot_be_installed_is_an_error_and_nothing_is_changed)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	struct settings original = settings();
	sigaltstack(&none, NULL);
	struct settings before = settings();
	int mappings = count_mappings();
	ck_assert_int_eq(bide_fault(failures[_i]), 0);
	ck_assert_int_eq(bide_run(nothing, NULL, NULL, NULL), -1);
	ck_assert(errno == EINVAL || errno == EPERM || errno == ENOMEM);
	bide_fault(NULL);
	struct settings after = settings();
	check_same(&before, &after);
	if (suite_is_native())
		ck_assert_int_le(count_mappings(), mappings + 2);
	run_real(nothing, NULL);
	sigaltstack(&original.alternate, NULL);
}
END_TEST

int main(void)
{
	return SUITE("overflow_host",
	    TABLE(the_host_s_handler_is_called_as_it_was_installed, hosts),
	    LOOP(it_is_named_and_then_the_host_s_action_is_taken_wherever_it_happens, 0, ACTIONS * PLACES),
	    TEST(an_alternate_stack_of_eight_kib_is_enough),
	    TEST(a_handler_of_the_host_s_that_mends_faults_goes_on_doing_so),
	    TEST(a_handler_for_once_is_called_once),
	    TEST(a_signal_that_is_sent_and_ignored_stays_ignored),
	    TEST(handlers_that_chain_to_each_other_come_to_an_end),
	    LOOP(handlers_alternate_stack_and_mask_are_as_before, 0, 16),
	    TEST(without_signals_nothing_is_changed_even_inside),
	    TEST(what_the_host_changed_meanwhile_stays),
	    TEST(the_last_loop_puts_back_what_the_first_one_found),
	    TABLE(what_cannot_be_installed_is_an_error_and_nothing_is_changed, failures));
}
