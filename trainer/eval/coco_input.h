/* Input of COCO's scores: ground truth and detections, as two lists of objects.
 *
 * Both are in the order of their files, which ties between equal scores are decided by. Nothing
 * here is owned: lists and masks belong to the caller (data/coco/coco_task.h). */
#ifndef TRAINER_EVAL_COCO_INPUT_H
#define TRAINER_EVAL_COCO_INPUT_H

#include "common/error.h"
#include "trainer/eval/rle.h"
#include "trainer/eval/rle_polygon.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COCO_THRESHOLDS = 10, /* of overlap, 0.5 to 0.95 */
    COCO_RECALLS = 101,   /* 0 to 1 */
    COCO_AREAS = 4,       /* all, small, medium, large */
    COCO_LIMITS = 3,      /* most detections of an image and category: 1, 10, 100 */
    COCO_STATS = 12,
    COCO_OBJECTS_MAX = 1 << 30, /* of one list */
};

struct coco_object {
    uint32_t image;
    uint32_t category;
    bool crowd;   /* truth: a region that any number of detections may match */
    bool id_zero; /* truth: its id is 0, which the reference mistakes for "no match" */
    double score; /* detections; finite */
    double area;
    double box[4]; /* x, y, width, height */
};

/* Callback that writes the mask of object NUMBER to RET. Called from several threads at once, each
 * with its own SCRATCH and RET. */
typedef int coco_mask_function(const void *user, size_t number, struct rle_scratch *scratch,
                               struct rle *ret, struct error *err);

struct coco_objects {
    const struct coco_object *list;
    size_t count;
    coco_mask_function *mask;
    const void *user;
};

struct coco_input {
    struct coco_objects truth;
    struct coco_objects found;
    size_t image_count;
    size_t category_count;
    bool masks;  /* score masks; else boxes */
    int threads; /* 0: OpenMP's default */
};

#endif
