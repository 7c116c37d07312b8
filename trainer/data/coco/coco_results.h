/* Detections from a result file: a list of {image_id, category_id, score, bbox, segmentation}.
 *
 * Interpreted as by pycocotools' loadRes: if the first result has a box, all must, and areas are
 * those of the boxes; else all must have masks, areas are those of the masks, and missing boxes
 * are made from them. Result i is the i-th of the list, from 1. Masks stay packed
 * (coco_segment.h). */
#ifndef TRAINER_DATA_COCO_COCO_RESULTS_H
#define TRAINER_DATA_COCO_COCO_RESULTS_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_segment.h"
#include "trainer/eval/rle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COCO_RESULTS_MAX ((size_t)1 << 28)
#define COCO_RESULTS_SEGMENTS_MAX ((size_t)1 << 36) /* bytes of packed masks */

struct coco_result {
    int64_t image_id;
    int64_t category_id;
    double score;
    double box[4];
    size_t segment; /* offset of the mask */
    uint32_t segment_size;
    uint16_t kind; /* enum coco_segment_kind */
    bool has_box;
};

struct coco_results {
    struct coco_result *list; /* owned */
    size_t count;
    size_t capacity;
    struct buf segments;
    const char *path; /* borrowed; named in errors */
    bool boxes;       /* the first result has a box, and so do all */
    bool masks;       /* every result has a mask; false for an empty list */
};

void coco_results_done(struct coco_results *results);
/* PATH must outlive the results. */
int coco_results_read(struct coco_results *ret, const char *path, struct error *err);

/* Begins a list of our own results, to be added one by one: all with boxes, and with masks if
 * MASKS. NAME is for errors, and must outlive the list. */
void coco_results_begin(struct coco_results *ret, const char *name, bool masks);
/* Appends RESULT, ignoring its segment, with MASK (NULL without masks). */
int coco_results_add(struct coco_results *results, const struct coco_result *result,
                     const struct rle *mask, struct error *err);

/* Appends RESULT as it is; its segment is, or will be, in the segments. */
int coco_results_append(struct coco_results *results, const struct coco_result *result,
                        struct error *err);

struct coco_segment coco_result_segment(const struct coco_results *results, size_t number);

#define cleanup_coco_results __attribute__((cleanup(coco_results_done)))

#endif
