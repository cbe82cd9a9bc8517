/* SPDX-License-Identifier: MIT
 * Layer await: how deep stacks were used, by spawn site. */
#include <string.h>

#include "await/record.h"

static struct site *find_site(struct sites *sites, const void *address)
{
	for (size_t i = 0; i < sites->count; i++)
		if (sites->all[i].address == address)
			return &sites->all[i];
	return NULL;
}

static struct site *add_site(struct run *run, void *address)
{
	struct sites *sites = &run->sites;
	if (sites->count == sites->room) {
		size_t room = sites->room ? 2 * sites->room : 16;
		struct site *all = memory_resize(run->loop.memory, sites->all, sites->room * sizeof *all,
		    room * sizeof *all);
		if (!all)
			return NULL;
		sites->all = all;
		sites->room = room;
	}
	struct site *site = &sites->all[sites->count++];
	*site = (struct site){ .address = address };
	return site;
}

void sites_note(struct run *run, void *address, uint64_t task_id, const struct depth *depth)
{
	int saved = errno;
	struct site *site = find_site(&run->sites, address);
	if (!site)
		site = add_site(run, address);
	errno = saved;
	if (!site)
		return;
	site->tasks++;
	if (depth->used <= site->used)
		return;
	site->used = depth->used;
	site->size = depth->size;
	site->task_id = task_id;
}

void sites_destroy(struct run *run)
{
	memory_free(run->loop.memory, run->sites.all, run->sites.room * sizeof *run->sites.all);
}
