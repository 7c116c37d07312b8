/* Output paths of drawn pictures: OUT/FOLDERS/STEM.EXTENSION for an image named
 * FOLDERS/STEM.ANYTHING; images with the same path get their ids after the stem. Existing files
 * are never overwritten, and all paths are determined before the first picture is drawn. */
#ifndef TRAINER_DATA_DRAW_DRAW_TARGETS_H
#define TRAINER_DATA_DRAW_DRAW_TARGETS_H

#include "common/error.h"
#include "trainer/data/coco/coco_index.h"

#include <stddef.h>

struct draw_target {
    const struct coco_image *image; /* borrowed from the index */
    char *path;                     /* owned */
};

struct draw_targets {
    struct draw_target *list; /* owned, in the order of the images */
    size_t count;
};

void draw_targets_done(struct draw_targets *targets);

/* Returns how many leading bytes the names of COUNT images of INDEX from FIRST on share, up to the
 * last '/': the folder that contains all of them. */
size_t draw_targets_shared(const struct coco_index *index, size_t first, size_t count);

/* Makes the paths for COUNT images of INDEX from FIRST on, without the first SKIP bytes of their
 * names. Creates the folders. Errors have EXIT_CODE_CONFIG and name the existing file. */
int draw_targets_make(struct draw_targets *ret, const struct coco_index *index, size_t first,
                      size_t count, size_t skip, const char *out, const char *extension,
                      struct error *err);

#define cleanup_draw_targets __attribute__((cleanup(draw_targets_done)))

#endif
