/* Names of classes in a file beside the shards of a set.
 *
 * The first of these files that is there:
 *
 *     classes.txt classnames.txt   a name a line
 *     labels.txt                   "NUMBER:NAME" a line, or a name a line
 *     synset.txt                   a name and words that explain it a line */
#ifndef TRAINER_DATA_FORMAT_CLASS_NAMES_H
#define TRAINER_DATA_FORMAT_CLASS_NAMES_H

#include "common/error.h"

#include <stddef.h>

enum { CLASS_NAMES_MAX = 65536 };

/* Zeroed, it is empty. */
struct class_names {
    char **names; /* owned; [count] */
    size_t count;
};

void class_names_done(struct class_names *names);

/* Reads the names in FOLDER; none if there is no such file. */
int class_names_read(struct class_names *ret, const char *folder, struct error *err);

#define cleanup_class_names __attribute__((cleanup(class_names_done)))

#endif
