/* List of the pictures in FOLDER/CLASS and below.
 *
 * They are numbered as by torchvision's ImageFolder: classes by name, within a class folders by
 * path and within a folder files by name. All are compared bytewise, so that the order does not
 * depend on the file system. Links to folders and files are followed, but not in circles.
 * Everything else is counted in `left_out`, except names that begin with a dot. */
#ifndef TRAINER_DATA_DATASET_FOLDER_H
#define TRAINER_DATA_DATASET_FOLDER_H

#include "common/error.h"
#include "trainer/data/dataset/skipped_files.h"

#include <stddef.h>
#include <stdint.h>

enum {
    FOLDER_CLASSES_MAX = 65536,
    FOLDER_SAMPLES_MAX = 100 * 1000 * 1000,
};

struct folder_listing {
    char *root;     /* owned, all of them; the folder */
    size_t classes; /* at least one */
    char **class_names;
    size_t count;    /* pictures */
    int32_t *labels; /* [count], 0 .. classes-1 */
    char *names;     /* paths below the class folder, each with its NUL */
    size_t *name_at; /* [count], offsets into names */
    uint64_t hash;   /* of classes, names and sizes */
    int64_t bytes;   /* of all files together */
    struct skipped_files left_out;
};

void folder_listing_done(struct folder_listing *list);

/* Errors carry EXIT_CODE_DATA and name folder or file. */
int folder_scan(struct folder_listing *ret, const char *folder, struct error *err);

#define cleanup_folder_listing __attribute__((cleanup(folder_listing_done)))

#endif
