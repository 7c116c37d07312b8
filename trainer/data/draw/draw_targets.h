/* Where painted pictures go: OUT/FOLDERS/STEM.EXTENSION for an image that is called
 * FOLDERS/STEM.ANYTHING; images that would meet in one file get their ids behind the stem. Nothing
 * that is there already is ever written over, and all of this is settled before the first picture
 * is painted. */
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

/* How many bytes of their names COUNT images of INDEX from FIRST on have in common, up to the last
 * '/': the folder in which all of them lie. */
size_t draw_targets_shared(const struct coco_index *index, size_t first, size_t count);

/* For COUNT images of INDEX from FIRST on, without the first SKIP bytes of their names. Makes the
 * folders. An error has EXIT_CODE_CONFIG and
 * names the file that is in the way. */
int draw_targets_make(struct draw_targets *ret, const struct coco_index *index, size_t first,
                      size_t count, size_t skip, const char *out, const char *extension,
                      struct error *err);

#define cleanup_draw_targets __attribute__((cleanup(draw_targets_done)))

#endif
