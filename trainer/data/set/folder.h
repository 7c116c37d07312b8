/* Lists the pictures in FOLDER/CLASS and below for a dataset, numbered as torchvision's ImageFolder
 * does: classes by name, within a class folders by path and within a folder files by name, all
 * bytewise, so that the order does not depend on the file system. Links to folders and files are
 * followed, but not in circles. Whatever is not taken is counted in the set's `left_out`, but for
 * names that begin with a dot. */
#ifndef SET_FOLDER_H
#define SET_FOLDER_H

#include "common/error.h"
#include "set/dataset.h"

#include <stdbool.h>

enum { FOLDER_DEPTH_MAX = 16 }; /* folders below a class */

/* The suffixes of pictures, in any case, for messages. */
#define FOLDER_SUFFIXES ".jpg .jpeg .jpe .jfif .png"

bool folder_takes(const char *name);

/* Fills a zeroed SET; on failure it may be half filled, for dataset_done. */
int folder_scan(struct dataset *set, const char *folder, struct error *err);

#endif
