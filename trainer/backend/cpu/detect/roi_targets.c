/* Sampling of the regions for the heads, one picture per thread, and selection of those with a
 * mask. Samples are found by sorting; backend/ref counts instead. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/box.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/match.h"
#include "trainer/math/sample_key.h"

/* Per picture: the boxes to sample from are the proposals and, after them, the labelled objects
 * themselves, as a training step would otherwise have no positives early on. Each is matched to the
 * object of largest overlap and becomes a candidate, background, or neither. At most `positives`
 * candidates and as many of the background as fill `samples` are drawn.
 *
 * Drawing takes the smallest pseudo-random keys (math/sample_key.h), which depend on the picture's
 * key and the box's number: every backend, and any number of threads, draws the same. Slots are in
 * ascending order of number, objects first. */

struct targets_op {
    struct cpu_step step;
    struct detect_attr detect;
    size_t images, proposals, objects, samples;
    const float *box, *gt_box;
    const int32_t *count, *gt_label, *gt_count, *key;
    float *roi, *target;
    int32_t *label, *match;
    char *scratch; /* for each picture: candidates and the areas of objects */
    size_t picture_bytes;
};

struct candidate {
    uint64_t order; /* order of sampling */
    int32_t number, match, label;
};

/* State for one picture. */
struct picture {
    const struct targets_op *op;
    float plus;
    const float *box, *gt_box;
    const int32_t *gt_label, *key;
    int proposals, objects;
    struct candidate *candidates, *background; /* matched candidates, and background */
    size_t candidate_count, background_count;
    float *areas;
};

/* Any box may land in either list, so both have room for all. */
static size_t candidates_bytes(size_t proposals, size_t objects) {
    return backend_aligned((proposals + objects) * sizeof(struct candidate));
}

/* Views of picture N in the batch's tensors, and its part of the scratch. Counts are clamped to the
 * tensors. */
static struct picture picture_of(const struct targets_op *op, size_t n) {
    char *scratch = op->scratch + n * op->picture_bytes;
    size_t bytes = candidates_bytes(op->proposals, op->objects);
    return (struct picture){
        .op = op,
        .plus = detect_plus(&op->detect),
        .box = op->box + 4 * n * op->proposals,
        .gt_box = op->gt_box + 4 * n * op->objects,
        .gt_label = op->gt_label + n * op->objects,
        .key = op->key + n * SAMPLE_KEY_WORDS,
        .proposals = match_count(op->count[n], (int)op->proposals),
        .objects = match_count(op->gt_count[n], (int)op->objects),
        .candidates = (struct candidate *)(void *)scratch,
        .background = (struct candidate *)(void *)(scratch + bytes),
        .areas = (float *)(void *)(scratch + 2 * bytes),
    };
}

/* Numbers from `proposals` on are objects. */
static const float *box_of(const struct picture *p, int number) {
    return number < p->proposals ? p->box + 4 * number : p->gt_box + 4 * (number - p->proposals);
}

/* Returns the object of largest overlap, the first of several, or -1. With no objects it returns -1
 * and an overlap of -1, which matches as background. */
static int best_of(const struct picture *p, const float *box, float *ret_overlap) {
    float area = box_area(box, p->plus);
    int best = -1;
    *ret_overlap = -1;
    for (int g = 0; g < p->objects; g++) {
        float overlap = box_iou_of_areas(p->gt_box + 4 * g, p->areas[g], box, area, p->plus);
        if (overlap > *ret_overlap) {
            *ret_overlap = overlap;
            best = g;
        }
    }
    return best;
}

/* Sorts box NUMBER into one of the lists, or into none if its overlap lies between both thresholds.
 * A candidate's label is its object's class. */
static void consider(struct picture *p, int number) {
    float overlap;
    int best = best_of(p, box_of(p, number), &overlap);
    struct candidate c = {.number = number, .match = -1};
    c.order = sample_order(sample_key(p->key, SAMPLE_ROI, number), number);
    switch (match_label(overlap, p->op->detect.background_iou, p->op->detect.foreground_iou)) {
    case MATCH_OBJECT:
        c.match = best;
        c.label = p->gt_label[best];
        p->candidates[p->candidate_count++] = c;
        break;
    case MATCH_BACKGROUND:
        p->background[p->background_count++] = c;
        break;
    default:
        break;
    }
}

