/* COCO's detection scores, bit for bit those of pycocotools (the Python module cocoeval and numpy's
 * order of summation), for boxes and for masks.
 *
 * The caller gives ground truth and detections as two lists in file order, with images and
 * categories already numbered in ascending order of their ids. Objects are brought together by
 * (category, image); each such pair is matched for 10 overlap thresholds and 4 ranges of area;
 * then each category's detections are lined up by score and give precision over recall. Pairs and
 * categories are spread over threads; each result has its place, so that the numbers do not depend
 * on how many threads there are.
 *
 * Masks are asked for when a pair is matched and dropped behind it: memory does not grow with the
 * size of masks. Every mask is asked for, also where no pair needs it, so that a damaged one is
 * found always; of several the error of the first pair is returned. */
#ifndef TRAINER_EVAL_COCO_EVAL_H
#define TRAINER_EVAL_COCO_EVAL_H

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
    bool crowd;   /* truth: a region that detections may hit at will */
    bool id_zero; /* truth: its id is 0, which the reference takes for "no match" */
    double score; /* detections; finite */
    double area;
    double box[4]; /* x, y, width, height */
};

/* Gives the mask of object NUMBER. Called from several threads at once, each with its own BRUSH
 * and RET. */
typedef int coco_mask_function(const void *user, size_t number, struct rle_brush *brush,
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
    bool masks;  /* compare masks; else boxes */
    int threads; /* 0: OpenMP's own number */
};

/* All owned; -1 where a category has nothing to find. Index order as in pycocotools' eval:
 * precision and score [threshold][recall][category][area][limit], recall without [recall]. */
struct coco_curves {
    double *precision;
    double *score;
    double *recall;
    size_t category_count;
};

void coco_curves_done(struct coco_curves *curves);

int coco_eval(const struct coco_input *input, struct coco_curves *ret, struct error *err);

static inline size_t coco_recall_index(const struct coco_curves *curves, size_t threshold,
                                       size_t category, size_t area, size_t limit) {
    return ((threshold * curves->category_count + category) * COCO_AREAS + area) * COCO_LIMITS +
           limit;
}
static inline size_t coco_precision_index(const struct coco_curves *curves, size_t threshold,
                                          size_t recall, size_t category, size_t area,
                                          size_t limit) {
    return coco_recall_index(curves, threshold * COCO_RECALLS + recall, category, area, limit);
}

#define cleanup_coco_curves __attribute__((cleanup(coco_curves_done)))

#endif
