/* SPDX-License-Identifier: MIT
 * Layer base: intrusive circular doubly-linked list. Removal needs no list, only the link. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

/* In a list, or with next == NULL in none. */
struct link {
	struct link *next;
	struct link *prev;
};

struct list {
	struct link head;
};

static inline void list_init(struct list *list)
{
	list->head.next = &list->head;
	list->head.prev = &list->head;
}

/* A list that is all zero counts as empty too: caller-owned objects start that way. */
static inline bool list_is_empty(const struct list *list)
{
	return list->head.next == &list->head || !list->head.next;
}

static inline bool link_is_linked(const struct link *link)
{
	return link->next != NULL;
}

static inline void link_insert_before(struct link *link, struct link *at)
{
	link->next = at;
	link->prev = at->prev;
	at->prev->next = link;
	at->prev = link;
}

static inline void list_push_tail(struct list *list, struct link *link)
{
	if (__builtin_expect(!list->head.next, 0))
		list_init(list);
	link_insert_before(link, &list->head);
}

static inline struct link *list_head(const struct list *list)
{
	return list_is_empty(list) ? NULL : list->head.next;
}

static inline void link_remove(struct link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->next = NULL;
}

static inline struct link *list_pop_head(struct list *list)
{
	struct link *link = list_head(list);
	if (link)
		link_remove(link);
	return link;
}

/* Walks the list; the current link may be removed on the way, others may not. */
#define list_each(link, list)                                                                      \
	for (struct link *link = list_head(list), *next_of_##link;                                     \
	    link && link != &(list)->head && (next_of_##link = link->next, 1); link = next_of_##link)

#endif
