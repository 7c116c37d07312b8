/* Pictures of a data set with its objects painted over them: what is true, what was found, or both
 * side by side. Used again and again; zeroed is ready. Not thread safe. */
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
    struct image second; /* for what was found, beside the truth */
    struct image both;
};

void painter_done(struct painter *painter);

/* All of it borrowed. */
struct painter_ask {
    const struct coco_index *index;
    const struct coco_results *results; /* what was found; NULL: the truth alone */
    bool truth;                         /* with results: the truth to the left of them */
    double least_score;                 /* of the results that are painted */
    const struct draw_names *names;     /* of the index' categories */
};

/* Paints over PICTURE, which is image number IMAGE of the index. *RET is what came of it: PICTURE,
 * or one of PAINTER's until the next call; *RET_OBJECTS of what was found, or of the truth alone.
 * Errors name the JSON, and what is wrong in it. */
int painter_paint(struct painter *painter, const struct painter_ask *ask, uint32_t image,
                  struct image *picture, const struct image **ret, size_t *ret_objects,
                  struct error *err);

#define cleanup_painter __attribute__((cleanup(painter_done)))

#endif
