/* SPDX-License-Identifier: MIT
 * Layer base: code addresses as "program+0x1234". The dynamic linker's own tables cannot be read from a
 * signal handler: it may hold their lock. So they are copied before. */
#include "base/modules.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/image.h"
#include "base/locks.h"
#include "base/text.h"

#define PATHS_SIZE 16384

static struct module modules[MODULES_MAX];
static atomic_int module_count;
static char paths[PATHS_SIZE]; /* one behind the other */
static size_t paths_used;

static void copy_base_name(char name[MODULE_NAME_SIZE], const char *path)
{
	const char *slash = strrchr(path, '/');
	struct text text;
	text_init(&text, name, MODULE_NAME_SIZE);
	text_add(&text, slash ? slash + 1 : path);
}

static const char *copy_path(const char *path)
{
	size_t size = strlen(path) + 1;
	if (size > PATHS_SIZE - paths_used)
		return NULL;
	char *copy = memcpy(paths + paths_used, path, size);
	paths_used += size;
	return copy;
}

static void add(const struct module *module, const char *path)
{
	int count = atomic_load_explicit(&module_count, memory_order_relaxed);
	for (int i = 0; i < count; i++)
		if (modules[i].start == module->start && modules[i].identity == module->identity)
			return;
	if (count == MODULES_MAX)
		return;
	modules[count] = *module;
	modules[count].path = copy_path(path);
	atomic_store_explicit(&module_count, count + 1, memory_order_release);
}

/* As image_identity() does it for the file. */
static uint64_t identity_of(const struct dl_phdr_info *info)
{
	uint64_t identity = IDENTITY_BEGIN;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		identity = identity_add(identity, header, sizeof *header);
		if (header->p_type == PT_NOTE)
			identity = identity_add(identity, (const char *)info->dlpi_addr + header->p_vaddr, header->p_filesz);
	}
	return identity;
}

static int note_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool is_program = !*info->dlpi_name;
	struct module module = { .bias = info->dlpi_addr, .identity = identity_of(info) };
	(void)size;
	(void)arg;
	copy_base_name(module.name, is_program ? program_invocation_name : info->dlpi_name);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		module.start = info->dlpi_addr + header->p_vaddr;
		module.end = module.start + header->p_memsz;
		add(&module, is_program ? "/proc/self/exe" : info->dlpi_name);
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
int modules_find(uintptr_t address)
{
	for (int i = atomic_load_explicit(&module_count, memory_order_acquire); i-- > 0;)
		if (address >= modules[i].start && address < modules[i].end)
			return i;
	return -1;
}

const struct module *modules_at(int index)
{
	return &modules[index];
}

const char *modules_place(uintptr_t address, char place[MODULE_PLACE_SIZE])
{
	int index = modules_find(address);
	const struct module *module = index >= 0 ? &modules[index] : NULL;
	struct text text;
	text_init(&text, place, MODULE_PLACE_SIZE);
	if (module) {
		text_add(&text, module->name);
		text_add(&text, "+");
	}
	text_add_address(&text, address - (module ? module->bias : 0));
	return place;
}
