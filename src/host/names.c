/* SPDX-License-Identifier: MIT
 * Layer host: names, looked up on a thread: getaddrinfo(3) reads files, asks servers, and needs more stack than
 * a task should be asked for. */
#include <bide/file.h>

#include <errno.h>
#include <string.h>

#include "base/system.h"
#include "host/room.h"

/* In memory of its own, so that it can be left behind. */
struct lookup {
	struct addrinfo hints;
	bool has_hints;
	struct addrinfo *list;
	int status;
	size_t size;
	char *host, *service; /* in text, or NULL */
	char text[];
};

static size_t length_of(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static char *copy(char *to, const char *text)
{
	return text ? memcpy(to, text, length_of(text)) : NULL;
}

static struct lookup *lookup_new(const char *host, const char *service, const struct addrinfo *hints)
{
	size_t size = sizeof(struct lookup) + length_of(host) + length_of(service);
	struct lookup *lookup = memory_alloc(&memory_default, size);
	if (!lookup)
		return NULL;
	lookup->size = size;
	lookup->status = EAI_SYSTEM;
	lookup->host = copy(lookup->text, host);
	lookup->service = copy(lookup->text + length_of(host), service);
	lookup->has_hints = hints != NULL;
	if (hints)
		lookup->hints = *hints;
	return lookup;
}

static void *look_up(void *arg)
{
	struct lookup *lookup = arg;
	lookup->status = system_getaddrinfo(lookup->host, lookup->service, lookup->has_hints ? &lookup->hints : NULL,
	    &lookup->list);
	return lookup;
}

static void drop(void *value, void *arg)
{
	struct lookup *lookup = arg;
	if (value && lookup->status == 0)
		freeaddrinfo(lookup->list);
	memory_free(&memory_default, lookup, lookup->size);
}

static int fail_with_code(void)
{
	return errno == ENOMEM ? EAI_MEMORY : EAI_SYSTEM;
}

int bide_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	bide_offload_attr attr = BIDE_OFFLOAD_ATTR_INIT;
	if (!list) {
		errno = EINVAL;
		return EAI_SYSTEM;
	}
	struct task *self = task_current();
	struct host_room *room = self ? host_room(self->loop) : NULL;
	if (!self)
		errno = EPERM;
	attr.pool = room ? host_pool(room, &room->names) : NULL;
	struct lookup *lookup = attr.pool ? lookup_new(host, service, hints) : NULL;
	if (!lookup)
		return fail_with_code();
	attr.flags = BIDE_ABANDON;
	attr.drop = drop;
	if (bide_offload_with(look_up, lookup, &attr, NULL) < 0)
		return fail_with_code();
	int status = lookup->status;
	*list = lookup->list;
	memory_free(&memory_default, lookup, lookup->size);
	return status;
}
