/* SPDX-License-Identifier: MIT
 * Layer base: code addresses as "program+0x1234". The dynamic linker's own tables cannot be read from a
 * signal handler: it may hold their lock. So they are copied before. */
#include "base/modules.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/text.h"

#define MODULES_MAX 64
#define NAME_SIZE 32

static struct module {
	uintptr_t start, end; /* of its code */
	uintptr_t bias;
	char name[NAME_SIZE];
} modules[MODULES_MAX];
static int module_count;

static void copy_base_name(char name[NAME_SIZE], const char *path)
{
	const char *slash = strrchr(path, '/');
	struct text text;
	text_init(&text, name, NAME_SIZE);
	text_add(&text, slash ? slash + 1 : path);
}

static int note_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum && module_count < MODULES_MAX; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		struct module *module = &modules[module_count++];
		module->bias = info->dlpi_addr;
		module->start = info->dlpi_addr + header->p_vaddr;
		module->end = module->start + header->p_memsz;
		copy_base_name(module->name, *info->dlpi_name ? info->dlpi_name : program_invocation_name);
	}
	return 0;
}

void modules_note(void)
{
	module_count = 0;
	dl_iterate_phdr(note_one, NULL);
}

const char *modules_place(uintptr_t address, char place[MODULE_PLACE_SIZE])
{
	struct text text;
	text_init(&text, place, MODULE_PLACE_SIZE);
	for (int i = 0; i < module_count; i++) {
		const struct module *module = &modules[i];
		if (address < module->start || address >= module->end)
			continue;
		text_add(&text, module->name);
		text_add(&text, "+");
		address -= module->bias;
		break;
	}
	text_add_address(&text, address);
	return place;
}
