/* SPDX-License-Identifier: MIT
 * base/place.h: code addresses by the tables of symbols and lines, of this very program and of broken copies of
 * it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/modules.h"
#include "base/place.h"
#include "base/random.h"
#include "suite.h"

/* ---- this program ---------------------------------------------------------------------------------- */

static __attribute__((noinline)) uintptr_t where_it_returns_to(void)
{
	return (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
}

static __attribute__((noinline)) uintptr_t call_site(int *line)
{
	*line = __LINE__ + 1;
	uintptr_t site = where_it_returns_to();
	__asm__ volatile("" : "+r"(site));
	return site;
}

START_TEST(a_call_is_told_by_function_file_and_line)
{
	char place[PLACE_SIZE], expected[PLACE_SIZE];
	int line;
	uintptr_t site = call_site(&line);
	snprintf(expected, sizeof expected, "call_site (test_place.c:%d)", line);
	for (int i = 0; i < 3; i++) /* it is remembered */
		ck_assert_str_eq(place_of(site - 1, place), expected);
}
END_TEST

START_TEST(a_shared_object_is_told_by_what_it_has)
{
	char place[PLACE_SIZE];
	place_of((uintptr_t)dlsym(RTLD_DEFAULT, "insque"), place);
	ck_assert_msg(strncmp(place, "insque", 6) == 0 && strstr(place, " ("), "%s", place);
}
END_TEST

#define THREADS 4
#define ADDRESSES 60

struct asker {
	pthread_t thread;
	uintptr_t first;
	char places[ADDRESSES][PLACE_SIZE];
};

static void *ask(void *arg)
{
	struct asker *asker = arg;
	for (int i = 0; i < ADDRESSES; i++)
		place_of(asker->first + (uintptr_t)i, asker->places[i]);
	return NULL;
}

/* The first to ask opens the file, and whoever finds a place remembers it for all. */
START_TEST(threads_may_ask_at_once)
{
	static struct asker askers[THREADS];
	int line;
	uintptr_t site = call_site(&line);
	for (int i = 0; i < THREADS; i++) {
		askers[i].first = site - ADDRESSES;
		must(pthread_create(&askers[i].thread, NULL, ask, &askers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(askers[i].thread, NULL);
	must(strstr(askers[0].places[ADDRESSES - 1], "call_site (test_place.c:")); /* before it may be other functions */
	for (int i = 0; i < ADDRESSES; i++)
		for (int j = 1; j < THREADS; j++)
			must_msg(strcmp(askers[j].places[i], askers[0].places[i]) == 0, "%s is not %s", askers[j].places[i],
			    askers[0].places[i]);
}
END_TEST

START_TEST(what_is_no_code_is_told_as_a_number)
{
	char place[PLACE_SIZE];
	ck_assert_str_eq(place_of(0, place), "0x0");
	ck_assert_str_eq(place_of(0x1234, place), "0x1234");
	ck_assert_str_eq(place_of(UINTPTR_MAX, place), "0xffffffffffffffff");
}
END_TEST

/* The first address in a module decides whether its file is opened: this must be the first test of its process. */
static const char *const faults[] = { "open:EMFILE", "fstat:EIO", "mmap:ENOMEM" };

START_TEST(without_the_file_the_offset_is_told_and_later_the_place)
{
	char place[PLACE_SIZE];
	int line;
	uintptr_t site = call_site(&line);
	errno = 77;
	for (int i = 0; i < 3; i++) {
		must(bide_fault(faults[i]) == 0);
		place_of(site - 1, place);
		must(bide_fault(NULL) == 0);
		ck_assert_msg(strstr(place, "test_place+0x") == place, "%s", place);
		ck_assert_int_eq(errno, 77);
	}
	ck_assert_ptr_eq(strstr(place_of(site - 1, place), "call_site (test_place.c:"), place);
}
END_TEST

/* ---- copies that are broken ------------------------------------------------------------------------- */

static unsigned char *copy;
static size_t copy_size;
static uint64_t low, high; /* of the code, as the linker knows it */

static int note_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			low = info->dlpi_phdr[i].p_vaddr;
			high = low + info->dlpi_phdr[i].p_memsz;
		}
	*(uintptr_t *)arg = info->dlpi_addr;
	return 1; /* the program is the first */
}

static char *room;
static size_t room_size;

/* The first `limit` bytes of the program, at the end of what may be read. */
static void make_copy(size_t limit)
{
	struct stat status;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &status) == 0);
	copy_size = (size_t)status.st_size < limit ? (size_t)status.st_size : limit;
	room_size = (copy_size + 3 * page - 1) / page * page;
	room = mmap(NULL, room_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(room != MAP_FAILED && mprotect(room, room_size - page, PROT_READ | PROT_WRITE) == 0);
	copy = (unsigned char *)room + room_size - page - copy_size;
	for (size_t got = 0; got < copy_size;) {
		ssize_t count = read(fd, copy + got, copy_size - got);
		must(count > 0);
		got += (size_t)count;
	}
	close(fd);
}

static void drop_copy(void)
{
	munmap(room, room_size);
}

/* As the linker knows it. */
static uint64_t link_address(uintptr_t address)
{
	uintptr_t bias;
	dl_iterate_phdr(note_code, &bias);
	return address - bias;
}

/* Looks a few places up: nothing is asked of the answers. */
static void look_around(uint64_t address)
{
	struct image image;
	struct line line;
	if (!image_read(&image, copy, copy_size))
		return;
	image_identity(&image);
	const char *function = image_function(&image, address);
	must(!function || strlen(function) < copy_size);
	if (lines_find(&image, address, low, high, &line))
		must(strlen(line.file) < copy_size);
}

struct change {
	size_t at;
	unsigned char was;
};

static size_t pick(struct random *random, size_t start, size_t size)
{
	return start + (size_t)random_below(random, size);
}

/* The parts that are read: most changes are to strike where they matter. */
static size_t pick_place(struct random *random, const struct image *image)
{
	const struct bytes *const parts[] = { &image->file, &image->lines, &image->lines, &image->line_strings,
		&image->symbols };
	const struct bytes *part = parts[random_below(random, 5)];
	if (part->size == 0 || random_below(random, 8) == 0)
		return random_below(random, 2) ? pick(random, 0, 64) : pick(random, copy_size - 64 * 40, 64 * 40);
	if (part == &image->lines && random_below(random, 2))
		return pick(random, (size_t)(part->start - copy), part->size < 400 ? part->size : 400);
	return pick(random, (size_t)(part->start - copy), part->size);
}

#define CHANGES 12

START_TEST(broken_files_are_survived)
{
	int line, rounds = suite_scaled_down(150, 20);
	struct random random = { suite_seed() };
	struct change changes[CHANGES];
	uint64_t address = link_address(call_site(&line) - 1);
	struct image whole;
	struct line found;
	make_copy(SIZE_MAX);
	must(image_read(&whole, copy, copy_size));
	must(lines_find(&whole, address, low, high, &found) && found.number == (unsigned)line);
	must(strcmp(image_function(&whole, address), "call_site") == 0);
	printf("seed %llu\n", (unsigned long long)random.state);
	for (int round = 0; round < rounds; round++) {
		int count = 1 + (int)random_below(&random, CHANGES);
		for (int i = 0; i < count; i++) {
			size_t at = pick_place(&random, &whole);
			changes[i] = (struct change){ at, copy[at] };
			copy[at] = random_below(&random, 3) ? (unsigned char)random_next(&random) : 0xff;
		}
		look_around(address);
		look_around(low + random_below(&random, high - low));
		while (count-- > 0)
			copy[changes[count].at] = changes[count].was;
	}
	must(lines_find(&whole, address, low, high, &found) && found.number == (unsigned)line);
	drop_copy();
}
END_TEST

/* A file that ends too early, anywhere. */
START_TEST(shortened_files_are_survived)
{
	struct random random = { suite_seed() };
	int line, rounds = suite_scaled_down(150, 80);
	uint64_t address = link_address(call_site(&line) - 1);
	make_copy(SIZE_MAX);
	size_t whole = copy_size;
	drop_copy();
	for (int round = 0; round < rounds; round++) {
		make_copy(round < 70 ? (size_t)round : (size_t)random_below(&random, whole));
		look_around(address);
		drop_copy();
	}
}
END_TEST

int main(void)
{
	modules_note();
	return SUITE("place", TEST(without_the_file_the_offset_is_told_and_later_the_place),
	    TEST(a_call_is_told_by_function_file_and_line), TEST(a_shared_object_is_told_by_what_it_has),
	    TEST(what_is_no_code_is_told_as_a_number), TEST(threads_may_ask_at_once), TEST(broken_files_are_survived),
	    TEST(shortened_files_are_survived));
}
