/* SPDX-License-Identifier: MIT
 * Layer base: the table of lines (DWARF 5, section 6.2; what differs up to version 4 is in its appendix F).
 * It is a series of programs, one for each file that was compiled; each, when run, emits rows of address,
 * file and line, in sequences with ascending addresses. A row holds up to the address of the next one. See
 * lines.h. */
#include "base/lines.h"

/* ---- the head of a program ---------------------------------------------------------------------- */

struct program {
	struct reader code;
	struct reader tables; /* of directories and files */
	struct reader operand_counts; /* of the standard opcodes, which are numbered from 1 */
	unsigned version;
	size_t offset_size;   /* of offsets in the sections: 4, or 8 in a large one */
	unsigned step;        /* the least distance of instructions */
	int line_base;        /* special opcodes add from it on ... */
	unsigned line_range;  /* ... so many different numbers to the line */
	unsigned opcode_base; /* the first special opcode */
};

/* Takes the next program of the section. False if there is none, or it is of no known version. */
static bool program_read(struct program *program, struct reader *section)
{
	uint64_t size = reader_unsigned(section, 4);
	program->offset_size = 4;
	if (size == 0xffffffff) {
		size = reader_unsigned(section, 8);
		program->offset_size = 8;
	}
	struct reader unit = reader_part(section, size);
	program->version = (unsigned)reader_unsigned(&unit, 2);
	if (program->version < 2 || program->version > 5)
		return false;
	if (program->version == 5)
		reader_take(&unit, 2); /* sizes of addresses, and of segment selectors, which nobody has */
	struct reader head = unit;
	head = reader_part(&unit, reader_unsigned(&unit, program->offset_size));
	program->step = reader_byte(&head);
	if (program->version >= 4)
		reader_byte(&head); /* operations an instruction: one on the processors that we know */
	reader_byte(&head);     /* which rows begin a statement: all are good enough */
	program->line_base = (int)reader_byte(&head);
	if (program->line_base > 127)
		program->line_base -= 256;
	program->line_range = reader_byte(&head);
	program->opcode_base = reader_byte(&head);
	program->operand_counts = reader_part(&head, program->opcode_base ? program->opcode_base - 1 : 0);
	program->tables = head;
	program->code = unit;
	return !head.has_failed && !unit.has_failed && program->line_range > 0 && program->opcode_base > 0;
}

/* ---- running it ---------------------------------------------------------------------------------- */

struct row {
	uint64_t address;
	uint64_t file;
	uint64_t line;
};

static const struct row first_row = { 0, 1, 1 };

struct search {
	uint64_t address, low, high;
	struct row previous;
	bool is_in_sequence; /* there is a previous row ... */
	bool counts;         /* ... and the sequence is of code that is there */
	bool has_found;
	struct row found;
};

static void emit(struct search *search, const struct row *row, bool is_end)
{
	const struct row *previous = &search->previous;
	if (!search->is_in_sequence)
		search->counts = row->address >= search->low && row->address < search->high;
	else if (search->counts && previous->address <= search->address && search->address < row->address) {
		search->found = *previous;
		search->has_found = true;
	}
	search->previous = *row;
	search->is_in_sequence = !is_end;
}

enum { EXTENDED_END_SEQUENCE = 1, EXTENDED_SET_ADDRESS = 2 };

static void run_extended(struct program *program, struct row *row, struct search *search)
{
	struct reader operation = reader_part(&program->code, reader_leb(&program->code, false));
	switch (reader_byte(&operation)) {
	case EXTENDED_END_SEQUENCE:
		emit(search, row, true);
		*row = first_row;
		break;
	case EXTENDED_SET_ADDRESS:
		row->address = reader_unsigned(&operation, reader_left(&operation) < 8 ? reader_left(&operation) : 8);
		break;
	default: /* discriminators, and what others have invented */
		break;
	}
}

static uint64_t special_advance(const struct program *program, unsigned opcode)
{
	return (uint64_t)(opcode - program->opcode_base) / program->line_range * program->step;
}

enum {
	STANDARD_COPY = 1,
	STANDARD_ADVANCE_PC = 2,
	STANDARD_ADVANCE_LINE = 3,
	STANDARD_SET_FILE = 4,
	STANDARD_CONST_ADD_PC = 8,
	STANDARD_FIXED_ADVANCE_PC = 9
};

static void skip_operands(struct program *program, unsigned opcode)
{
	struct reader counts = program->operand_counts;
	reader_take(&counts, opcode - 1);
	for (unsigned count = reader_byte(&counts); count > 0; count--)
		reader_leb(&program->code, false);
}

static void run_standard(struct program *program, unsigned opcode, struct row *row, struct search *search)
{
	switch (opcode) {
	case STANDARD_COPY:
		emit(search, row, false);
		break;
	case STANDARD_ADVANCE_PC:
		row->address += reader_leb(&program->code, false) * program->step;
		break;
	case STANDARD_ADVANCE_LINE:
		row->line += reader_leb(&program->code, true);
		break;
	case STANDARD_SET_FILE:
		row->file = reader_leb(&program->code, false);
		break;
	case STANDARD_CONST_ADD_PC:
		row->address += special_advance(program, 255);
		break;
	case STANDARD_FIXED_ADVANCE_PC:
		row->address += reader_unsigned(&program->code, 2);
		break;
	default:
		skip_operands(program, opcode);
	}
}

