/* How far a host has got with fetching what it needs before it can join: whoever waits for it asks
 * only whether it gets further, and shows the text to people. A worker sends its own to the master
 * as members of a message. */
#ifndef ENTRYPOINT_HOST_PROVISION_FETCH_PROGRESS_H
#define ENTRYPOINT_HOST_PROVISION_FETCH_PROGRESS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { FETCH_PROGRESS_TEXT_SIZE = 160 };

struct fetch_progress {
    uint64_t count;                      /* of steps forward so far */
    char text[FETCH_PROGRESS_TEXT_SIZE]; /* of the last one, valid UTF-8; longer ones are cut */
};

/* A step forward; LINE, valid UTF-8, may end with a line end. */
void fetch_progress_step(struct fetch_progress *m, const char *line, size_t size);

/* Adds "marks" and "text" to MESSAGE. */
void fetch_progress_put(const struct fetch_progress *m, json_t *message);
/* What is missing there or impossible is 0 or "". */
void fetch_progress_parse(const json_t *message, struct fetch_progress *ret);

#endif