/* Orders are distinct: they contain the number. */
static int by_order(const void *a, const void *b) {
    uint64_t x = ((const struct candidate *)a)->order, y = ((const struct candidate *)b)->order;
    return (x > y) - (x < y);
}

/* The lists were filled by ascending number, so an unsorted list is in this order already. */
static int by_number(const void *a, const void *b) {
    return ((const struct candidate *)a)->number - ((const struct candidate *)b)->number;
}

/* Keeps the first LIMIT in sampling order, by ascending number; returns their number. The first
 * sort selects, the second one restores the order. */
static size_t sample(struct candidate *candidates, size_t count, size_t limit) {
    if (count <= limit)
        return count;
    qsort(candidates, count, sizeof *candidates, by_order);
    qsort(candidates, limit, sizeof *candidates, by_number);
    return limit;
}

/* Fills SLOT with a sampled box. Background keeps label 0 and no match, and its regression target
 * is 0. The box itself is the region, whether it is a proposal or an object. */
static void put(const struct picture *p, size_t slot, const struct candidate *c) {
    const struct targets_op *op = p->op;
    const float *box = box_of(p, c->number);
    memcpy(op->roi + 4 * slot, box, 4 * sizeof *box);
    op->label[slot] = c->label;
    op->match[slot] = c->match;
    memset(op->target + 4 * slot, 0, 4 * sizeof(float));
    if (c->match >= 0)
        box_encode(box, p->gt_box + 4 * c->match, op->detect.coder, p->plus, op->target + 4 * slot);
}

/* A slot without a sample: label -1 excludes it from losses and from the heads. */
static void put_nothing(const struct targets_op *op, size_t slot) {
    memset(op->roi + 4 * slot, 0, 4 * sizeof(float));
    memset(op->target + 4 * slot, 0, 4 * sizeof(float));
    op->label[slot] = op->match[slot] = -1;
}

/* Background fills up what objects leave of the samples; without enough of both, slots stay
 * empty. */
static void fill_picture(void *context, int thread, size_t n) {
    const struct targets_op *op = context;
    struct picture p = picture_of(op, n);
    (void)thread;
    for (int g = 0; g < p.objects; g++)
        p.areas[g] = box_area(p.gt_box + 4 * g, p.plus);
    for (int i = 0; i < p.proposals + p.objects; i++)
        consider(&p, i);
    size_t objects = sample(p.candidates, p.candidate_count, (size_t)op->detect.positives);
    size_t others = sample(p.background, p.background_count, op->samples - objects);
    size_t slot = n * op->samples, end = slot + op->samples;
    for (size_t i = 0; i < objects; i++)
        put(&p, slot++, &p.candidates[i]);
    for (size_t i = 0; i < others; i++)
        put(&p, slot++, &p.background[i]);
    while (slot < end)
        put_nothing(op, slot++);
}

/* Pictures are independent, and few: threads beyond their number have nothing to do. */
static int run(void *context, struct error *err) {
    (void)err;
    struct targets_op *op = context;
    parallel_units(op->step.cpu->threads, op->images, fill_picture, op);
    return 0;
}

/* Both lists, then the objects' areas, each aligned. */
static size_t picture_bytes(size_t proposals, size_t objects) {
    return 2 * candidates_bytes(proposals, objects) + backend_aligned(objects * sizeof(float));
}

