/* SPDX-License-Identifier: MIT
 * generator: bare coroutines, resumed by hand. They need no loop, and values go both ways.
 *
 * A generator hands out a pointer into its own frame, good until it is resumed or closed. Each
 * resume here sends a word in, so NULL from bide_coro_yield() means that bide_coro_close() asks the
 * body to end. */
#include <bide.h>

#include <stdio.h>
#include <string.h>

/* 0 1 1 2 3 5 ... without end; sent "reset" it begins anew. */
static void *fibonacci(void *arg)
{
	unsigned long pair[2] = { 0, 1 };
	const char *word;

	while ((word = bide_coro_yield(&pair[0])) != NULL) {
		unsigned long sum = pair[0] + pair[1];
		bool reset = strcmp(word, "reset") == 0;

		pair[0] = reset ? 0 : pair[1];
		pair[1] = reset ? 1 : sum;
	}
	return arg;
}

static int print_numbers(bide_coro *numbers, int count, char *first_word)
{
	void *number;

	for (int i = 0; i < count; i++) {
		if (bide_coro_resume(numbers, i == 0 ? first_word : "next", &number) != 1)
			return -1;
		printf("%lu%c", *(unsigned long *)number, i < count - 1 ? ' ' : '\n');
	}
	return 0;
}

struct tree {
	const struct tree *left, *right; /* both, or none in a leaf */
	char leaf;
};

/* Yields from any depth: the coroutine's stack keeps the place in the tree. False means "end", and
 * the recursion unwinds by plain returns. */
static bool walk(const struct tree *tree)
{
	if (tree->left == NULL)
		return bide_coro_yield((void *)&tree->leaf) != NULL;
	return walk(tree->left) && walk(tree->right);
}

static void *leaves(void *tree)
{
	walk(tree);
	return NULL;
}

/* Have two trees the same leaves from left to right, whatever their shapes? Walks both in step, and
 * only as far as they agree. 1 yes, 0 no, -1 error. */
static int same_leaves(const struct tree *a, const struct tree *b)
{
	bide_coro *walk_a = bide_coro_new(leaves, (void *)a, 0);
	bide_coro *walk_b = bide_coro_new(leaves, (void *)b, 0);
	int more_a, more_b, same;
	void *leaf_a, *leaf_b;

	do {
		more_a = bide_coro_resume(walk_a, "next", &leaf_a); /* -1 if it could not be made */
		more_b = bide_coro_resume(walk_b, "next", &leaf_b);
	} while (more_a == 1 && more_b == 1 && *(char *)leaf_a == *(char *)leaf_b);
	same = more_a < 0 || more_b < 0 ? -1 : more_a == 0 && more_b == 0;
	bide_coro_close(walk_a);
	bide_coro_close(walk_b);
	return same;
}

int main(void)
{
	static const struct tree a = { 0, 0, 'a' }, b = { 0, 0, 'b' }, c = { 0, 0, 'c' };
	static const struct tree ab = { &a, &b, 0 }, bc = { &b, &c, 0 }, ba = { &b, &a, 0 };
	static const struct tree left = { &ab, &c, 0 }, right = { &a, &bc, 0 }, other = { &ba, &c, 0 };
	static const char *const answer[] = { "no", "yes" };
	bide_coro *numbers = bide_coro_new(fibonacci, NULL, 0);
	int failed = print_numbers(numbers, 10, "next") != 0 || print_numbers(numbers, 5, "reset") != 0;
	int same = same_leaves(&left, &right), differ = same_leaves(&left, &other);

	bide_coro_close(numbers); /* ends the endless body: its yield returns NULL */
	if (failed || same < 0 || differ < 0) {
		perror("generator");
		return 1;
	}
	printf("((a b) c) and (a (b c)): same leaves? %s\n", answer[same]);
	printf("((a b) c) and ((b a) c): same leaves? %s\n", answer[differ]);
	return fflush(stdout) != 0;
}
