/* Detections, one picture per thread: candidates are sorted once, and each is kept unless it
 * overlaps a kept one of its class. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/box.h"
#include "trainer/math/detect_score.h"
#include "trainer/math/image_size.h"
#include "trainer/math/match.h"
#include "trainer/math/rank.h"

/* Per picture: softmax over the classes of each proposal, a candidate for each class that is likely
 * enough, boxes decoded and clipped, greedy suppression within each class, and the best
 * `detections` of all classes. This file must choose what backend/ref chooses, so scores and boxes
 * come from math/, and ties are broken by the candidate's number (math/rank.h).
 *
 * Suppression of all classes in one sorted list is the same as one per class: boxes of other
 * classes never cover each other. It stops as soon as enough are kept. */

struct detect_op {
    struct cpu_step step;
    struct detect_attr detect;
    size_t images, proposals, classes; /* including the background */
    const float *logits, *deltas, *box;
    const int32_t *count, *size;
    float *found_box, *found_score;
    int32_t *found_label, *found_count;
    struct candidate *candidates; /* for each picture */
    size_t room;
};

/* The rank orders by score, then by number; greater is better, and no two are equal. */
struct candidate {
    uint64_t rank;
    float box[4], score;
    int32_t label;
};

/* A picture in work, and its part of the scratch. */
struct picture {
    const struct detect_op *op;
    size_t number;
    float height, width, plus;
    struct candidate *candidates;
    size_t count;
};

/* Adds the box of CLASS `label` for a proposal, if it is likely and large enough. A NaN score fails
 * the comparison as it is written. The room is never exceeded by a softmax (see room_of); the check
 * guards the memory against any other values. */
static void consider(struct picture *p, size_t proposal, size_t label, float score) {
    const struct detect_op *op = p->op;
    const struct detect_attr *d = &op->detect;
    size_t row = p->number * op->proposals + proposal;
    struct candidate *c = &p->candidates[p->count];
    if (!(score > d->score_threshold) || p->count == op->room)
        return;
    box_decode(op->box + 4 * row, op->deltas + 4 * (row * op->classes + label), d->coder, p->plus,
               c->box);
    box_clip(c->box, p->height, p->width, p->plus);
    if (!box_is_large(c->box, p->plus, d->min_side, (d->flags & DETECT_SIDE_ABOVE) != 0))
        return;
    c->score = score;
    c->label = (int32_t)label;
    c->rank = rank_of(score, (int)(proposal * (op->classes - 1) + label - 1));
    p->count++;
}

/* The count comes from another operator, and match_count() clamps it to the tensor. */
static void find_candidates(struct picture *p) {
    const struct detect_op *op = p->op;
    size_t proposals = (size_t)match_count(op->count[p->number], (int)op->proposals);
    for (size_t r = 0; r < proposals; r++) {
        const float *logits = op->logits + (p->number * op->proposals + r) * op->classes;
        struct detect_softmax s = detect_softmax(logits, (int)op->classes);
        for (size_t k = 1; k < op->classes; k++)
            consider(p, r, k, detect_probability(&s, logits[k]));
    }
}

/* For qsort: best first. Ranks are distinct, so the order is total although qsort is not stable. */
static int by_rank(const void *a, const void *b) {
    uint64_t x = ((const struct candidate *)a)->rank, y = ((const struct candidate *)b)->rank;
    return (x < y) - (x > y);
}

/* Returns true if one of the first KEPT, which are better, has the same class and overlaps C. */
static bool is_covered(const struct picture *p, const struct candidate *c, size_t kept) {
    for (size_t i = 0; i < kept; i++)
        if (p->candidates[i].label == c->label &&
            box_iou(p->candidates[i].box, c->box, p->plus) > p->op->detect.nms_threshold)
            return true;
    return false;
}

/* Moves the kept ones to the front. In place: the list of kept candidates never overtakes the one
 * that is looked at. Quadratic in what is kept, which is at most MOST. */
