/* Pictures without annotations, in the form of an index of annotations.
 *
 * A detector can be applied to them as to a COCO set (coco_index.h). Sizes are read from the files.
 *
 * A picture's id is the number in its file's name (000000000139.jpg: 139), as in COCO's own sets,
 * if all names are distinct numbers. Else it is its position in the list, from 1. Images are sorted
 * by id. */
#ifndef TRAINER_DATA_DETECT_PICTURE_INDEX_H
#define TRAINER_DATA_DETECT_PICTURE_INDEX_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_index.h"

#include <stddef.h>
#include <stdint.h>

struct picture_index {
    struct coco_index index; /* points to the lists below; do not call coco_index_done */
    struct coco_image *images;
    struct coco_category *categories;
    struct buf names;
    struct buf bad; /* one line "PATH: why" for each file that is not a picture; these are left
                     * out */
    size_t bad_count;
};

/* Categories of labels 1 ..., from a trained model. */
struct picture_categories {
    char *const *names;
    const int64_t *ids; /* -1: the label has no category */
    size_t count;
};

void picture_index_done(struct picture_index *index);

/* Makes an index of COUNT files. Fails if none of them is a picture, or if the category ids are
 * not ascending (EXIT_CODE_DATA). */
int picture_index_make(struct picture_index *ret, char *const *paths, size_t count,
                       const struct picture_categories *categories, struct error *err);

/* Replaces PATH by the same as COCO's JSON: images and categories, and an empty list of
 * annotations. */
int picture_index_write(const struct picture_index *index, const char *path, struct error *err);

#define cleanup_picture_index __attribute__((cleanup(picture_index_done)))

#endif
