/* Targets of a region proposal network. A picture is a unit of work. An anchor overlaps few
 * objects, and the anchors that an object overlaps form a rectangle in each map: so the work goes
 * by object, level and rectangle, and overlaps of 0 are never computed. Compiled without
 * contraction (room.cmake): ties between equal overlaps matter. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/detect/rank_select.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/box.h"
#include "trainer/math/image_size.h"
#include "trainer/math/match.h"
#include "trainer/math/sample_key.h"

/* A hundred thousand anchors times a hundred objects would be 10^7 overlaps a picture. Visiting
 * only the anchors near each object avoids most of them, and an anchor that is never visited has an
 * overlap of 0 with everything, which is what its arrays start with.
 *
 * Two visits: the first finds each anchor's best object and each object's best overlap; the second
 * makes all anchors that reach this best overlap positive, whatever the thresholds say, so that
 * objects of unusual shape have one, too (Faster R-CNN, Ren et al. 2015). */

struct targets_op {
    struct cpu_step step;
    struct detect_attr attr;
    struct anchor_grid grid;
    float plus;
    size_t pictures, slots;
    const float *objects;
    const int32_t *count, *size, *key;
    int32_t *index, *label, *counts;
    float *target;
    char *scratch; /* room() bytes for each thread */
};

/* A thread's view of its current picture. */
struct picture {
    const struct targets_op *op;
    const float *objects;
    int object_count;
    const int32_t *size, *key;
    uint64_t *candidates; /* room for all anchors */
    float *best;          /* of each anchor: the largest overlap, */
    int32_t *object;      /* and its object */
    signed char *label;
    float *most; /* of each object: the largest overlap */
};

/* In the order of picture_unit(): 8-byte values first, so that everything is aligned; the labels,
 * of one byte, come last. */
static size_t room(size_t anchors, size_t objects) {
    return backend_aligned(anchors * (sizeof(uint64_t) + sizeof(float) + sizeof(int32_t) + 1) +
                           (objects + 16) * sizeof(float));
}

/* Computes the cells [begin, end) along an axis with anchors that may overlap [LOW, HIGH]; an
 * anchor extends from FIRST to LAST relative to its cell. An extra cell on either side covers
 * rounding; for NaN returns all. */
static void cells_near(float low, float high, float first, float last, int step, int cells,
                       int *ret_begin, int *ret_end) {
    float begin = (low - last) / (float)step - 2, end = (high - first) / (float)step + 3;
    *ret_begin = !(begin > 0) ? 0 : begin < (float)cells ? (int)begin : cells;
    *ret_end = !(end < (float)cells) ? cells : end > 0 ? (int)end : 0;
}

typedef void visitor(struct picture *p, int anchor, int object, float overlap);

/* Calls VISIT for all anchors of a level and a shape that OBJECT may overlap, and possibly others.
 * Areas are computed once per object, level and shape instead of once per overlap. */
static void visit_near(struct picture *p, int object, int number, int shape, visitor *visit) {
    const struct anchor_level *level = &p->op->grid.level[number];
    const float *box = p->objects + object * 4, *cell = level->cell[shape];
    const float plus = p->op->plus, area = box_area(box, plus);
    int top, bottom, left, right;
    cells_near(box[1], box[3], cell[1], cell[3], level->step_y, level->height, &top, &bottom);
    cells_near(box[0], box[2], cell[0], cell[2], level->step_x, level->width, &left, &right);
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            int index = (y * level->width + x) * ANCHOR_SHAPES + shape;
            float anchor[4];
            anchor_box_at(level, index, anchor);
            float overlap = box_iou_of_areas(box, area, anchor, box_area(anchor, plus), plus);
            visit(p, level->first + index, object, overlap);
        }
}

/* Objects in ascending order: of equal overlaps the first object wins. */
static void visit_all(struct picture *p, visitor *visit) {
    for (int object = 0; object < p->object_count; object++)
        for (int level = 0; level < p->op->grid.levels; level++)
            for (int shape = 0; shape < ANCHOR_SHAPES; shape++)
                visit_near(p, object, level, shape, visit);
}

/* The comparison is strict, so a later object with an equal overlap changes nothing. */
static void note_best(struct picture *p, int anchor, int object, float overlap) {
    if (overlap > p->best[anchor]) {
        p->best[anchor] = overlap;
        p->object[anchor] = object;
    }
    if (overlap > p->most[object])
        p->most[object] = overlap;
}

/* An exact comparison: the same overlap is computed again, by the same instructions. */
static void note_most(struct picture *p, int anchor, int object, float overlap) {
    if (overlap == p->most[object] && overlap > 0)
        p->label[anchor] = MATCH_OBJECT;
}

/* Labels every anchor. Anchors that cross the picture's border are ignored, if the attribute says
 * so, after all matching. Best overlaps start at 0, and the first object stands for anchors without
 * any. */
static void match(struct picture *p) {
    const struct targets_op *op = p->op;
    size_t anchors = (size_t)op->grid.count;
    memset(p->best, 0, anchors * sizeof(*p->best));
    memset(p->object, 0, anchors * sizeof(*p->object));
    memset(p->most, 0, (size_t)p->object_count * sizeof(*p->most));
    visit_all(p, note_best);
    for (size_t a = 0; a < anchors; a++)
        p->label[a] =
            (signed char)match_label(p->best[a], op->attr.background_iou, op->attr.foreground_iou);
    visit_all(p, note_most);
    if ((op->attr.flags & DETECT_ANCHORS_INSIDE) == 0)
        return;
    for (int a = 0; a < op->grid.count; a++) {
        float box[4];
        anchor_box(&op->grid, a, box);
        if (!match_inside(box, (float)p->size[IMAGE_SIZE_H], (float)p->size[IMAGE_SIZE_W]))
            p->label[a] = MATCH_IGNORED;
    }
}

