/* Domains by which resolv.conf completes host names.
 *
 * glibc tries a name with `ndots` dots or more as it is, and then with each domain; musl tries it
 * only as it is, and drops lines above 254 bytes. This tells what musl leaves out. Pure.
 * Sources: resolv.conf(5); the resolver of musl 1.2.5 (src/network). */
#ifndef COMMON_NET_SEARCH_LIST_H
#define COMMON_NET_SEARCH_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { SEARCH_LIST_SIZE = 4096, SEARCH_LIST_NAME_SIZE = 256 };

struct search_list {
    char domains[SEARCH_LIST_SIZE]; /* with a space between two */
    bool is_long;                   /* its line is one that musl drops */
    long dots;                      /* `ndots` */
};

/* Reads the content of a resolv.conf, a C string. Of several lists the last counts; what is more
 * than fits is left out. */
void search_list_read(const char *text, struct search_list *ret);

/* Returns true if musl does not try NAME with these domains. */
bool search_list_is_left_out(const struct search_list *l, const char *name);

/* Writes NAME with the domain at AT, which is l->domains at first, and a final dot, so that no
 * domain is added to it, to RET. Returns where the next domain begins; NULL: there was none, RET is
 * "". */
const char *search_list_next(const char *at, const char *name, char ret[SEARCH_LIST_NAME_SIZE]);

#endif
