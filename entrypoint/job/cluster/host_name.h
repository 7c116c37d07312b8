/* The name of a host: a DNS name of RFC 1123 labels (letters, digits, '-' inside) that may hold '_'
 * as well, as Compose, Swarm and Slurm name hosts and resolvers take it, or an IPv4 or IPv6
 * address, at most 253 bytes; IPv6 in its canonical form. A value of this type has passed
 * host_name_parse and is safe as a command-line word, in a host file and in a path: it never starts
 * with '-' and holds no blank. */
#ifndef ENTRYPOINT_JOB_CLUSTER_HOST_NAME_H
#define ENTRYPOINT_JOB_CLUSTER_HOST_NAME_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { HOST_NAME_SIZE = 254, HOST_LABEL_MAX = 63, HOST_NAME_LIST_SIZE = 320 };

struct host_name {
    char text[HOST_NAME_SIZE];
};

/* Takes SIZE bytes (none of them counted on to be NUL-terminated). The error shows the name; the
 * caller adds file and key. */
int host_name_parse(const char *text, size_t size, struct host_name *ret, struct error *err);

/* How many of the SIZE bytes at TEXT are the name where a port or a number of slots may follow:
 * NAME, NAME:N, an IPv6 address as it is or in brackets, or that with :N. */
size_t host_name_extent(const char *text, size_t size);

/* Names are equal whatever the case of their letters, as in DNS. */
bool host_name_equal(const struct host_name *a, const struct host_name *b);

/* Natural order: algo-2 before algo-10, and algo-2-x7k before algo-10-x7k. */
int host_name_compare(const struct host_name *a, const struct host_name *b);

/* Appends NAME to a list for an error's text, RET of SIZE bytes, separated by commas; "..." stands
 * for all that have no room. */
void host_name_list(char *ret, size_t size, const struct host_name *name);

#endif