/* Finds the anchors of this label with the smallest keys, at most MOST, by ascending number. Keys
 * depend on the picture and the anchor's number alone, so the draw is the same on every backend.
 * rank_select() finds the greatest, so the orders are inverted. */
static size_t sample(struct picture *p, int label, size_t most, uint32_t *ret_numbers) {
    size_t count = 0;
    for (int a = 0; a < p->op->grid.count; a++)
        if (p->label[a] == label)
            p->candidates[count++] = ~sample_order(sample_key(p->key, SAMPLE_RPN, a), a);
    count = rank_select(p->candidates, count, most);
    for (size_t i = 0; i < count; i++)
        ret_numbers[i] = (uint32_t)~p->candidates[i];
    rank_sort_rising(ret_numbers, count);
    return count;
}

/* The box that the anchor should be moved to, as deltas. */
static void write_target(const struct picture *p, int anchor, float *target) {
    float box[4];
    anchor_box(&p->op->grid, anchor, box);
    box_encode(box, p->objects + p->object[anchor] * 4, p->op->attr.coder, p->op->plus, target);
}

/* Objects are drawn first, background fills the rest. A picture that is not valid gets no samples:
 * all slots are ignored, and both counts are 0. INDEX serves as memory for the drawn numbers before
 * unused slots get -1. */
static void sample_picture(struct picture *p, size_t n) {
    const struct targets_op *op = p->op;
    size_t samples = (size_t)op->attr.samples;
    int32_t *index = op->index + n * samples, *label = op->label + n * samples;
    float *target = op->target + n * samples * 4;
    memset(target, 0, samples * 4 * sizeof(float));
    memset(op->counts + n * 2, 0, 2 * sizeof(int32_t));
    size_t taken = 0;
    if (p->size[IMAGE_SIZE_VALID] != 0) {
        match(p);
        taken = sample(p, MATCH_OBJECT, (size_t)op->attr.positives, (uint32_t *)index);
        op->counts[n * 2] = (int32_t)taken;
        taken += sample(p, MATCH_BACKGROUND, samples - taken, (uint32_t *)index + taken);
        op->counts[n * 2 + 1] = (int32_t)taken - op->counts[n * 2];
    }
    for (size_t slot = 0; slot < samples; slot++) {
        bool positive = slot < (size_t)op->counts[n * 2];
        label[slot] = positive ? MATCH_OBJECT : slot < taken ? MATCH_BACKGROUND : MATCH_IGNORED;
        index[slot] = slot < taken ? index[slot] : -1;
        if (positive)
            write_target(p, index[slot], target + slot * 4);
    }
}

/* Takes its views from the thread's memory, which the next picture uses again. The count of objects
 * is clamped to the tensor's slots. */
static void picture_unit(void *context, int thread, size_t n) {
    const struct targets_op *op = context;
    size_t anchors = (size_t)op->grid.count;
    char *scratch = op->scratch + (size_t)thread * room(anchors, op->slots);
    int32_t count = op->count[n];
    struct picture p = {.op = op, .objects = op->objects + n * op->slots * 4};
    p.object_count = count < 0 ? 0 : count > (int32_t)op->slots ? (int)op->slots : count;
    p.size = op->size + n * IMAGE_SIZE_FIELDS;
    p.key = op->key + n * SAMPLE_KEY_WORDS;
    p.candidates = (uint64_t *)scratch;
    p.best = (float *)(p.candidates + anchors);
    p.object = (int32_t *)(p.best + anchors);
    p.most = (float *)(p.object + anchors);
    p.label = (signed char *)(p.most + op->slots + 1);
    sample_picture(&p, n);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct targets_op *op = context;
    parallel_units(op->step.cpu->threads, op->pictures, picture_unit, op);
    return 0;
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    const struct anchor_grid grid = detect_grid(&op->attr.detect);
    size_t slots = (size_t)cpu_input(graph, op, RPN_TARGETS_GT_BOX)->shape.dim[1];
    ret_needs->scratch = room((size_t)grid.count, slots) * (size_t)cpu->threads;
    return 0;
}

/* The grid of anchors follows from attributes alone, so it is made here once. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct targets_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct shape *objects = &cpu_input(graph, op, RPN_TARGETS_GT_BOX)->shape;
    bound->attr = op->attr.detect;
    bound->grid = detect_grid(&op->attr.detect);
    bound->plus = detect_plus(&op->attr.detect);
    bound->pictures = (size_t)objects->dim[0];
    bound->slots = (size_t)objects->dim[1];
    bound->objects = addresses->inputs[RPN_TARGETS_GT_BOX];
    bound->count = addresses->inputs[RPN_TARGETS_GT_COUNT];
    bound->size = addresses->inputs[RPN_TARGETS_IMAGE_SIZE];
    bound->key = addresses->inputs[RPN_TARGETS_KEY];
    bound->index = addresses->outputs[RPN_TARGETS_INDEX];
    bound->label = addresses->outputs[RPN_TARGETS_LABEL];
    bound->target = addresses->outputs[RPN_TARGETS_TARGET];
    bound->counts = addresses->outputs[RPN_TARGETS_COUNT];
    bound->scratch = addresses->scratch;
    return 0;
}

const struct cpu_operator cpu_rpn_targets = {NULL, query, bind};
