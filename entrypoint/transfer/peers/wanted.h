/* What another host's child asks this one for: the head of its GET, as libcurl writes it. The path
 * is "/TASK/PATH", both percent-encoded, or "/" alone, which asks only whether somebody is here.
 * Pure. */
#ifndef PEERS_WANTED_H
#define PEERS_WANTED_H

#include <stddef.h>
#include <stdint.h>

enum { WANTED_HEAD_MAX = 8 * 1024, WANTED_ETAG_MAX = 256 };

struct wanted {
    char task[256]; /* "": nothing */
    char path[WANTED_HEAD_MAX];
    int64_t from;               /* the first byte; 0 without a range */
    int64_t to;                 /* the last one; -1: to the end */
    char etag[WANTED_ETAG_MAX]; /* that it must have; "": any */
};

/* How long the head at TEXT is, with its empty line; 0: it is not whole. */
size_t wanted_head(const char *text, size_t size);

/* HEAD is of SIZE bytes, as wanted_head() says. -1: it is none that is understood. */
int wanted_parse(const char *head, size_t size, struct wanted *ret);

#endif
