/* One picture of the sample detection set: its shapes and their annotations. */
#ifndef TRAINER_DATA_SHAPES_COCO_SCENE_H
#define TRAINER_DATA_SHAPES_COCO_SCENE_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/codec/image.h"
#include "trainer/data/shapes/shapes.h"
#include "trainer/math/random.h"

#include <stddef.h>
#include <stdint.h>

enum { COCO_SCENE_CATEGORIES = 3 };

struct coco_scene_category {
    int64_t id;
    enum shape_form form;
};

extern const struct coco_scene_category COCO_SCENE_CATEGORY_ROWS[COCO_SCENE_CATEGORIES];

/* Draws picture NUMBER of the set SEED on WIDTH x HEIGHT pixels, and appends its annotations,
 * joined by commas, to JSON; *NEXT_ID numbers them, from 1. Annotations with ids up to wrong_areas
 * get a wrong area. */
struct coco_scene {
    uint64_t seed;
    uint64_t number;
    int width;
    int height;
    int64_t image_id;
    int64_t wrong_areas; /* annotations up to this id */
};
int coco_scene_draw(const struct coco_scene *scene, struct image *image, struct buf *json,
                    int64_t *next_id, struct error *err);

#endif
