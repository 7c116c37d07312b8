/* Files in a data set's folder that are not read.
 *
 * They are counted by kind, with an example each, so that the user notices when part of the
 * pictures is not used. */
#ifndef TRAINER_DATA_DATASET_SKIPPED_FILES_H
#define TRAINER_DATA_DATASET_SKIPPED_FILES_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SKIPPED_FILES_KINDS = 12,              /* distinct kinds; further ones count as the last */
    SKIPPED_FILES_WHAT_MAX = 32,           /* bytes */
    SKIPPED_FILES_NAME_MAX = 128,          /* length of an example; longer ones are truncated */
    SKIPPED_FILES_NAMES_MAX = 1024 * 1024, /* bytes of names kept */
};

struct skipped_files_kind {
    char what[SKIPPED_FILES_WHAT_MAX]; /* ".webp", "beside the class folders" */
    size_t count;
    char example[SKIPPED_FILES_NAME_MAX]; /* relative to the set's folder */
};

struct skipped_files {
    size_t count;
    size_t pictures; /* number of these that are pictures, by their suffix or location */
    size_t kinds;
    struct skipped_files_kind kind[SKIPPED_FILES_KINDS];
    struct buf names; /* one per line, relative to the set's folder, up to the limit */
};

void skipped_files_done(struct skipped_files *out);

/* Adds a file or folder of kind WHAT at PATH, relative to the set's folder. */
int skipped_files_add(struct skipped_files *out, const char *what, bool picture, const char *path,
                      struct error *err);
/* The same for a file; its suffix is its kind. */
int skipped_files_add_file(struct skipped_files *out, const char *path, struct error *err);

/* Writes "52 left out: 50 .webp (a/1.webp), 2 beside the class folders (loose.jpg)", truncated to
 * SIZE bytes; an empty text if there are none. */
void skipped_files_text(const struct skipped_files *out, char *text, size_t size);

#endif
