/* The first lines that a tool printed. Open MPI's errors are banners whose first sentence says what
 * is wrong and whose last ones what else one might do; a tail alone (lines.h) keeps only those. */
#ifndef MPI_BANNER_H
#define MPI_BANNER_H

#include "common/buf.h"
#include "entrypoint/os/lines.h"

#include <stddef.h>

enum { BANNER_LINES = 3, BANNER_HEAD_SIZE = 400, BANNER_TAIL_MAX = 450 };

struct banner {
    char head[BANNER_HEAD_SIZE]; /* each line with its '\n' */
    size_t count;
};

/* LINE has no '\n'. Rules of dashes and lines beyond BANNER_LINES are left out. */
void banner_add(struct banner *b, const char *line, size_t size);

/* First and last lines, "..." between them where lines lie between; BANNER_HEAD_SIZE +
 * BANNER_TAIL_MAX + 4 bytes at most. */
int banner_story(const struct banner *b, const struct tail *tail, struct buf *ret,
                 struct error *err);

#endif
