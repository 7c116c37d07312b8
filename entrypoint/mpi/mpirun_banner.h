/* First lines of mpirun's output. Open MPI's errors are banners: the first sentence says what is
 * wrong and the last ones what else to try; a tail alone (os/line_splitter.h) would keep only
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

/* Appends the first and last lines, with "..." if lines are missing between them; at most
 * MPIRUN_BANNER_HEAD_SIZE + MPIRUN_BANNER_TAIL_MAX + 4 bytes. */
int mpirun_banner_text(const struct mpirun_banner *b, const struct tail *tail, struct buf *ret,
                       struct error *err);

#endif
