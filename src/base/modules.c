/* SPDX-License-Identifier: MIT
 * Layer base: code addresses as "program+0x1234". The dynamic linker's own tables cannot be read from a
 * signal handler: it may hold their lock. So they are copied before. */
#include "base/modules.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "base/locks.h"
#include "base/text.h"

#define MODULES_MAX 128
#define NAME_SIZE 32

static struct module {
	uintptr_t start, end; /* of its code */
	uintptr_t bias;
	char name[NAME_SIZE];
} modules[MODULES_MAX];
static atomic_int module_count;


static void copy_base_name(char name[NAME_SIZE], const char *path)
{
	const char *slash = strrchr(path, '/');
	struct text text;
	text_init(&text, name, NAME_SIZE);
	text_add(&text, slash ? slash + 1 : path);
}

static void add(const struct module *module)
{
	int count = atomic_load_explicit(&module_count, memory_order_relaxed);
	for (int i = 0; i < count; i++)
		if (modules[i].start == module->start && strcmp(modules[i].name, module->name) == 0)
			return;
	if (count == MODULES_MAX)
		return;
	modules[count] = *module;
	atomic_store_explicit(&module_count, count + 1, memory_order_release);
}

static int note_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module module = { .bias = info->dlpi_addr };
	(void)size;
	(void)arg;
	copy_base_name(module.name, *info->dlpi_name ? info->dlpi_name : program_invocation_name);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		module.start = info->dlpi_addr + header->p_vaddr;
		module.end = module.start + header->p_memsz;
		add(&module);
	}
	return 0;
}

void modules_note(void)
{
	lock_take(LOCK_MODULES);
	dl_iterate_phdr(note_one, NULL);
	lock_release(LOCK_MODULES);
}

/* The latest first: what is gone may have left its addresses to it. */
static const struct module *find(uintptr_t address)
{
	for (int i = atomic_load_explicit(&module_count, memory_order_acquire); i-- > 0;)
		if (address >= modules[i].start && address < modules[i].end)
			return &modules[i];
	return NULL;
}

const char *modules_place(uintptr_t address, char place[MODULE_PLACE_SIZE])
{
	const struct module *module = find(address);
	struct text text;
	text_init(&text, place, MODULE_PLACE_SIZE);
	if (module) {
		text_add(&text, module->name);
		text_add(&text, "+");
	}
	text_add_address(&text, address - (module ? module->bias : 0));
	return place;
}
