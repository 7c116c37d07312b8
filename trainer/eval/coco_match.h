/* Matching of detections to objects within one pair.
 *
 * It is done for all overlap thresholds and area ranges. Detections go in order of falling score,
 * the first 100 of them. Each takes the free object with the largest overlap, of two equals the
 * later one; objects that do not count (crowds, those outside the area range) only if no other is
 * taken. */
#ifndef TRAINER_EVAL_COCO_MATCH_H
#define TRAINER_EVAL_COCO_MATCH_H

#include "common/error.h"
#include "trainer/eval/coco_input.h"
#include "trainer/eval/coco_pairs.h"
#include "trainer/eval/coco_sort.h"

#include <stddef.h>
#include <stdint.h>

/* Outcome of a detection. Bit area * COCO_THRESHOLDS + threshold. */
struct coco_hit {
    double score;
    uint64_t matched;
    uint64_t ignored; /* neither true nor false positive */
    uint32_t rank;    /* within its pair, by score */
};

static inline unsigned coco_hit_bit(size_t area, size_t threshold) {
    return (unsigned)(area * COCO_THRESHOLDS + threshold);
}

/* Scratch memory that a thread reuses from pair to pair. Initialize with zeros. */
struct coco_matcher {
    struct rle_scratch rle_scratch;
    struct rle spare;        /* masks that are only validated */
    struct rle *truth_masks; /* owned, as all below */
    struct rle *found_masks;
    double (*truth_boxes)[4];
    double (*found_boxes)[4];
    struct coco_scored *sorted;
    struct coco_scored *scratch;
    double *overlaps; /* [detection][object] */
    bool *hopeful;    /* detections that reach the lowest threshold with some object */
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