static size_t keep(struct picture *p, size_t most) {
    size_t kept = 0;
    for (size_t i = 0; i < p->count && kept < most; i++)
        if (!is_covered(p, &p->candidates[i], kept))
            p->candidates[kept++] = p->candidates[i];
    return kept;
}

/* Unused slots are zeroed and have label -1, so that results do not depend on the step before. */
static void fill_picture(void *context, int thread, size_t n) {
    const struct detect_op *op = context;
    const int32_t *size = op->size + n * IMAGE_SIZE_FIELDS;
    (void)thread;
    struct picture p = {.op = op,
                        .number = n,
                        .height = (float)size[IMAGE_SIZE_H],
                        .width = (float)size[IMAGE_SIZE_W],
                        .plus = detect_plus(&op->detect),
                        .candidates = op->candidates + n * op->room};
    size_t most = (size_t)op->detect.detections;
    find_candidates(&p);
    qsort(p.candidates, p.count, sizeof *p.candidates, by_rank);
    size_t kept = keep(&p, most);
    op->found_count[n] = (int32_t)kept;
    for (size_t i = 0; i < most; i++) {
        struct candidate none = {.label = -1}, *c = i < kept ? &p.candidates[i] : &none;
        memcpy(op->found_box + 4 * (n * most + i), c->box, sizeof c->box);
        op->found_score[n * most + i] = c->score;
        op->found_label[n * most + i] = c->label;
    }
}

/* A picture is a unit: pictures differ in their numbers of candidates, and threads take them as
 * they become free. */
static int run(void *context, struct error *err) {
    (void)err;
    struct detect_op *op = context;
    parallel_units(op->step.cpu->threads, op->images, fill_picture, op);
    return 0;
}

/* Probabilities of a proposal sum to 1, so few classes can pass the threshold: detect_likely() is
 * the most. */
static size_t room_of(const struct graph *graph, const struct op *op) {
    int classes = (int)cpu_input(graph, op, DETECTIONS_LOGITS)->shape.dim[1];
    size_t proposals = (size_t)cpu_input(graph, op, DETECTIONS_BOX)->shape.dim[1];
    return proposals * (size_t)detect_likely(op->attr.detect.score_threshold, classes);
}

/* All pictures have candidates at the same time, as each thread works on its own picture. The
 * candidates are the only scratch. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)err;
    size_t images = (size_t)cpu_input(graph, op, DETECTIONS_BOX)->shape.dim[0];
    ret_needs->scratch = images * room_of(graph, op) * sizeof(struct candidate);
    return 0;
}

/* The proposals are [N, R, 4]; logits and deltas have one row for each of the N * R. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct detect_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->detect = op->attr.detect;
    bound->images = (size_t)cpu_input(graph, op, DETECTIONS_BOX)->shape.dim[0];
    bound->proposals = (size_t)cpu_input(graph, op, DETECTIONS_BOX)->shape.dim[1];
    bound->classes = (size_t)cpu_input(graph, op, DETECTIONS_LOGITS)->shape.dim[1];
    bound->logits = addresses->inputs[DETECTIONS_LOGITS];
    bound->deltas = addresses->inputs[DETECTIONS_DELTAS];
    bound->box = addresses->inputs[DETECTIONS_BOX];
    bound->count = addresses->inputs[DETECTIONS_COUNT];
    bound->size = addresses->inputs[DETECTIONS_SIZE];
    bound->found_box = addresses->outputs[DETECTIONS_FOUND_BOX];
    bound->found_score = addresses->outputs[DETECTIONS_FOUND_SCORE];
    bound->found_label = addresses->outputs[DETECTIONS_FOUND_LABEL];
    bound->found_count = addresses->outputs[DETECTIONS_FOUND_COUNT];
    bound->candidates = addresses->scratch;
    bound->room = room_of(graph, op);
    return 0;
}

const struct cpu_operator cpu_detections = {NULL, query, bind};
