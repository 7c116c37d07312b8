/* Pictures without annotations in the form of an index of annotations (coco_index.h), so that a
 * detector takes them as it takes a COCO set. Their sizes are read from their files.
 *
 * A picture's id is the number that its file is called by (000000000139.jpg: 139), as in COCO's own
 * sets, where all of them are called by numbers and no two by the same; else its place in the list,
 * from 1. Images come by id. */
#ifndef TRAINER_DATA_DETECT_PICTURE_INDEX_H
#define TRAINER_DATA_DETECT_PICTURE_INDEX_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_index.h"

#include <stddef.h>
#include <stdint.h>

struct picture_index {
    struct coco_index index; /* its lists lie below; no coco_index_done */
    struct coco_image *images;
    struct coco_category *categories;
    struct buf names;
    struct buf bad; /* "PATH: why" a line, of files that are no pictures: they are not in it */
    size_t bad_count;
};

/* What can be found: labels 1 ..., as a trained model has them. */
struct picture_categories {
    char *const *names;
    const int64_t *ids; /* -1: no category has the label */
    size_t count;
};

void picture_index_done(struct picture_index *index);

/* For COUNT files. Fails where none of them is a picture, and where the categories' ids do not
 * ascend (EXIT_CODE_DATA). */
int picture_index_make(struct picture_index *ret, char *const *paths, size_t count,
                       const struct picture_categories *categories, struct error *err);

/* Replaces PATH by the same as COCO's JSON: images and categories, and an empty list of
 * annotations. */
int picture_index_write(const struct picture_index *index, const char *path, struct error *err);

#define cleanup_picture_index __attribute__((cleanup(picture_index_done)))

#endif
