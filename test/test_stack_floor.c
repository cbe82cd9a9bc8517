/* SPDX-License-Identifier: MIT
 * The least size of a stack on a machine whose registers are larger than this one's, such as the tiles of AMX:
 * what the kernel says of a signal's frame is replaced here. A program of its own, since the size is asked for
 * once in a process. */
#include <signal.h>
#include <sys/auxv.h>

#include "frame.h"
#include "runs.h"
#include "stack/stack.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define FRAME ((unsigned long)11 * 1024 + 64) /* x86_64 with AMX */

/* In place of the C library's, for the code under test. */
unsigned long getauxval(unsigned long type)
{
	if (type == AT_MINSIGSTKSZ)
		return FRAME;
	errno = ENOENT;
	return 0;
}

static bide_task *spawn_on(size_t size)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = size;
	return bide_spawn_with(nothing, &attr, &attr);
}

VIRTUAL_TEST(the_least_size_grows_with_the_processor_s_registers)
{
	size_t least = bide_stack_min();
	ck_assert_uint_eq(stack_signal_frame(), FRAME);
	ck_assert_uint_ge(least, FRAME + (CONTEXT_BINDING_SAVES_VECTORS ? FRAME : 0) + 1024);
	ck_assert_uint_le(least, 2 * FRAME + 4096);
	ck_fails_null(spawn_on(least - 1), EINVAL);
	ck_fails_null(spawn_on(BIDE_STACK_MIN), EINVAL);
	must_end_well(spawn_on(least));
	ck_fails_null(bide_coro_new(nothing, NULL, least - 1), EINVAL);
}

/* It is what a run accepts for all, too; and the default is above it. */
START_TEST(a_run_asks_for_it_as_well)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.stack_size = bide_stack_min() - 1;
	ck_fails(bide_run(nothing, NULL, &config, NULL), EINVAL);
	config.stack_size = bide_stack_min();
	ck_assert_int_eq(bide_run(nothing, NULL, &config, NULL), 0);
	ck_assert_uint_gt(STACK_SIZE_DEFAULT, bide_stack_min());
}
END_TEST

/* The alternate stack has room for such a frame and for the report beside it. */
static void *look_at_alternate(void *arg)
{
	stack_t alternate;
	must(sigaltstack(NULL, &alternate) == 0);
	*(size_t *)arg = alternate.ss_size;
	return NULL;
}

START_TEST(the_alternate_stack_grows_with_it)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	size_t size = 0;
	ck_assert_int_eq(sigaltstack(&none, NULL), 0);
	run_real(look_at_alternate, &size);
	ck_assert_uint_ge(size, FRAME + 64 * (size_t)1024);
}
END_TEST

int main(void)
{
	return SUITE("stack_floor",
	    TEST(the_least_size_grows_with_the_processor_s_registers),
	    TEST(a_run_asks_for_it_as_well),
	    TEST(the_alternate_stack_grows_with_it));
}
