/* Selection of proposals from the outputs of a region proposal network. Geometry is f32
 * (graph/op.h), so bodies convert the numbers back to float before they compute. */
#include "common/cleanup.h"
#include "trainer/backend/ref/base/body.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/box.h"
#include "trainer/math/image_size.h"
#include "trainer/math/rank.h"

#include <math.h>
#include <stdlib.h>

/* Four operators in the order in which a step runs them: the best anchors of each level, their
 * boxes, suppression of overlapping boxes within a level, and the best of what is left. Ranks
 * (math/rank.h) are integers of score and position: sorting them orders equal scores by position,
 * on every backend alike.
 *
 * Everything is sorted whole, where other backends select. */

/* For qsort. No two ranks are equal. */
static int by_falling_rank(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

/* Returns NULL with an error. The caller frees. COUNT is the largest number of ranks that the body
 * sorts at once. */
static uint64_t *new_ranks(int64_t count, struct error *err) {
    uint64_t *ranks = malloc((size_t)count * sizeof(*ranks));
    if (ranks == NULL)
        (void)error_no_memory(err, "the order of scores");
    return ranks;
}

/* Places of the result are divided among levels by detect_candidates(). Scores are logits as float,
 * and NaN logits, which rank last, are counted for each picture. */
int ref_rpn_top_k(const struct ref_call *call, struct error *err) {
    const struct anchor_grid grid = detect_grid(&call->op.attr.detect);
    const struct detect_candidates places = detect_candidates(&call->op.attr.detect);
    cleanup_free uint64_t *ranks = new_ranks(grid.count, err);
    if (ranks == NULL)
        return -1;
    for (int64_t n = 0; n < call->out_shape[RPN_TOP_K_SCORE].dim[0]; n++)
        for (int level = 0; level < grid.levels; level++) {
            int count = anchor_level_count(&grid.level[level]);
            const double *logits = call->in[RPN_TOP_K_LOGITS + level] + n * count;
            for (int i = 0; i < count; i++) {
                ranks[i] = rank_of((float)logits[i], i);
                call->out[RPN_TOP_K_NAN][n] += isnan(logits[i]);
            }
            qsort(ranks, (size_t)count, sizeof(*ranks), by_falling_rank);
            for (int i = places.first[level]; i < places.first[level + 1]; i++) {
                int taken = rank_place(ranks[i - places.first[level]]);
                int64_t at = n * places.first[grid.levels] + i;
                call->out[RPN_TOP_K_SCORE][at] = (double)(float)logits[taken];
                call->out[RPN_TOP_K_INDEX][at] = grid.level[level].first + taken;
            }
        }
    return 0;
}

/* Doubles hold floats exactly, so the box is what the network computed. */
static void read_box(const double *values, float box[4]) {
    for (int i = 0; i < 4; i++)
        box[i] = (float)values[i];
}

/* Decodes the anchor's deltas, clips the box to the resized picture, and writes by what proposals
 * are ranked: minus infinity for those that are excluded. */
int ref_rpn_boxes(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct detect_attr *attr = &call->op.attr.detect;
    const struct anchor_grid grid = detect_grid(attr);
    const struct proposal_rule rule = detect_proposal_rule(attr);
    int64_t places = call->out_shape[RPN_BOXES_RANKED_BY].dim[1];
    for (int64_t i = 0; i < shape_count(&call->out_shape[RPN_BOXES_RANKED_BY]); i++) {
        const double *size = call->in[RPN_BOXES_IMAGE_SIZE] + i / places * IMAGE_SIZE_FIELDS;
        int anchor = (int)call->in[RPN_BOXES_INDEX][i], level = anchor_level_of(&grid, anchor);
        int64_t row =
            i / places * anchor_level_count(&grid.level[level]) + anchor - grid.level[level].first;
        float from[4], delta[4], box[4], score = (float)call->in[RPN_BOXES_SCORE][i];
        anchor_box(&grid, anchor, from);
        read_box(call->in[RPN_BOXES_DELTAS + level] + row * 4, delta);
        box_decode(from, delta, attr->coder, rule.plus, box);
        box_clip(box, (float)size[IMAGE_SIZE_H], (float)size[IMAGE_SIZE_W], rule.plus);
        for (int k = 0; k < 4; k++)
            call->out[RPN_BOXES_BOX][i * 4 + k] = (double)box[k];
        call->out[RPN_BOXES_RANKED_BY][i] =
            (double)proposal_score(&rule, size[IMAGE_SIZE_VALID] != 0, score, box);
    }
    return 0;
}

/* Sorts a picture's candidates of one level, positions FIRST to END - 1, best first, without
 * excluded ones. Returns how many. Excluded candidates have a score of minus infinity; NaN fails
 * the comparison, too. */
static int order_level(const double *score, int first, int end, uint64_t *ranks) {
    int count = 0;
    for (int i = first; i < end; i++)
        if (score[i] > -INFINITY)
            ranks[count++] = rank_of((float)score[i], i);
    qsort(ranks, (size_t)count, sizeof(*ranks), by_falling_rank);
    return count;
}

/* Greedy: a box is kept unless a better one that was kept itself overlaps it by more than the
 * threshold. KEEP is zero for all others. */
static void suppress(const struct detect_attr *attr, const double *boxes, const uint64_t *ranks,
                     int count, double *keep) {
    const float plus = detect_plus(attr);
    for (int i = 0; i < count; i++) {
        float box[4], other[4];
        bool kept = true;
        read_box(boxes + (int64_t)4 * rank_place(ranks[i]), box);
        for (int k = 0; k < i && kept; k++) {
            read_box(boxes + (int64_t)4 * rank_place(ranks[k]), other);
            kept = keep[rank_place(ranks[k])] == 0 ||
                   !(box_iou(other, box, plus) > attr->nms_threshold);
        }
        keep[rank_place(ranks[i])] = kept;
    }
}

/* Levels and pictures are suppressed separately. */
int ref_nms(const struct ref_call *call, struct error *err) {
    const struct detect_attr *attr = &call->op.attr.detect;
    const struct detect_candidates places = detect_candidates(attr);
    int all = places.first[places.levels];
    cleanup_free uint64_t *ranks = new_ranks(all, err);
    if (ranks == NULL)
        return -1;
    for (int64_t n = 0; n < call->out_shape[NMS_KEEP].dim[0]; n++)
        for (int level = 0; level < places.levels; level++) {
            const double *score = call->in[NMS_SCORE] + n * all;
            int count = order_level(score, places.first[level], places.first[level + 1], ranks);
            suppress(attr, call->in[NMS_BOX] + n * all * 4, ranks, count,
                     call->out[NMS_KEEP] + n * all);
        }
    return 0;
}

/* Sorts the kept candidates of N pictures, from picture FIRST on, best first: ranks of positions
 * counted over these pictures. Returns how many. */
static int order_kept(const struct ref_call *call, int64_t first, int64_t n, uint64_t *ranks) {
    int64_t all = call->in_shape[PROPOSALS_KEEP].dim[1];
    int count = 0;
    for (int i = 0; i < n * all; i++)
        if (call->in[PROPOSALS_KEEP][first * all + i] != 0)
            ranks[count++] = rank_of((float)call->in[PROPOSALS_FROM_SCORE][first * all + i], i);
    qsort(ranks, (size_t)count, sizeof(*ranks), by_falling_rank);
    return count;
}

/* Candidate FROM of the batch becomes the next proposal of its picture. */
static void put_proposal(const struct ref_call *call, int64_t from) {
    int64_t n = from / call->in_shape[PROPOSALS_KEEP].dim[1];
    int64_t to =
        n * call->out_shape[PROPOSALS_SCORE].dim[1] + (int64_t)call->out[PROPOSALS_COUNT][n]++;
    for (int k = 0; k < 4; k++)
        call->out[PROPOSALS_BOX][to * 4 + k] = call->in[PROPOSALS_FROM_BOX][from * 4 + k];
    call->out[PROPOSALS_SCORE][to] = call->in[PROPOSALS_FROM_SCORE][from];
}

/* Pools are single pictures or the whole batch (DETECT_TOP_OF_BATCH). Slots that stay empty are
 * zero, and COUNT tells how many of a picture are used. */
int ref_proposals(const struct ref_call *call, struct error *err) {
    const struct detect_attr *attr = &call->op.attr.detect;
    int64_t pictures = call->in_shape[PROPOSALS_KEEP].dim[0];
    int64_t all = call->in_shape[PROPOSALS_KEEP].dim[1];
    int64_t pool = (attr->flags & DETECT_TOP_OF_BATCH) != 0 ? pictures : 1; /* selected together */
    cleanup_free uint64_t *ranks = new_ranks(pool * all, err);
    if (ranks == NULL)
        return -1;
    for (int64_t first = 0; first < pictures; first += pool) {
        int count = order_kept(call, first, pool, ranks);
        for (int i = 0; i < count && i < attr->post_nms * pool; i++)
            put_proposal(call, first * all + rank_place(ranks[i]));
    }
    return 0;
}
