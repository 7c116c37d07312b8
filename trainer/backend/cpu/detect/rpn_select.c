/* Selection of proposals from the outputs of a region proposal network. The choice must be the
 * same on every backend: this file is compiled without contraction (room.cmake), and the order is
 * total. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/detect/rank_select.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/image_size.h"
#include "trainer/math/rank.h"

/* Three operators, one after another: RPN_TOP_K takes the best anchors of each level by their
 * logits, RPN_BOXES decodes and clips their boxes and decides by what they are ranked, and
 * PROPOSALS merges what suppression (nms.c) kept into the best of a picture or of the batch.
 *
 * Ranks (math/rank.h) hold a score's bits in an order that integers share, and the place, so that
 * equal scores are ordered by place. Sorting integers gives the same order on every backend, NaN
 * included. */

struct select_op {
    struct cpu_step step;
    struct detect_attr attr;
    struct anchor_grid grid;
    struct detect_candidates places;
    struct proposal_rule rule;
    size_t pictures, slots; /* slots: of proposals */
    size_t pool;            /* pictures that select their proposals together */
    const void *in[OP_INPUTS_MAX];
    void *out[OP_OUTPUTS_MAX];
    uint64_t *ranks; /* in scratch, `room` for each thread */
    size_t room;
    int32_t *nan; /* in scratch: for each picture and level */
};

/* Candidates of one picture, all levels together. */
static size_t candidates(const struct select_op *op) {
    return (size_t)op->places.first[op->places.levels];
}

/* --- top k ------------------------------------------------------------------------------------ */

/* The upper half of a rank decides for almost all candidates: above the border they are taken,
 * below it they are not, and only those with the border's 16 bits need comparing. */
enum { DIGITS = 1 << 16 };

/* The upper 16 bits: sign, exponent and seven bits of the mantissa. */
static uint32_t digit_of(float logit) {
    return rank_of_score(logit) >> 16;
}

/* Returns the smallest digit among the K best. COUNT is at least K, so the loop ends. */
static uint32_t border_digit(const float *logits, int count, int k, uint32_t *histogram) {
    memset(histogram, 0, DIGITS * sizeof(*histogram));
    for (int i = 0; i < count; i++)
        histogram[digit_of(logits[i])]++;
    uint32_t digit = DIGITS - 1;
    for (uint32_t found = histogram[digit]; found < (uint32_t)k; found += histogram[digit])
        digit--;
    return digit;
}

/* One level of one picture. The histogram lies at the end of the thread's ranks: 2^16 counts of 4
 * bytes are DIGITS / 2 ranks, which room_of() adds. NaN logits have the lowest rank and are
 * counted. */
static void top_level(void *context, int thread, size_t unit) {
    const struct select_op *op = context;
    size_t n = unit / (size_t)op->grid.levels, level = unit % (size_t)op->grid.levels;
    const struct anchor_level *anchors = &op->grid.level[level];
    int count = anchor_level_count(anchors);
    const float *logits = (const float *)op->in[RPN_TOP_K_LOGITS + level] + n * (size_t)count;
    uint64_t *ranks = op->ranks + (size_t)thread * op->room;
    int first = op->places.first[level], k = op->places.first[level + 1] - first;
    uint32_t border = border_digit(logits, count, k, (uint32_t *)(ranks + op->room) - DIGITS);
    size_t found = 0, at = n * candidates(op) + (size_t)first;
    int32_t nan = 0;
    for (int i = 0; i < count; i++) {
        nan += !(logits[i] == logits[i]);
        if (digit_of(logits[i]) >= border)
            ranks[found++] = rank_of(logits[i], i);
    }
    (void)rank_select(ranks, found, (size_t)k);
    for (size_t i = 0; i < (size_t)k; i++) {
        int taken = rank_place(ranks[i]);
        ((float *)op->out[RPN_TOP_K_SCORE])[at + i] = logits[taken];
        ((int32_t *)op->out[RPN_TOP_K_INDEX])[at + i] = anchors->first + taken;
    }
    op->nan[unit] = nan;
}

/* Each level of each picture is one unit; within a picture the largest level comes first. The
 * counts of NaN are added up afterwards, because several threads work on one picture. */
static int run_top_k(void *context, struct error *err) {
    (void)err;
    struct select_op *op = context;
    size_t levels = (size_t)op->grid.levels;
    parallel_units(op->step.cpu->threads, op->pictures * levels, top_level, op);
    for (size_t n = 0; n < op->pictures; n++) {
        int32_t sum = 0;
        for (size_t level = 0; level < levels; level++)
            sum += op->nan[n * levels + level];
        ((int32_t *)op->out[RPN_TOP_K_NAN])[n] = sum;
    }
    return 0;
}

/* --- boxes ------------------------------------------------------------------------------------ */

/* A candidate's place tells its picture, its anchor number the level. Excluded candidates, and all
 * of a picture that is not valid, get minus infinity (proposal_score). Shares are multiples of 16
 * candidates, a whole cache line of scores. */
static void boxes_share(void *context, struct share share) {
    const struct select_op *op = context;
    size_t begin, end, all = candidates(op);
    share_range(share, op->pictures * all, 16, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const int32_t *size =
            (const int32_t *)op->in[RPN_BOXES_IMAGE_SIZE] + i / all * IMAGE_SIZE_FIELDS;
        int anchor = ((const int32_t *)op->in[RPN_BOXES_INDEX])[i];
        int level = anchor_level_of(&op->grid, anchor);
        const struct anchor_level *anchors = &op->grid.level[level];
        size_t row =
            i / all * (size_t)anchor_level_count(anchors) + (size_t)(anchor - anchors->first);
        float from[4], *box = (float *)op->out[RPN_BOXES_BOX] + i * 4;
        anchor_box_at(anchors, anchor - anchors->first, from);
        box_decode(from, (const float *)op->in[RPN_BOXES_DELTAS + level] + row * 4, op->attr.coder,
                   op->rule.plus, box);
        box_clip(box, (float)size[IMAGE_SIZE_H], (float)size[IMAGE_SIZE_W], op->rule.plus);
        ((float *)op->out[RPN_BOXES_RANKED_BY])[i] =
            proposal_score(&op->rule, size[IMAGE_SIZE_VALID] != 0,
                           ((const float *)op->in[RPN_BOXES_SCORE])[i], box);
    }
}

