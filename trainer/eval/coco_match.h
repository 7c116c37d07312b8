/* Matching within one pair: which detection takes which object, for every overlap threshold and
 * area range. Detections go by falling score, the first 100 of them; each takes the free object
 * with the largest overlap, the later one of two equals; objects that do not count (crowds, those
 * outside the area range) only when no other is taken. */
#ifndef TRAINER_EVAL_COCO_MATCH_H
#define TRAINER_EVAL_COCO_MATCH_H

#include "common/error.h"
#include "trainer/eval/coco_input.h"
#include "trainer/eval/coco_pairs.h"
#include "trainer/eval/coco_sort.h"

#include <stddef.h>
#include <stdint.h>

/* What became of a detection. Bit area * COCO_THRESHOLDS + threshold. */
struct coco_hit {
    double score;
    uint64_t matched;
    uint64_t ignored; /* counts neither way */
    uint32_t rank;    /* within its pair, by score */
};

static inline unsigned coco_hit_bit(size_t area, size_t threshold) {
    return (unsigned)(area * COCO_THRESHOLDS + threshold);
}

/* What a thread keeps from one pair to the next. Zeroed is ready. */
struct coco_matcher {
    struct rle_brush brush;
    struct rle spare;        /* masks that are only checked */
    struct rle *truth_masks; /* owned, as all below */
    struct rle *found_masks;
    double (*truth_boxes)[4];
    double (*found_boxes)[4];
    struct coco_scored *sorted;
    struct coco_scored *scratch;
    double *overlaps; /* [detection][object] */
    bool *hopeful;    /* detections that reach the lowest threshold somewhere */
    uint32_t *order;  /* objects, those that count first */
    bool *ignored;    /* objects, in that order */
    bool *taken;
    size_t truth_capacity;
    size_t found_capacity;
    size_t overlap_capacity;
};

void coco_matcher_done(struct coco_matcher *matcher);

/* Matches PAIR; writes its outcomes to hits[pair->hits...], by falling score. */
int coco_match(struct coco_matcher *matcher, const struct coco_input *input,
               const struct coco_pairs *pairs, const struct coco_pair *pair, struct coco_hit *hits,
               struct error *err);

#endif
