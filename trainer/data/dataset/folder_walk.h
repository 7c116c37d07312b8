/* Sorted entries of folders, from which folder.c makes a data set. */
#ifndef TRAINER_DATA_DATASET_FOLDER_WALK_H
#define TRAINER_DATA_DATASET_FOLDER_WALK_H

#include "common/error.h"
#include "trainer/data/dataset/skipped_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FOLDER_DEPTH_MAX = 16 }; /* folders below a class */

struct entry {
    char *path;    /* owned; relative to the folder of the walk */
    size_t folder; /* bytes of it up to the last '/', 0 without one */
    int64_t size;  /* of the file */
};

struct listing {
    struct entry *items; /* owned */
    size_t count;
    size_t capacity;
};

void listing_done(struct listing *list);

/* Lists the folders in ROOT; files in it are left out. */
int folder_list_classes(const char *root, struct listing *list, struct skipped_files *left,
                        struct error *err);
/* Lists the pictures in ROOT/NAME and below; their paths are relative to it. */
int folder_list_pictures(const char *root, const char *name, struct listing *list,
                         struct skipped_files *left, struct error *err);

#define cleanup_listing __attribute__((cleanup(listing_done)))

#endif