/* A candidate is computed from its own inputs alone. */
static int run_boxes(void *context, struct error *err) {
    (void)err;
    struct select_op *op = context;
    parallel_run(op->step.cpu->threads, boxes_share, op);
    return 0;
}

/* --- proposals -------------------------------------------------------------------------------- */

/* Pool NUMBER: a picture, or the whole batch. Places are counted over the pool, so n is the picture
 * within it. Pools of the whole batch limit the sum over the pictures, not each one. */
static void merge_pool(void *context, int thread, size_t number) {
    const struct select_op *op = context;
    uint64_t *ranks = op->ranks + (size_t)thread * op->room;
    size_t each = candidates(op), all = each * op->pool, first = number * all, found = 0;
    const float *score = (const float *)op->in[PROPOSALS_FROM_SCORE] + first;
    const float *box = (const float *)op->in[PROPOSALS_FROM_BOX] + first * 4;
    float *to_score = op->out[PROPOSALS_SCORE], *to_box = op->out[PROPOSALS_BOX];
    int32_t *count = (int32_t *)op->out[PROPOSALS_COUNT] + number * op->pool;
    size_t slots = number * op->pool * op->slots;
    memset(to_box + slots * 4, 0, op->pool * op->slots * 4 * sizeof(float));
    memset(to_score + slots, 0, op->pool * op->slots * sizeof(float));
    memset(count, 0, op->pool * sizeof(*count));
    for (size_t i = 0; i < all; i++)
        if (((const int32_t *)op->in[PROPOSALS_KEEP])[first + i] != 0)
            ranks[found++] = rank_of(score[i], (int)i);
    found = rank_select(ranks, found, (size_t)op->attr.post_nms * op->pool);
    for (size_t i = 0; i < found; i++) {
        size_t place = (size_t)rank_place(ranks[i]), n = place / each;
        size_t to = slots + n * op->slots + (size_t)count[n]++;
        memcpy(to_box + to * 4, box + place * 4, 4 * sizeof(float));
        to_score[to] = score[place];
    }
}

/* Units are pools, not pictures. */
static int run_proposals(void *context, struct error *err) {
    (void)err;
    struct select_op *op = context;
    parallel_units(op->step.cpu->threads, op->pictures / op->pool, merge_pool, op);
    return 0;
}

/* --- binding ---------------------------------------------------------------------------------- */

/* With DETECT_TOP_OF_BATCH the best proposals of the whole batch are taken together; otherwise each
 * picture has its own. */
static size_t pool_of(const struct op *op, size_t pictures) {
    return (op->attr.detect.flags & DETECT_TOP_OF_BATCH) != 0 ? pictures : 1;
}

/* Returns the 8-byte numbers of scratch that each thread needs. */
static size_t room_of(const struct op *op, size_t pictures) {
    const struct anchor_grid grid = detect_grid(&op->attr.detect);
    const struct detect_candidates places = detect_candidates(&op->attr.detect);
    size_t most = 0;
    if (op->kind == OP_PROPOSALS)
        return (size_t)places.first[places.levels] * pool_of(op, pictures);
    for (int i = 0; i < grid.levels; i++)
        if ((size_t)anchor_level_count(&grid.level[i]) > most)
            most = (size_t)anchor_level_count(&grid.level[i]);
    return most + DIGITS / 2;
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    size_t pictures = (size_t)cpu_output(graph, op, 0)->shape.dim[0];
    ret_needs->scratch = room_of(op, pictures) * (size_t)cpu->threads * sizeof(uint64_t) +
                         pictures * DETECT_LEVELS_MAX * sizeof(int32_t);
    return 0;
}

/* One bind for three operators: those without scratch (boxes) leave `ranks` and `nan` unused.
 * `slots` is read by OP_PROPOSALS alone. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct select_op *bound = cpu_step_new(cpu, sizeof *bound,
                                           op->kind == OP_RPN_TOP_K   ? run_top_k
                                           : op->kind == OP_RPN_BOXES ? run_boxes
                                                                      : run_proposals,
                                           NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct shape *out = &cpu_output(graph, op, op->kind == OP_PROPOSALS)->shape;
    bound->attr = op->attr.detect;
    bound->grid = detect_grid(&op->attr.detect);
    bound->places = detect_candidates(&op->attr.detect);
    bound->rule = detect_proposal_rule(&op->attr.detect);
    bound->pictures = (size_t)out->dim[0];
    bound->slots = (size_t)out->dim[1];
    memcpy(bound->in, addresses->inputs, sizeof bound->in);
    memcpy(bound->out, addresses->outputs, sizeof bound->out);
    bound->pool = pool_of(op, bound->pictures);
    bound->room = room_of(op, bound->pictures);
    bound->ranks = addresses->scratch;
    if (addresses->scratch != NULL)
        bound->nan = (int32_t *)(bound->ranks + bound->room * (size_t)cpu->threads);
    return 0;
}

const struct cpu_operator cpu_rpn_top_k = {NULL, query, bind};
const struct cpu_operator cpu_rpn_boxes = {NULL, NULL, bind};
const struct cpu_operator cpu_proposals = {NULL, query, bind};
