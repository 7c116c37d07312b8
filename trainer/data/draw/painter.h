/* Drawing of a data set's pictures with their objects: ground truth, detections, or both side by
 * side. Reusable; initialize with zeros. Not thread safe. */
#ifndef TRAINER_DATA_DRAW_PAINTER_H
#define TRAINER_DATA_DRAW_PAINTER_H

#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/draw/draw_names.h"
#include "trainer/data/draw/painting.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct painter {
    struct painting truth;
    struct painting found;
    struct image second; /* for detections, beside the ground truth */
    struct image both;
};

void painter_done(struct painter *painter);

/* Input of painter_paint; all borrowed. */
struct painter_request {
    const struct coco_index *index;
    const struct coco_results *results; /* detections; NULL: only the ground truth */
    bool truth;                         /* with results: draw the ground truth to the left of
                                         * them */
    double least_score;                 /* least score of drawn results */
    const struct draw_names *names;     /* of the index' categories */
};

/* Draws over PICTURE, image number IMAGE of the index. *RET is the result: PICTURE, or a picture
 * of PAINTER's that is valid until the next call; *RET_OBJECTS is the number of detections, or of
 * ground truth objects without detections. Errors name the JSON, and what is wrong in it. */
int painter_paint(struct painter *painter, const struct painter_request *request, uint32_t image,
                  struct image *picture, const struct image **ret, size_t *ret_objects,
                  struct error *err);

#define cleanup_painter __attribute__((cleanup(painter_done)))

#endif
