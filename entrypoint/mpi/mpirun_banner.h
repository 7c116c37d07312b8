/* The first lines that a tool printed. Open MPI's errors are banners whose first sentence says what
 * is wrong and whose last ones what else one might do; a tail alone (os/line_splitter.h) keeps only
 * those. */
#ifndef ENTRYPOINT_MPI_MPIRUN_BANNER_H
#define ENTRYPOINT_MPI_MPIRUN_BANNER_H

#include "common/buf.h"
#include "entrypoint/os/line_splitter.h"

#include <stddef.h>

enum { MPIRUN_BANNER_LINES = 3, MPIRUN_BANNER_HEAD_SIZE = 400, MPIRUN_BANNER_TAIL_MAX = 450 };

struct mpirun_banner {
    char head[MPIRUN_BANNER_HEAD_SIZE]; /* each line with its '\n' */
    size_t count;
};

/* LINE has no '\n'. Rules of dashes and lines beyond MPIRUN_BANNER_LINES are left out. */
void mpirun_banner_add(struct mpirun_banner *b, const char *line, size_t size);

/* First and last lines, "..." between them where lines lie between; MPIRUN_BANNER_HEAD_SIZE +
 * MPIRUN_BANNER_TAIL_MAX + 4 bytes at most. */
int mpirun_banner_story(const struct mpirun_banner *b, const struct tail *tail, struct buf *ret,
                        struct error *err);

#endif
