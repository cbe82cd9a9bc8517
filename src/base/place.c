/* SPDX-License-Identifier: MIT
 * Layer base: code addresses as "function (file.c:12)". See place.h.
 *
 * Threads share what is here, and a signal handler may ask while its own thread is in the middle of it. So there
 * is no lock: a file is opened, and a result remembered, by whoever claims the entry first; it is written once and
 * never again. Who finds an entry claimed and not written yet does without it. */
#include "base/place.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "base/lines.h"
#include "base/system.h"
#include "base/text.h"

/* ---- the files ------------------------------------------------------------------------------------ */

enum progress { UNTRIED, BEGUN, DONE, FAILED };

static struct opened {
	_Atomic(enum progress) progress;
	struct image image; /* when DONE */
} opened[MODULES_MAX];

/* The whole file, or size 0. */
static struct bytes map_file(const char *path)
{
	struct bytes file = { NULL, 0 };
	struct stat status;
	int fd = system_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return file;
	if (system_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
		void *start = system_mmap_file(fd, (size_t)status.st_size);
		if (start != MAP_FAILED)
			file = (struct bytes){ start, (size_t)status.st_size };
	}
	system_close(fd);
	return file;
}

/* Only the very file that was loaded: it may have been replaced since. Where there is no descriptor, or memory, now
 * there may be later. */
static enum progress open_module(struct image *image, const struct module *module)
{
	if (!module->path || !strchr(module->path, '/'))
		return FAILED; /* the kernel's own */
	struct bytes file = map_file(module->path);
	if (file.size == 0)
		return UNTRIED;
	if (image_read(image, file.start, file.size) && image_identity(image) == module->identity)
		return DONE;
	system_munmap((void *)(uintptr_t)file.start, file.size);
	return FAILED;
}

/* Another thread will soon be done with it; a thread whose own handler asks never will. */
static enum progress await_other(const struct opened *entry)
{
	static const struct timespec moment = { .tv_nsec = 1000000 };
	enum progress progress = BEGUN;
	for (int i = 0; i < 100 && progress == BEGUN; i++) {
		nanosleep(&moment, NULL);
		progress = atomic_load_explicit(&entry->progress, memory_order_acquire);
	}
	return progress;
}

static const struct image *image_of(int index)
{
	struct opened *entry = &opened[index];
	enum progress progress = UNTRIED;
	if (atomic_compare_exchange_strong_explicit(&entry->progress, &progress, BEGUN, memory_order_acquire,
	    memory_order_acquire)) {
		progress = open_module(&entry->image, modules_at(index));
		atomic_store_explicit(&entry->progress, progress, memory_order_release);
	} else if (progress == BEGUN) {
		progress = await_other(entry);
	}
	return progress == DONE ? &entry->image : NULL;
}

/* ---- what was found ------------------------------------------------------------------------------- */

/* Reports name the same few places again and again, and a search reads whole tables. */
#define KNOWN_SIZE 1024 /* a power of two */
#define KNOWN_PROBES 8
#define CLAIMED 1      /* no code is at this address */

struct found {
	int module;
	unsigned line;            /* 0: no file is known */
	const char *function;     /* in the mapped file, as the next; NULL: not known */
	const char *file;
};

static struct known {
	atomic_uintptr_t address; /* 0: free */
	struct found found;       /* whoever has claimed the entry writes it, before it has an address */
} known[KNOWN_SIZE];

static void search(struct found *found, uintptr_t address, int index)
{
	const struct module *module = modules_at(index);
	const struct image *image = image_of(index);
	struct line line = { NULL, 0 };
	found->module = index;
	found->function = NULL;
	found->line = 0;
	if (!image)
		return;
	found->function = image_function(image, address - module->bias);
	if (!lines_find(image, address - module->bias, module->start - module->bias, module->end - module->bias, &line))
		return;
	found->file = line.file;
	found->line = line.number;
}

/* The entry that knows the address, or else one to fill in, or NULL. */
static struct known *entry_for(uintptr_t address, int index, bool *is_filled)
{
	size_t begin = (address ^ address >> 9) * 0x9e3779b97f4a7c15u >> 32;
	for (size_t i = 0; i < KNOWN_PROBES; i++) {
		struct known *entry = &known[(begin + i) % KNOWN_SIZE];
		uintptr_t held = atomic_load_explicit(&entry->address, memory_order_acquire);
		*is_filled = held == address && entry->found.module == index;
		if (*is_filled)
			return entry;
		if (held == 0 && atomic_compare_exchange_strong_explicit(&entry->address, &held, CLAIMED,
		    memory_order_acquire, memory_order_relaxed))
			return entry;
	}
	return NULL;
}

static struct found look_up(uintptr_t address, int index)
{
	bool is_filled;
	struct known *entry = entry_for(address, index, &is_filled);
	if (entry && is_filled)
		return entry->found;
	struct found own = { .module = -1 };
	search(&own, address, index);
	if (!entry)
		return own;
	/* What failed for want of a descriptor may succeed the next time. */
	bool is_worth_it = own.function || own.line;
	entry->found = own;
	atomic_store_explicit(&entry->address, is_worth_it ? address : 0, memory_order_release);
	return own;
}

/* ---- in words -------------------------------------------------------------------------------------- */

#define FUNCTION_MAX 80

/* Without what a compiler adds to the names of parts and copies: ".part.0", ".cold". */
static void add_function(struct text *text, const char *function)
{
	char *limit = text->end;
	if (text->end - text->at > FUNCTION_MAX)
		text->end = text->at + FUNCTION_MAX;
	for (const char *from = function; *from && (*from != '.' || from == function) && text->at < text->end; from++)
		*text->at++ = *from;
	*text->at = '\0';
	text->end = limit;
}

const char *place_of(uintptr_t address, char place[PLACE_SIZE])
{
	char in_module[MODULE_PLACE_SIZE];
	int saved = errno, index = modules_find(address);
	struct found found = { .module = -1 };
	struct text text;
	if (index >= 0)
		found = look_up(address, index);
	text_init(&text, place, PLACE_SIZE);
	if (found.function) {
		add_function(&text, found.function);
		text_add(&text, " (");
	}
	if (found.line > 0) {
		text_add(&text, found.file);
		text_add(&text, ":");
		text_add_decimal(&text, found.line);
	} else {
		text_add(&text, modules_place(address, in_module));
	}
	if (found.function)
		text_add(&text, ")");
	errno = saved;
	return place;
}

const char *place_of_call(const void *address, char place[PLACE_SIZE])
{
	int saved = errno;
	modules_note();
	errno = saved;
	return place_of((uintptr_t)address - 1, place);
}
