/* SPDX-License-Identifier: MIT
 * hello: two tasks that greet, and a main that waits for both. */
#include <bide.h>

#include <errno.h>
#include <stdio.h>

static void *greet(void *name)
{
	printf("%s: hello\n", (char *)name);
	if (bide_sleep(BIDE_SEC / 10) != 0) /* parks this task, and lets the others run */
		return bide_fail(errno);
	printf("%s: goodbye\n", (char *)name);
	return NULL;
}

static void *greet_both(void *arg)
{
	bide_task *tasks[] = { bide_spawn(greet, "Ada"), bide_spawn(greet, "Bob") };

	return bide_gather(tasks, 2, arg, 0) == 0 ? NULL : bide_fail(errno);
}

int main(void)
{
	return bide_run(greet_both, NULL, NULL, NULL) == 0 ? 0 : 1;
}
