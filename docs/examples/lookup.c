/* SPDX-License-Identifier: MIT
 * lookup: the addresses of several host names, asked for at once. Each name has a deadline; the resolver works
 * on threads of the loop's, and is left behind if it does not answer in time.
 *
 *     lookup NAME...
 *
 * Prints one line an address, in the order of the arguments. Exits with 1 if a name has none. */
#define _POSIX_C_SOURCE 200809L /* getaddrinfo */
#include <bide.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE (5 * BIDE_SEC)

struct name {
	const char *text;
	struct addrinfo *list;
	const char *trouble; /* NULL: none */
};

static void *look_up(void *arg)
{
	struct name *name = arg;
	struct addrinfo hints;
	bide_scope scope = { { 0 } };
	memset(&hints, 0, sizeof hints);
	hints.ai_socktype = SOCK_STREAM;
	bide_scope_enter(&scope, bide_after(PATIENCE), 0);
	int code = bide_getaddrinfo(name->text, NULL, &hints, &name->list);
	if (code)
		name->trouble = code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code);
	bide_scope_leave(&scope);
	return NULL;
}

static bool print_addresses(const struct name *name)
{
	if (name->trouble)
		fprintf(stderr, "lookup: %s: %s\n", name->text, name->trouble);
	for (const struct addrinfo *info = name->list; info; info = info->ai_next) {
		char text[64];
		if (getnameinfo(info->ai_addr, info->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
			printf("%s %s\n", name->text, text);
	}
	if (name->list)
		freeaddrinfo(name->list);
	return !name->trouble;
}

static void *run(void *arg)
{
	char **texts = arg;
	int count = 0;
	while (texts[count])
		count++;
	struct name *names = calloc((size_t)count + 1, sizeof *names);
	bide_group group = { { 0 } };
	if (!names || bide_group_enter(&group, 0, 0) < 0)
		return bide_fail(errno);
	for (int i = 0; i < count; i++) {
		names[i].text = texts[i];
		if (!bide_group_spawn(&group, look_up, &names[i], NULL))
			names[i].trouble = strerror(errno);
	}
	bool is_good = bide_group_leave(&group) == 0;
	for (int i = 0; i < count; i++)
		is_good = print_addresses(&names[i]) && is_good;
	free(names);
	return is_good ? texts : NULL;
}

int main(int argc, char **argv)
{
	bide_result result;
	if (argc < 2) {
		fprintf(stderr, "usage: lookup NAME...\n");
		return 2;
	}
	if (bide_run(run, argv + 1, NULL, &result) < 0)
		perror("lookup");
	return result.value ? 0 : 1;
}
