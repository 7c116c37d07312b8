/* Objects of one picture, collected and then drawn over it (coco_draw.h): its annotations, or
 * detections. */
#ifndef TRAINER_DATA_DRAW_PAINTING_H
#define TRAINER_DATA_DRAW_PAINTING_H

#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/coco/coco_segment.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/draw/coco_draw.h"
#include "trainer/data/draw/draw_names.h"
#include "trainer/eval/rle.h"
#include "trainer/eval/rle_polygon.h"

#include <stddef.h>
#include <stdint.h>

/* Reusable. Initialize with zeros: empty. */
struct painting {
    struct coco_drawing *list; /* owned */
    struct rle *masks;         /* owned, one for each; valid up to their capacity */
    size_t count;
    size_t capacity;
    size_t mask_capacity;
    struct coco_outline room;
    struct rle_scratch scratch;
};

void painting_done(struct painting *painting);
void painting_clear(struct painting *painting);

/* Adds the annotations of image number IMAGE; NAMES are those of the index' categories. The error
 * names the annotation. */
int painting_add_annotations(struct painting *painting, const struct coco_index *index,
                             uint32_t image, const struct draw_names *names, struct error *err);

/* Adds result NUMBER, with its score, found in PICTURE, as an object of category CATEGORY of
 * NAMES. The error names its number. */
int painting_add_result(struct painting *painting, const struct coco_results *results,
                        size_t number, const struct image *picture, const struct draw_names *names,
                        uint32_t category, struct error *err);

/* Draws over IMAGE, which must have the size of the masks. */
int painting_paint(struct painting *painting, struct image *image, struct fonts *fonts,
                   struct error *err);

/* Joins LEFT and RIGHT, of equal height, with a white line between them. */
int painting_beside(struct image *ret, const struct image *left, const struct image *right,
                    struct error *err);

#define cleanup_painting __attribute__((cleanup(painting_done)))

#endif
