/* SPDX-License-Identifier: MIT
 * A user's program, for the tests of an installed tree: strict C11, and C++ as well. Prints the version that
 * it was compiled with. */
#include <bide.h>
#include <stdio.h>

static void *child(void *arg)
{
	bide_sleep(BIDE_USEC);
	return arg;
}

static void *body(void *arg)
{
	bide_result result;
	if (bide_join(bide_spawn(child, arg), &result) == -1)
		return bide_fail(1);
	return result.value;
}

int main(void)
{
	int value = 0;
	bide_result result;
	if (bide_run(body, &value, NULL, &result) == -1 || result.value != &value) {
		perror("bide_run");
		return 1;
	}
	printf("%d.%d.%d\n", BIDE_VERSION_MAJOR, BIDE_VERSION_MINOR, BIDE_VERSION_PATCH);
	return 0;
}
