/* SPDX-License-Identifier: MIT
 * gather: several tasks at once, all their results, and what happens when one fails.
 *
 *     gather [--virtual]
 *
 * Three "pages" are fetched side by side; it takes as long as the slowest. The second round has a page
 * that fails: with BIDE_FAIL_FAST the others are canceled, and have ended when gather returns. */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct page {
	const char *name;
	int ms;
	int err;
};

static bide_time start;

static void *fetch(void *arg)
{
	struct page *page = arg;
	if (bide_sleep(page->ms * BIDE_MSEC) < 0)
		return bide_fail(errno); /* canceled: clean up here, then end */
	return page->err ? bide_fail(page->err) : page;
}

static int fetch_all(struct page pages[], int count, unsigned flags)
{
	bide_task *tasks[8];
	bide_result results[8];
	for (int i = 0; i < count; i++) {
		tasks[i] = bide_spawn(fetch, &pages[i]);
		if (!tasks[i]) { /* those that run already are canceled when main ends */
			perror("spawn");
			return -1;
		}
	}
	start = bide_now();
	int result = bide_gather(tasks, count, results, flags);
	int err = result < 0 ? errno : 0;
	printf("after %d ms: %s\n", (int)((bide_now() - start) / BIDE_MSEC), err ? strerror(err) : "all there");
	for (int i = 0; i < count; i++) /* in the order of the arguments, whoever came first */
		printf("  %s: %s\n", pages[i].name, results[i].err ? strerror(results[i].err) : "fetched");
	return result;
}

static void *run(void *arg)
{
	static struct page good[] = { { "news", 30, 0 }, { "mail", 10, 0 }, { "maps", 20, 0 } };
	static struct page bad[] = { { "news", 30, 0 }, { "mail", 10, EIO }, { "maps", 20, 0 } };
	(void)arg;
	if (fetch_all(good, 3, 0) < 0)
		return bide_fail(errno);
	fetch_all(bad, 3, BIDE_FAIL_FAST);
	return NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "gather: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