/* Scratch for all pictures, as they are worked on at the same time. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)err;
    const struct shape *box = &cpu_input(graph, op, ROI_TARGETS_BOX)->shape;
    const struct shape *gt = &cpu_input(graph, op, ROI_TARGETS_GT_BOX)->shape;
    ret_needs->scratch =
        (size_t)box->dim[0] * picture_bytes((size_t)box->dim[1], (size_t)gt->dim[1]);
    return 0;
}

/* Shapes are those of the batch's tensors, which have as many slots as the largest picture
 * needs. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct targets_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct shape *box = &cpu_input(graph, op, ROI_TARGETS_BOX)->shape;
    bound->detect = op->attr.detect;
    bound->images = (size_t)box->dim[0];
    bound->proposals = (size_t)box->dim[1];
    bound->objects = (size_t)cpu_input(graph, op, ROI_TARGETS_GT_BOX)->shape.dim[1];
    bound->samples = (size_t)op->attr.detect.samples;
    bound->box = addresses->inputs[ROI_TARGETS_BOX];
    bound->count = addresses->inputs[ROI_TARGETS_COUNT];
    bound->gt_box = addresses->inputs[ROI_TARGETS_GT_BOX];
    bound->gt_label = addresses->inputs[ROI_TARGETS_GT_LABEL];
    bound->gt_count = addresses->inputs[ROI_TARGETS_GT_COUNT];
    bound->key = addresses->inputs[ROI_TARGETS_KEY];
    bound->roi = addresses->outputs[ROI_TARGETS_ROI];
    bound->label = addresses->outputs[ROI_TARGETS_LABEL];
    bound->match = addresses->outputs[ROI_TARGETS_MATCH];
    bound->target = addresses->outputs[ROI_TARGETS_TARGET];
    bound->scratch = addresses->scratch;
    bound->picture_bytes = picture_bytes(bound->proposals, bound->objects);
    return 0;
}

const struct cpu_operator cpu_roi_targets = {NULL, query, bind};

/* --- rows of the mask head -------------------------------------------------------------------- */

struct rows_op {
    struct cpu_step step;
    size_t slots, picture_slots, objects, rows; /* slots: of all pictures */
    const int32_t *label, *match, *at;
    int32_t *row, *mask_label, *count;
};

/* Collects the slots that train the mask head: objects with a mask, from all pictures, in order of
 * their slots, until the head's rows are full. COUNT lets later operators compute only these rows
 * (graph/row_prefix.h). One thread does it, because each row's place depends on all before it.
 * Objects without a mask in the data set are skipped (mask_bits_given). */
static int run_rows(void *context, struct error *err) {
    (void)err;
    const struct rows_op *op = context;
    size_t count = 0;
    for (size_t i = 0; i < op->slots; i++) {
        if (op->label[i] < 1 || op->match[i] < 0 || count == op->rows)
            continue;
        size_t object = i / op->picture_slots * op->objects + (size_t)op->match[i];
        if (!mask_bits_given(op->at + object * MASK_FIELDS))
            continue;
        op->row[count] = (int32_t)i;
        op->mask_label[count++] = op->label[i];
    }
    *op->count = (int32_t)count;
    for (; count < op->rows; count++) {
        op->row[count] = -1;
        op->mask_label[count] = 0;
    }
    return 0;
}

/* Reads the outputs of the sampling above; all are tiny. It needs no scratch, so it has no
 * query. */
static int bind_rows(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    struct rows_op *bound = cpu_step_new(cpu, sizeof *bound, run_rows, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *label = cpu_input(graph, op, MASK_ROWS_LABEL);
    bound->slots = (size_t)tensor_count(label);
    bound->picture_slots = (size_t)label->shape.dim[1];
    bound->objects = (size_t)cpu_input(graph, op, MASK_ROWS_AT)->shape.dim[1];
    bound->rows = (size_t)cpu_output(graph, op, MASK_ROWS_ROW)->shape.dim[0];
    bound->label = addresses->inputs[MASK_ROWS_LABEL];
    bound->match = addresses->inputs[MASK_ROWS_MATCH];
    bound->at = addresses->inputs[MASK_ROWS_AT];
    bound->row = addresses->outputs[MASK_ROWS_ROW];
    bound->mask_label = addresses->outputs[MASK_ROWS_MASK_LABEL];
    bound->count = addresses->outputs[MASK_ROWS_COUNT];
    return 0;
}

const struct cpu_operator cpu_mask_rows = {NULL, NULL, bind_rows};
