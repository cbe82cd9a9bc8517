/* SPDX-License-Identifier: MIT
 * Layer base: ELF files (System V gABI, chapters 4 and 5). See image.h. Headers are copied before they are
 * looked at: where they lie in a broken file, a struct may not. */
#include "base/image.h"

#include <link.h>

#define THIS_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define THIS_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

typedef ElfW(Ehdr) elf_header;
typedef ElfW(Shdr) elf_section;
typedef ElfW(Phdr) elf_segment;
typedef ElfW(Sym) elf_symbol;

static struct bytes part_of(const struct bytes *whole, uint64_t offset, uint64_t size)
{
	if (offset > whole->size || size > whole->size - offset)
		return (struct bytes){ NULL, 0 };
	return (struct bytes){ whole->start + offset, (size_t)size };
}

/* The record of `size` bytes at the place of this index in a table. */
static bool copy_record(void *record, size_t size, const struct bytes *table, uint64_t index)
{
	if (index >= table->size / size)
		return false;
	memcpy(record, table->start + index * size, size);
	return true;
}

const char *bytes_string(const struct bytes *table, uint64_t offset)
{
	struct reader reader = reader_over(table->start, table->size);
	reader_take(&reader, offset);
	return reader_string(&reader);
}

/* ---- sections ---------------------------------------------------------------------------------- */

static struct bytes contents(const struct image *image, const elf_section *section)
{
	if (section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED)
		return (struct bytes){ NULL, 0 };
	return part_of(&image->file, section->sh_offset, section->sh_size);
}

static void take_symbols(struct image *image, const struct bytes *table, const elf_section *section)
{
	elf_section names;
	if (section->sh_entsize != sizeof(elf_symbol) ||
	    !copy_record(&names, sizeof names, table, section->sh_link))
		return;
	image->symbols = contents(image, section);
	image->symbol_names = contents(image, &names);
}

static void take_section(struct image *image, const struct bytes *table, const elf_section *section,
    const char *name)
{
	if (section->sh_type == SHT_SYMTAB || (section->sh_type == SHT_DYNSYM && image->symbols.size == 0))
		take_symbols(image, table, section);
	else if (strcmp(name, ".debug_line") == 0)
		image->lines = contents(image, section);
	else if (strcmp(name, ".debug_line_str") == 0)
		image->line_strings = contents(image, section);
	else if (strcmp(name, ".debug_str") == 0)
		image->strings = contents(image, section);
}

static bool read_header(const struct image *image, elf_header *header)
{
	return copy_record(header, sizeof *header, &image->file, 0) &&
	    memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == THIS_CLASS &&
	    header->e_ident[EI_DATA] == THIS_ORDER;
}

/* The table of sections. Where there are too many for the header, the first one knows. */
static struct bytes section_table(const struct image *image, const elf_header *header, uint64_t *names_index)
{
	elf_section first;
	struct bytes table = { NULL, 0 };
	uint64_t count = header->e_shnum;
	*names_index = header->e_shstrndx;
	if (header->e_shoff == 0 || header->e_shentsize != sizeof first)
		return table;
	table = part_of(&image->file, header->e_shoff, sizeof first);
	if (!copy_record(&first, sizeof first, &table, 0))
		return table;
	if (count == 0)
		count = first.sh_size;
	if (*names_index == SHN_XINDEX)
		*names_index = first.sh_link;
	if (count > image->file.size / sizeof first)
		return (struct bytes){ NULL, 0 };
	return part_of(&image->file, header->e_shoff, count * sizeof first);
}

bool image_read(struct image *image, const void *file, size_t size)
{
	elf_header header;
	elf_section section;
	uint64_t names_index;
	*image = (struct image){ .file = { file, size } };
	if (!read_header(image, &header))
		return false;
	struct bytes names = { NULL, 0 }, table = section_table(image, &header, &names_index);
	if (copy_record(&section, sizeof section, &table, names_index))
		names = contents(image, &section);
	for (uint64_t i = 1; copy_record(&section, sizeof section, &table, i); i++)
		take_section(image, &table, &section, bytes_string(&names, section.sh_name));
	return true;
}

/* ---- identity ----------------------------------------------------------------------------------- */

/* FNV-1a. */
uint64_t identity_add(uint64_t identity, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < size; i++)
		identity = (identity ^ at[i]) * 1099511628211u;
	return identity;
}

uint64_t image_identity(const struct image *image)
{
	elf_header header;
	elf_segment segment;
	uint64_t identity = IDENTITY_BEGIN;
	if (!read_header(image, &header) || header.e_phentsize != sizeof segment)
		return 0;
	struct bytes table = part_of(&image->file, header.e_phoff, (uint64_t)header.e_phnum * sizeof segment);
	for (uint64_t i = 0; copy_record(&segment, sizeof segment, &table, i); i++) {
		struct bytes notes = part_of(&image->file, segment.p_offset, segment.p_filesz);
		identity = identity_add(identity, &segment, sizeof segment);
		if (segment.p_type == PT_NOTE)
			identity = identity_add(identity, notes.start, notes.size);
	}
	return identity;
}

/* ---- functions ---------------------------------------------------------------------------------- */

static bool is_function(const elf_symbol *symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info); /* the same in both classes */
	return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* Assembly may give no size: such a function reaches to the next one. */
static bool may_contain(const elf_symbol *symbol, uint64_t address)
{
	return symbol->st_value <= address && (symbol->st_size == 0 || address - symbol->st_value < symbol->st_size);
}

/* The nearest before the address; of several names of one function, the one that is known outside. */
static bool is_better(const elf_symbol *symbol, const elf_symbol *best)
{
	if (symbol->st_value != best->st_value)
		return symbol->st_value > best->st_value;
	return ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL && ELF64_ST_BIND(best->st_info) != STB_GLOBAL;
}

const char *image_function(const struct image *image, uint64_t address)
{
	elf_symbol symbol, best = { .st_name = 0 };
	for (uint64_t i = 1; copy_record(&symbol, sizeof symbol, &image->symbols, i); i++)
		if (is_function(&symbol) && may_contain(&symbol, address) &&
		    (best.st_name == 0 || is_better(&symbol, &best)))
			best = symbol;
	const char *name = best.st_name ? bytes_string(&image->symbol_names, best.st_name) : "";
	return *name ? name : NULL;
}
