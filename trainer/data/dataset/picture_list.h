/* Pictures given by name: files, whatever their suffix, and folders, of which all files with a
 * picture's suffix are taken, at any depth (folder_walk.h). In the given order, and within a
 * folder in the order of a data set. */
#ifndef TRAINER_DATA_DATASET_PICTURE_LIST_H
#define TRAINER_DATA_DATASET_PICTURE_LIST_H

#include "common/error.h"
#include "trainer/data/dataset/skipped_files.h"

#include <stddef.h>

enum { PICTURE_LIST_MAX = 10 * 1000 * 1000 };

struct picture_list {
    char **paths; /* owned, all of them; as they were given */
    size_t count;
    size_t capacity;
    struct skipped_files left_out; /* files in folders that were not taken */
};

void picture_list_done(struct picture_list *list);

/* Errors have EXIT_CODE_DATA and name PATH: no such file or folder, or a folder without pictures.
 * A file is only checked to be a picture when it is read. */
int picture_list_add(struct picture_list *list, const char *path, struct error *err);

#define cleanup_picture_list __attribute__((cleanup(picture_list_done)))

#endif
