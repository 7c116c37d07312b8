/* Members of a tar archive, one after the other.
 *
 * A walk gives the places of their data. Headers of ustar, of GNU (long names, large sizes) and of
 * pax (path, size) are read; checksums are verified. Sparse files and compressed archives are
 * refused. Names are mere text here: whatever makes a file from one checks it first
 * (archive/member_path.h). Sources: POSIX.1-2017, pax; GNU tar's manual, Basic Tar Format. */
#ifndef TRAINER_DATA_FORMAT_TAR_WALK_H
#define TRAINER_DATA_FORMAT_TAR_WALK_H

#include "trainer/data/format/shard_file.h"

#include <stdbool.h>

enum { TAR_BLOCK = 512, TAR_PATH_MAX = 4096 };

struct tar_member {
    const char *path; /* borrowed from the walk until the next member */
    uint64_t header;  /* offset of its header */
    uint64_t offset;  /* of its data */
    uint64_t size;
    bool regular; /* else a folder, a link or a device */
};

/* Initialize with the window alone. */
struct tar_walk {
    struct shard_window *window; /* borrowed */
    uint64_t at;                 /* offset of the next header */
    char path[TAR_PATH_MAX];
};

/* Returns true if SIZE bytes at the beginning of a file are a tar header, or a gzip header, which
 * is refused later. */
bool tar_walk_is(const uint8_t *bytes, size_t size);

/* Returns 1, 0 at the end, or -1: where the next member begins is then unknown. */
int tar_walk_next(struct tar_walk *walk, struct tar_member *ret, struct error *err);

#endif
