/* Progress of a download before a host can join.
 *
 * Others only check that it increases and show the text to people. A worker sends its own to the
 * master as members of a message. */
#ifndef ENTRYPOINT_HOST_PROVISION_FETCH_PROGRESS_H
#define ENTRYPOINT_HOST_PROVISION_FETCH_PROGRESS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { FETCH_PROGRESS_TEXT_SIZE = 160 };

struct fetch_progress {
    uint64_t count;                      /* steps so far */
    char text[FETCH_PROGRESS_TEXT_SIZE]; /* of the last step, valid UTF-8; cut if longer */
};

/* Records a step; LINE, valid UTF-8, may end with a line end. */
void fetch_progress_step(struct fetch_progress *m, const char *line, size_t size);

/* Adds "marks" and "text" to MESSAGE. */
void fetch_progress_put(const struct fetch_progress *m, json_t *message);
/* Reads them; missing or invalid members are 0 or "". */
void fetch_progress_parse(const json_t *message, struct fetch_progress *ret);

#endif
