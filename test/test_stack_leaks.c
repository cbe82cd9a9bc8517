/* SPDX-License-Identifier: MIT
 * Scenario J4: a leak checker, LeakSanitizer or memcheck, sees what only the stack of a parked task points to,
 * whatever memory that stack is on; and sees that it is lost when the pointer is gone. In a build for neither,
 * the tasks just hold and free their blocks. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "death.h"
#include "runs.h"
#include "stack/annotate.h"

#define KIB ((size_t)1024)
#define HELD 7700  /* bytes of a block that is held, */
#define LOST 99000 /* and of one that is dropped */

#if defined(ANNOTATE_ASAN)
#define HAS_CHECKER true
static void look_for_leaks(void)
{
	__lsan_do_recoverable_leak_check();
}

#elif defined(BIDE_VALGRIND)
#define HAS_CHECKER true
/* In LeakSanitizer's words. The test's own tools may have lost something before. */
static void look_for_leaks(void)
{
	static unsigned long before;
	static bool is_later;
	unsigned long lost, maybe, reachable, suppressed;
	VALGRIND_DO_LEAK_CHECK;
	VALGRIND_COUNT_LEAKS(lost, maybe, reachable, suppressed);
	(void)reachable, (void)suppressed;
	unsigned long more = is_later && lost + maybe > before ? lost + maybe - before : 0;
	if (more >= LOST)
		fprintf(stderr, "leak of %d byte(s)\n", LOST);
	if (more % LOST >= HELD)
		fprintf(stderr, "leak of %d byte(s)\n", HELD);
	before = lost + maybe;
	is_later = true;
}

#else
#define HAS_CHECKER false
static void look_for_leaks(void) {}
#endif

static __attribute__((noinline)) void hide(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

/* The only pointer to a block is a local of a parked task: an ordinary one, or one whose address is taken,
 * which lies on the fake stack. */
static void *hold_a_block(void *arg)
{
	void *blocks[4] = { NULL };
	blocks[(size_t)(uintptr_t)arg % 4] = malloc(HELD);
	hide(blocks);
	bide_sleep(BIDE_SEC);
	free(blocks[(size_t)(uintptr_t)arg % 4]);
	return NULL;
}

static void *hold_in_a_coroutine(void *arg)
{
	bide_coro *coro = bide_coro_new(hold_a_block, arg, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 0 && bide_coro_close(coro) == 0);
	return NULL;
}

/* What calls have left below. */
static __attribute__((noinline)) void wipe(void)
{
	volatile char *below = __builtin_alloca(8000);
	for (size_t i = 0; i < 8000; i++)
		below[i] = 0;
}

static void *drop_a_block(void *arg)
{
	void *volatile block = malloc(LOST);
	hide(block);
	bide_sleep(BIDE_SEC);
	block = arg;
	wipe();
	bide_sleep(BIDE_SEC);
	return NULL;
}

/* Three times: stacks of the pool, recycled ones among them; memory of the caller's; a coroutine's. */
#define HOLDERS 30
#define OWN_SIZE (64 * KIB)

static bide_task *spawn_holder(size_t i, char *own)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	if (i % 3 == 1) {
		attr.stack = own + i * OWN_SIZE;
		attr.stack_size = OWN_SIZE;
	}
	return bide_spawn_with(i % 3 ? hold_a_block : hold_in_a_coroutine, (void *)i, &attr);
}

static void *hold_and_drop(void *arg)
{
	bide_task *tasks[HOLDERS];
	char *own = mmap(NULL, HOLDERS * OWN_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(own != MAP_FAILED);
	look_for_leaks();
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < HOLDERS; i++)
			must((tasks[i] = spawn_holder(i, own)) != NULL);
		settle();
		look_for_leaks();
		if (round == 0)
			for (size_t i = 0; i < HOLDERS; i++)
				must_end_well(tasks[i]);
	}
	bide_task *dropper = must_spawn(drop_a_block, NULL);
	settle();
	look_for_leaks();
	fprintf(stderr, "\n-- dropped --\n");
	pass(BIDE_SEC / 2);
	pass(BIDE_SEC / 2 + 1);
	look_for_leaks();
	must_end_well(dropper);
	for (size_t i = 0; i < HOLDERS; i++)
		must_end_well(tasks[i]);
	munmap(own, HOLDERS * OWN_SIZE);
	return arg;
}

static void *pool_alloc(size_t size, void *ctx)
{
	(void)ctx;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void pool_free(void *memory, size_t size, void *ctx)
{
	(void)ctx;
	munmap(memory, size);
}

static void check_for_leaks(void *with_hooks)
{
	bide_allocator hooks = { .stack_alloc = pool_alloc, .stack_free = pool_free };
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = BIDE_VIRTUAL_CLOCK;
	config.allocator = *(bool *)with_hooks ? &hooks : NULL;
	if (bide_run(hold_and_drop, NULL, &config, NULL) != 0)
		fprintf(stderr, "bide_run: %s\n", strerror(errno));
	_exit(0); /* there is a leak, which was found already */
}

START_TEST(a_leak_check_sees_what_only_a_parked_stack_points_to)
{
	bool with_hooks = _i;
	char held[32], lost[32];
	struct death death = death_of(check_for_leaks, &with_hooks);
	const char *dropped = strstr(death.text, "-- dropped --");
	snprintf(held, sizeof held, "of %d byte(s)", HELD);
	snprintf(lost, sizeof lost, "of %d byte(s)", LOST);
	ck_assert_msg(dropped, "%s", death.text);
	if (!HAS_CHECKER)
		return;
	const char *found = strstr(death.text, lost);
	ck_assert_msg(found && found > dropped, "%s", death.text);
	ck_assert_msg(!strstr(death.text, held), "%s", death.text);
}
END_TEST

int main(void)
{
	return SUITE("stack_leaks", LOOP(a_leak_check_sees_what_only_a_parked_stack_points_to, 0, 2));
}
