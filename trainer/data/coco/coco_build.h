/* Makes the index from a JSON of annotations in one pass. Outlines go to the index as they are
 * read; memory holds the images' names and a hundred bytes an annotation. What is malformed is an
 * error that names file, annotation id and byte; what is merely odd (boxes without area, ids given
 * twice, images without annotations) is kept for coco_check.h to tell. */
#ifndef TRAINER_DATA_COCO_COCO_BUILD_H
#define TRAINER_DATA_COCO_COCO_BUILD_H

#include "common/error.h"

#include <stdbool.h>

enum {
    COCO_IMAGES_MAX = 100 * 1000 * 1000,
    COCO_CATEGORIES_MAX = 1000 * 1000,
    COCO_ANNOTATIONS_MAX = 500 * 1000 * 1000,
};

/* Which outlines an index has. */
enum coco_outlines { COCO_OUTLINES_ALL, COCO_OUTLINES_NONE };

/* Writes the index to FD, an empty file open for reading and writing; KEYED: with the key of the
 * JSON's content (coco_json.h), which costs a second reading. */
int coco_build(const char *json, int fd, bool keyed, enum coco_outlines outlines,
               struct error *err);

/* Replaces the file PATH by the index, all at once. */
int coco_build_file(const char *json, const char *path, struct error *err);

#endif
