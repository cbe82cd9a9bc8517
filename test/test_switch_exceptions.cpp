// SPDX-License-Identifier: MIT
// C++ exceptions inside tasks and coroutines, across switches; one that leaves a body cannot cross to
// another stack, and ends the process. Scenario A10. (A plain program: libcheck's macros are C.)
#include <bide.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int passed, failed;

void check(const char *sentence, bool holds)
{
	if (holds) {
		passed++;
	} else {
		failed++;
		std::printf("switch_exceptions: not true: %s\n", sentence);
	}
}

struct guard {
	int &count;
	explicit guard(int &c) : count(c) { count++; }
	~guard() { count--; }
	guard(const guard &) = delete;
};

using suspend_fn = void();

void yield_task() { bide_yield(); }
void yield_coro() { bide_coro_yield(nullptr); }

[[gnu::noinline]] void throw_deep(int depth, int value, int &live, suspend_fn *suspend)
{
	guard here(live);
	suspend();
	if (depth == 0)
		throw std::runtime_error(std::to_string(value));
	throw_deep(depth - 1, value, live, suspend);
	__asm__ volatile("");
}

// Suspends before the throw, in the handler while the exception is alive, and throws again from there.
bool catch_across(int value, suspend_fn *suspend)
{
	int live = 0;
	bool is_right = true;
	for (int round = 0; round < 10; round++) {
		try {
			try {
				throw_deep(4, value + round, live, suspend);
			} catch (const std::runtime_error &error) {
				suspend();
				is_right &= live == 0 && error.what() == std::to_string(value + round);
				suspend();
				is_right &= error.what() == std::to_string(value + round);
				throw;
			}
			is_right = false;
		} catch (const std::exception &error) {
			is_right &= error.what() == std::to_string(value + round);
		}
		suspend();
	}
	return is_right;
}

struct job {
	int value;
	bool is_right;
};

void *catch_in_task(void *arg)
{
	job &mine = *static_cast<job *>(arg);
	mine.is_right = catch_across(mine.value, yield_task);
	return nullptr;
}

void *catch_in_coro(void *arg)
{
	job &mine = *static_cast<job *>(arg);
	mine.is_right = catch_across(mine.value, yield_coro);
	return nullptr;
}

void *spawn_catchers(void *)
{
	job alone = { 100, false };
	bide_join(bide_spawn(catch_in_task, &alone), nullptr);
	check("an exception is caught in the task that threw it, across yields", alone.is_right);

	job jobs[8];
	bide_task *tasks[8];
	bool all = true;
	for (int i = 0; i < 8; i++) {
		jobs[i] = { i * 1000, false };
		tasks[i] = bide_spawn(catch_in_task, &jobs[i]);
	}
	for (int i = 0; i < 8; i++) {
		bide_join(tasks[i], nullptr);
		all &= jobs[i].is_right;
	}
	check("eight tasks are suspended in their handlers, each in its own", all);
	check("no exception is left over", std::uncaught_exceptions() == 0 && !std::current_exception());
	return nullptr;
}

[[gnu::noinline]] void throw_and_catch_between(job &mine)
{
	int live = 0;
	try {
		throw_deep(3, mine.value, live, yield_task);
	} catch (const std::runtime_error &error) {
		mine.is_right = live == 0 && error.what() == std::to_string(mine.value);
	}
}

void *throw_between(void *arg)
{
	throw_and_catch_between(*static_cast<job *>(arg));
	return nullptr;
}

void *spawn_throwers(void *)
{
	job jobs[8];
	bide_task *tasks[8];
	for (int i = 0; i < 8; i++) {
		jobs[i] = { i * 1000, false };
		tasks[i] = bide_spawn(throw_between, &jobs[i]);
	}
	bool all = true;
	for (int i = 0; i < 8; i++) {
		bide_join(tasks[i], nullptr);
		all &= jobs[i].is_right;
	}
	check("eight tasks throw and catch, yielding in all the frames between", all);
	return nullptr;
}

void coroutines_catch()
{
	job mine = { 5000, false };
	bide_coro *coro = bide_coro_new(catch_in_coro, &mine, 0);
	while (bide_coro_resume(coro, nullptr, nullptr) == 1) {
	}
	bide_coro_close(coro);
	check("an exception is caught in the coroutine that threw it, across yields", mine.is_right);
}

// ---- leaving the body

void *throw_out(void *)
{
	bide_yield();
	throw std::runtime_error("nobody catches this");
}

void *throw_out_at_once(void *)
{
	throw std::runtime_error("nobody catches this");
}

void *spawn_and_join(void *arg)
{
	auto body = *static_cast<bide_fn **>(arg);
	try {
		bide_join(bide_spawn(body, nullptr), nullptr);
	} catch (...) {
		_exit(42);
	}
	return nullptr;
}

void throw_out_of_a_task() noexcept(false)
{
	bide_fn *body = throw_out;
	bide_run(spawn_and_join, &body, nullptr, nullptr);
}

void throw_out_of_main()
{
	bide_run(throw_out, nullptr, nullptr, nullptr);
}

void *throw_out_of_yield(void *)
{
	bide_coro_yield(nullptr);
	throw 1;
}

void throw_out_of_a_coroutine()
{
	bide_coro *coro = bide_coro_new(throw_out_of_yield, nullptr, 0);
	bide_coro_resume(coro, nullptr, nullptr);
	bide_coro_resume(coro, nullptr, nullptr);
}

void throw_out_of_a_fresh_coroutine()
{
	bide_coro_resume(bide_coro_new(throw_out_at_once, nullptr, 0), nullptr, nullptr);
}

bool aborts(void (*run)())
{
	std::fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		struct rlimit no_core = { 0, 0 };
		setrlimit(RLIMIT_CORE, &no_core);
		std::signal(SIGABRT, SIG_DFL);
		if (!std::freopen("/dev/null", "w", stderr))
			_exit(43);
		try {
			run();
		} catch (...) {
			_exit(44);
		}
		_exit(0);
	}
	int status = 0;
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

} // namespace

int main()
{
	bide_run(spawn_catchers, nullptr, nullptr, nullptr);
	bide_run(spawn_throwers, nullptr, nullptr, nullptr);
	coroutines_catch();
	check("an exception that leaves a task terminates", aborts(throw_out_of_a_task));
	check("an exception that leaves the main task terminates", aborts(throw_out_of_main));
	check("an exception that leaves a coroutine terminates", aborts(throw_out_of_a_coroutine));
	check("an exception that leaves a coroutine at its first resume terminates",
	    aborts(throw_out_of_a_fresh_coroutine));
	std::printf("switch_exceptions: %d passed, %d failed\n", passed, failed);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
