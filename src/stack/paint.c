/* SPDX-License-Identifier: MIT
 * Layer stack: how deep a stack was used. It is painted when it begins to be used; the lowest word that
 * differs later tells. A recycled stack is painted over only where it was used. */
#include "base/check.h"
#include "stack/stack.h"

#define PAINT UINT64_C(0xb1de57acb1de57ac)

/* The words of a stack; memory of the caller's need not be aligned. volatile: the compiler must not
 * make calls of memset() or memchr() of the loops, which a sanitizer checks. */
static volatile uint64_t *first_word(const struct stack *stack)
{
	return (uint64_t *)(((uintptr_t)stack->low + 7) & ~(uintptr_t)7);
}

static volatile uint64_t *end_of_words(const struct stack *stack)
{
	return (uint64_t *)((uintptr_t)stack->high & ~(uintptr_t)7);
}

ANNOTATE_UNCHECKED static void paint(volatile uint64_t *word, volatile uint64_t *end)
{
	while (word < end)
		*word++ = PAINT;
}

ANNOTATE_UNCHECKED static volatile uint64_t *first_used(const struct stack *stack)
{
	volatile uint64_t *word = first_word(stack), *end = end_of_words(stack);
	annotate_readable(stack->low, stack->high);
	while (word < end && *word == PAINT)
		word++;
	return word;
}

void stack_paint(const struct stack *stack)
{
	paint(first_word(stack), end_of_words(stack));
}

void stack_repaint(const struct stack *stack)
{
	paint(first_used(stack), end_of_words(stack));
}

size_t stack_used(const struct stack *stack)
{
	volatile uint64_t *used = first_used(stack);
	return used == end_of_words(stack) ? 0 : (size_t)(stack->high - (char *)(uintptr_t)used);
}

void stack_canary_set(const struct stack *stack)
{
	volatile uint64_t *word = first_word(stack);
	paint(word, word + STACK_CANARY_SIZE / sizeof *word);
}

ANNOTATE_UNCHECKED bool stack_canary_is_whole(const struct stack *stack)
{
	volatile uint64_t *word = first_word(stack);
	annotate_readable((char *)(uintptr_t)word, (char *)(uintptr_t)word + STACK_CANARY_SIZE);
	return word[0] == PAINT && word[1] == PAINT;
}
