/* Zip archives unpacked into one folder, with several threads: COCO's, as they are published.
 *
 * Members keep their paths. A file that is there with its size is kept; others appear once they
 * are complete, verified by their checksums, and on the disk (staging.h): an interrupted run
 * continues where it was. Paths that do not stay in the folder are refused before anything is
 * written. */
#ifndef TRAINER_DATA_PREPARE_UNZIP_H
#define TRAINER_DATA_PREPARE_UNZIP_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { UNZIP_ARCHIVES_MAX = 64 };

struct unzip_options {
    const char *target; /* folder; created if missing */
    const char *const *archives;
    size_t count;
    int threads;
    /* Called when it is known how many files there are, and after some of them, from any thread,
     * one at a time; NULL: not at all. */
    void (*written)(void *context, int64_t done, int64_t of);
    void *context;
};

struct unzip_result {
    int64_t files;
    int64_t kept; /* that were there already */
    int64_t bytes;
};

/* Errors: EXIT_CODE_DATA for an archive that cannot be used, EXIT_CODE_CONFIG for a target that
 * cannot be written to, has too little room, holds something else, or is in use. */
int unzip_all(const struct unzip_options *options, struct unzip_result *ret, struct error *err);

#endif
