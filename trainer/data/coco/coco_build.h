/* Conversion of a JSON of annotations to an index, in one pass.
 *
 * Outlines are written to the index as they are read; memory holds the images' names and about a
 * hundred bytes an annotation. Malformed input is an error that names file, annotation id and byte.
 * Odd but usable input (boxes without area, repeated ids, images without annotations) is accepted,
 * and reported by coco_check.h. */
#ifndef TRAINER_DATA_COCO_COCO_BUILD_H
#define TRAINER_DATA_COCO_COCO_BUILD_H

#include "common/error.h"

#include <stdbool.h>

enum {
    COCO_IMAGES_MAX = 100 * 1000 * 1000,
    COCO_CATEGORIES_MAX = 1000 * 1000,
    COCO_ANNOTATIONS_MAX = 500 * 1000 * 1000,
};

/* Outlines to include in an index. */
enum coco_outlines { COCO_OUTLINES_ALL, COCO_OUTLINES_NONE };

/* Writes the index to FD, an empty file open for reading and writing. KEYED: includes the key of
 * the JSON's content (coco_json.h), which costs a second reading. */
int coco_build(const char *json, int fd, bool keyed, enum coco_outlines outlines,
               struct error *err);

/* Replaces the file PATH by the index, atomically. */
int coco_build_file(const char *json, const char *path, struct error *err);

#endif
