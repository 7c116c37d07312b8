/* How far a host has got with fetching what it needs before it can join: whoever waits for it asks
 * only whether it gets further, and shows the text to people. A worker sends its own to the master
 * as members of a message. */
#ifndef SUPPLY_MARK_H
#define SUPPLY_MARK_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { MARK_TEXT_SIZE = 160 };

struct mark {
    uint64_t count;            /* of steps forward so far */
    char text[MARK_TEXT_SIZE]; /* of the last one, valid UTF-8; longer ones are cut */
};

/* A step forward; LINE, valid UTF-8, may end with a line end. */
void mark_step(struct mark *m, const char *line, size_t size);

/* Adds "marks" and "text" to MESSAGE. */
void mark_put(const struct mark *m, json_t *message);
/* What is missing there or impossible is 0 or "". */
void mark_parse(const json_t *message, struct mark *ret);

#endif