static void run_special(const struct program *program, unsigned opcode, struct row *row, struct search *search)
{
	unsigned number = opcode - program->opcode_base;
	row->address += special_advance(program, opcode);
	row->line += (uint64_t)(int64_t)(program->line_base + (int)(number % program->line_range));
	emit(search, row, false);
}

static bool program_run(struct program *program, struct search *search)
{
	struct row row = first_row;
	search->is_in_sequence = false;
	while (reader_left(&program->code) > 0 && !search->has_found) {
		unsigned opcode = reader_byte(&program->code);
		if (opcode >= program->opcode_base)
			run_special(program, opcode, &row, search);
		else if (opcode == 0)
			run_extended(program, &row, search);
		else
			run_standard(program, opcode, &row, search);
	}
	return search->has_found;
}

/* ---- the names of files -------------------------------------------------------------------------- */

enum { CONTENT_PATH = 1 };
enum {
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_BLOCK = 0x09,
	FORM_DATA1 = 0x0b,
	FORM_STRP = 0x0e,
	FORM_UDATA = 0x0f,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f
};

/* One value; the string if it is one. Every form takes at least a byte: so tables end. */
static const char *read_value(struct reader *reader, uint64_t form, size_t offset_size, const struct image *image)
{
	switch (form) {
	case FORM_STRING:
		return reader_string(reader);
	case FORM_LINE_STRP:
		return bytes_string(&image->line_strings, reader_unsigned(reader, offset_size));
	case FORM_STRP:
		return bytes_string(&image->strings, reader_unsigned(reader, offset_size));
	case FORM_UDATA:
		reader_leb(reader, false);
		break;
	case FORM_BLOCK:
		reader_take(reader, reader_leb(reader, false));
		break;
	case FORM_DATA1:
		reader_take(reader, 1);
		break;
	case FORM_DATA2:
		reader_take(reader, 2);
		break;
	case FORM_DATA4:
		reader_take(reader, 4);
		break;
	case FORM_DATA8:
		reader_take(reader, 8);
		break;
	case FORM_DATA16:
		reader_take(reader, 16);
		break;
	default:
		reader_fail(reader);
	}
	return NULL;
}

/* Version 5: a table whose head says what each entry has. The path of entry `index`, or NULL; the whole table
 * is left behind if it has fewer. */
static const char *path_in_table(struct program *program, const struct image *image, uint64_t index)
{
	struct reader *tables = &program->tables;
	unsigned format_count = reader_byte(tables);
	struct reader formats = *tables;
	for (unsigned i = 0; i < 2 * format_count; i++)
		reader_leb(tables, false);
	uint64_t count = reader_leb(tables, false);
	for (uint64_t entry = 0; entry < count && format_count > 0 && !tables->has_failed; entry++) {
		struct reader format = formats;
		const char *path = NULL;
		for (unsigned i = 0; i < format_count; i++) {
			uint64_t content = reader_leb(&format, false), form = reader_leb(&format, false);
			const char *value = read_value(tables, form, program->offset_size, image);
			if (content == CONTENT_PATH)
				path = value;
		}
		if (entry == index)
			return path;
	}
	return NULL;
}

/* Up to version 4: strings, the directories', then the files' with three numbers each, from 1. */
static const char *path_in_lists(struct program *program, uint64_t index)
{
	struct reader *tables = &program->tables;
	while (*reader_string(tables))
		continue;
	for (uint64_t entry = 1;; entry++) {
		const char *path = reader_string(tables);
		if (!*path || entry == index)
			return path;
		for (int i = 0; i < 3; i++)
			reader_leb(tables, false);
	}
}

static const char *path_of_file(struct program *program, const struct image *image, uint64_t index)
{
	if (program->version < 5)
		return path_in_lists(program, index);
	path_in_table(program, image, UINT64_MAX); /* the directories */
	return path_in_table(program, image, index);
}

/* ---- the search ---------------------------------------------------------------------------------- */

bool lines_find(const struct image *image, uint64_t address, uint64_t low, uint64_t high, struct line *line)
{
	struct reader section = reader_over(image->lines.start, image->lines.size);
	struct search search = { .address = address, .low = low, .high = high };
	struct program program;
	while (reader_left(&section) > 0)
		if (program_read(&program, &section) && program_run(&program, &search))
			break;
	if (!search.has_found || search.found.line == 0)
		return false;
	const char *path = path_of_file(&program, image, search.found.file);
	const char *slash = path ? strrchr(path, '/') : NULL;
	line->file = slash ? slash + 1 : path;
	line->number = (unsigned)search.found.line;
	return path && *line->file;
}
