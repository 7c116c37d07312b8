/* The operators around a region proposal network against torchvision, stage by stage, on every
 * backend of this build: values, and how inputs are made, come from maskrcnn_rpn.py. Selections
 * have to be the same; boxes may differ in the last bit, as exp does. */
#include "tests/golden/hashed.h"
#include "tests/golden/stage.h"
#include "tests/golden/values.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/image_size.h"
#include "trainer/math/sample_key.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

#include <math.h>

enum { PICTURES = 2, TRUTH_SLOTS = 8 };

static struct buf text; /* the file's contents */
static const struct detect_attr attr = {
    .canvas_h = 128,
    .canvas_w = 160,
    .levels = 5,
    .stride_h = {4, 8, 16, 32, 64},
    .stride_w = {4, 8, 16, 32, 53},
    .half_w = {{6, 4, 3}, {11, 8, 6}, {23, 16, 11}, {45, 32, 23}, {91, 64, 45}},
    .half_h = {{3, 4, 6}, {6, 8, 11}, {11, 16, 23}, {23, 32, 45}, {45, 64, 91}},
    .pre_nms = 300,
    .post_nms = 100,
    .samples = 64,
    .positives = 4,
    .nms_threshold = 0.7F,
    .foreground_iou = 0.7F,
    .background_iou = 0.3F,
    .min_side = 1e-3F,
    .coder = {1, 1, 1, 1},
    .beta = 1 / 9.0F,
};

/* The values of the previous stage, which the row's `make` uses. */
static const void *given[OP_INPUTS_MAX];

static struct values of_picture(const char *name, int picture) {
    char whole[64];
    (void)snprintf(whole, sizeof(whole), "%s%d", name, picture);
    return values_read(&text, whole);
}

static bool close_to(double value, double expected, double bound) {
    return fabs(value - expected) <= bound;
}

/* --- inputs ----------------------------------------------------------------------------------- */

static uint64_t seed(void) {
    struct values values = values_read(&text, "seed");
    uint64_t number = (uint64_t)values.at[0];
    free(values.at);
    return number;
}

static uint64_t hash_in(const char *name, int picture) {
    char whole[64];
    (void)snprintf(whole, sizeof(whole), "%s%d", name, picture);
    return hashed_name(whole);
}

struct placed {
    float value;
    int place;
};

static int by_value(const void *a, const void *b) {
    const struct placed *left = a, *right = b;
    int order = (left->value > right->value) - (left->value < right->value);
    return order != 0 ? order : left->place - right->place;
}

/* The logits of a picture's anchors: evenly spaced, in the order of hashed numbers. */
static void picture_logits(int picture, int count, float *logits) {
    struct placed *order = calloc((size_t)count, sizeof(*order));
    CU_ASSERT_PTR_NOT_NULL_FATAL(order);
    for (int i = 0; i < count; i++) {
        order[i].value = hashed_uniform(hash_in("logits", picture), seed(), (size_t)i, 0, 1);
        order[i].place = i;
    }
    qsort(order, (size_t)count, sizeof(*order), by_value);
    for (int i = 0; i < count; i++)
        logits[order[i].place] = (float)(i - count / 2) / 512;
    free(order);
}

static void picture_deltas(int picture, int count, float *deltas) {
    uint64_t number = seed();
    for (int i = 0; i < count * 4; i++)
        deltas[i] = i % (97 * 4) == 2
                        ? 5
                        : hashed_uniform(hash_in("deltas", picture), number, (size_t)i, -0.2, 0.2);
}

/* Makes one tensor per level with all pictures and COLUMNS numbers per pixel. */
static void make_levels(struct op_graph *g, int *inputs, int columns) {
    const struct anchor_grid grid = detect_grid(&attr);
    int width = columns / ANCHOR_SHAPES;
    float *all = calloc((size_t)grid.count * (size_t)width, sizeof(*all));
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    for (int n = 0; n < PICTURES; n++) {
        (width == 1 ? picture_logits : picture_deltas)(n, grid.count, all);
        for (int i = 0; i < grid.levels; i++) {
            int count = anchor_level_count(&grid.level[i]) * width;
            if (n == 0) {
                struct shape shape = shape_2(PICTURES * count / columns, columns);
                inputs[i] = op_graph_input(g, DTYPE_F32, shape, FILL_GIVEN);
                (void)op_graph_values(g, inputs[i]);
            }
            memcpy((float *)g->value[inputs[i]] + n * count, all + grid.level[i].first * width,
                   (size_t)count * sizeof(float));
        }
    }
    free(all);
}

static int make_sizes(struct op_graph *g) {
    static const int32_t sizes[PICTURES][IMAGE_SIZE_FIELDS] = {{1, 1, 120, 150, 0, 1},
                                                               {1, 1, 96, 160, 0, 1}};
    int tensor = op_graph_input(g, DTYPE_I32, shape_2(PICTURES, IMAGE_SIZE_FIELDS), FILL_GIVEN);
    memcpy(op_graph_values(g, tensor), sizes, sizeof(sizes));
    return tensor;
}

/* Makes an input from the output of an earlier stage. */
static int make_given(struct op_graph *g, enum dtype dtype, struct shape shape, int slot) {
    int tensor = op_graph_input(g, dtype, shape, FILL_GIVEN);
    memcpy(op_graph_values(g, tensor), given[slot], tensor_bytes(&g->graph.tensors[tensor]));
    return tensor;
}

static struct shape candidates(void) {
    const struct detect_candidates places = detect_candidates(&attr);
    return shape_2(PICTURES, places.first[places.levels]);
}

static struct shape candidate_boxes(void) {
    return shape_3(PICTURES, candidates().dim[1], 4);
}

static void make_top_k(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    make_levels(g, inputs + RPN_TOP_K_LOGITS, ANCHOR_SHAPES);
}

static void make_boxes(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    make_levels(g, inputs + RPN_BOXES_DELTAS, 4 * ANCHOR_SHAPES);
    inputs[RPN_BOXES_SCORE] = make_given(g, DTYPE_F32, candidates(), RPN_BOXES_SCORE);
    inputs[RPN_BOXES_INDEX] = make_given(g, DTYPE_I32, candidates(), RPN_BOXES_INDEX);
    inputs[RPN_BOXES_IMAGE_SIZE] = make_sizes(g);
}

static void make_nms(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    inputs[NMS_BOX] = make_given(g, DTYPE_F32, candidate_boxes(), NMS_BOX);
    inputs[NMS_SCORE] = make_given(g, DTYPE_F32, candidates(), NMS_SCORE);
}

static void make_proposals(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    make_nms(g, inputs);
    inputs[PROPOSALS_KEEP] = make_given(g, DTYPE_I32, candidates(), PROPOSALS_KEEP);
}

static void make_targets(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct values truth = values_read(&text, "truth0");
    inputs[RPN_TARGETS_GT_BOX] =
        op_graph_input(g, DTYPE_F32, shape_3(PICTURES, TRUTH_SLOTS, 4), FILL_GIVEN);
    inputs[RPN_TARGETS_GT_COUNT] = op_graph_input(g, DTYPE_I32, shape_1(PICTURES), FILL_GIVEN);
    inputs[RPN_TARGETS_IMAGE_SIZE] = make_sizes(g);
    inputs[RPN_TARGETS_KEY] =
        op_graph_input(g, DTYPE_I32, shape_2(PICTURES, SAMPLE_KEY_WORDS), FILL_GIVEN);
    float *box = op_graph_values(g, inputs[RPN_TARGETS_GT_BOX]);
    for (size_t i = 0; i < truth.count; i++)
        box[i] = (float)truth.at[i];
    int32_t *count = op_graph_values(g, inputs[RPN_TARGETS_GT_COUNT]);
    count[0] = (int32_t)truth.count / 4;
    int32_t *key = op_graph_values(g, inputs[RPN_TARGETS_KEY]);
    for (int n = 0; n < PICTURES; n++)
        memcpy(key + n * SAMPLE_KEY_WORDS, (int32_t[]){7, 1, 3, 1000 + n},
               SAMPLE_KEY_WORDS * sizeof(*key));
    free(truth.at);
}

static void make_loss(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    make_levels(g, inputs + RPN_LOSS_LOGITS, ANCHOR_SHAPES);
    make_levels(g, inputs + RPN_LOSS_DELTAS, 4 * ANCHOR_SHAPES);
    struct shape list = shape_2(PICTURES, attr.samples);
    struct shape codes = shape_3(PICTURES, attr.samples, 4);
    inputs[RPN_LOSS_INDEX] = make_given(g, DTYPE_I32, list, RPN_LOSS_INDEX);
    inputs[RPN_LOSS_LABEL] = make_given(g, DTYPE_I32, list, RPN_LOSS_LABEL);
    inputs[RPN_LOSS_TARGET] = make_given(g, DTYPE_F32, codes, RPN_LOSS_TARGET);
}

/* --- stages ----------------------------------------------------------------------------------- */

/* Runs KIND, and its gradients, on BACKEND; release it with op_graph_done. */
static void run_stage(struct stage *stage, struct backend *backend, enum op_kind kind,
                      const struct detect_attr *detect,
                      void (*make)(struct op_graph *g, int inputs[OP_INPUTS_MAX])) {
    struct op_attr whole = {.detect = *detect, .gradient_scale = 1};
    stage_open(stage, kind, &whole, 2, make);
    stage_run(stage, backend);
}

static void check_top_k(const struct stage *stage) {
    const int32_t *index = stage_made(stage, 0, RPN_TOP_K_INDEX);
    for (int n = 0; n < PICTURES; n++) {
        struct values top = of_picture("top", n);
        CU_ASSERT_EQUAL_FATAL(top.count, (size_t)candidates().dim[1]);
        for (size_t i = 0; i < top.count; i++)
            CU_ASSERT_EQUAL(index[(size_t)n * top.count + i], (int32_t)top.at[i]);
        free(top.at);
    }
}

static void check_keep(const struct stage *stage) {
    const int32_t *keep = stage_made(stage, 0, NMS_KEEP);
    for (int n = 0; n < PICTURES; n++) {
        struct values kept = of_picture("kept", n);
        size_t found = 0, all = (size_t)candidates().dim[1];
        for (size_t i = 0; i < all; i++)
            if (keep[(size_t)n * all + i]) {
                CU_ASSERT(found < kept.count && kept.at[found] == (double)i);
                found++;
            }
        CU_ASSERT_EQUAL(found, kept.count);
        CU_ASSERT(found < all);
        free(kept.at);
    }
}

static void check_proposals(const struct stage *stage) {
    const float *box = stage_made(stage, 0, PROPOSALS_BOX),
                *score = stage_made(stage, 0, PROPOSALS_SCORE);
    const int32_t *count = stage_made(stage, 0, PROPOSALS_COUNT);
    for (int n = 0; n < PICTURES; n++) {
        struct values boxes = of_picture("proposals", n), scores = of_picture("scores", n);
        size_t first = (size_t)(n * attr.post_nms);
        CU_ASSERT_EQUAL_FATAL((size_t)count[n], scores.count);
        for (size_t i = 0; i < scores.count; i++)
            CU_ASSERT(close_to((double)score[first + i], scores.at[i], 1e-7));
        for (size_t i = 0; i < boxes.count; i++) /* the last bits of 160 */
            CU_ASSERT(close_to((double)box[first * 4 + i], boxes.at[i], 4e-5));
        free(boxes.at);
        free(scores.at);
    }
}

static void check_sampled(const struct stage *stage) {
    const int32_t *index = stage_made(stage, 0, RPN_TARGETS_INDEX);
    const int32_t *label = stage_made(stage, 0, RPN_TARGETS_LABEL);
    const int32_t *counts = stage_made(stage, 0, RPN_TARGETS_COUNT);
    const float *target = stage_made(stage, 0, RPN_TARGETS_TARGET);
    for (int n = 0; n < PICTURES; n++) {
        struct values sampled = of_picture("sampled", n), targets = of_picture("target", n);
        struct values positive = of_picture("sampled_positive", n);
        size_t first = (size_t)(n * attr.samples);
        CU_ASSERT_EQUAL(counts[n * 2], (int32_t)positive.at[0]);
        CU_ASSERT_EQUAL_FATAL((size_t)(counts[n * 2] + counts[n * 2 + 1]), sampled.count);
        for (size_t i = 0; i < sampled.count; i++) {
            CU_ASSERT_EQUAL(index[first + i], (int32_t)sampled.at[i]);
            CU_ASSERT_EQUAL(label[first + i], (double)i < positive.at[0]);
        }
        for (size_t i = 0; i < targets.count; i++)
            CU_ASSERT(close_to((double)target[first * 4 + i], targets.at[i], 1e-7));
        free(sampled.at);
        free(targets.at);
        free(positive.at);
    }
}

/* Checks that each anchor has the label and the object of torchvision's matcher, with room for all
 * anchors. */
static void check_matches(const struct stage *stage) {
    const struct anchor_grid grid = detect_grid(&attr);
    struct values positive = values_read(&text, "positive"),
                  matched = values_read(&text, "matched");
    struct values ignored = values_read(&text, "ignored"), truth = values_read(&text, "truth0");
    const int32_t *index = stage_made(stage, 0, RPN_TARGETS_INDEX);
    const int32_t *counts = stage_made(stage, 0, RPN_TARGETS_COUNT);
    const float *target = stage_made(stage, 0, RPN_TARGETS_TARGET);
    CU_ASSERT_EQUAL_FATAL((size_t)counts[0], positive.count);
    CU_ASSERT_EQUAL_FATAL((size_t)counts[1], (size_t)grid.count - positive.count - ignored.count);
    for (size_t i = 0; i < positive.count; i++) {
        float box[4], object[4], code[4];
        CU_ASSERT_EQUAL(index[i], (int32_t)positive.at[i]);
        for (int k = 0; k < 4; k++)
            object[k] = (float)truth.at[(size_t)matched.at[i] * 4 + (size_t)k];
        anchor_box(&grid, index[i], box);
        box_encode(box, object, attr.coder, 0, code);
        CU_ASSERT_EQUAL(memcmp(code, target + i * 4, sizeof(code)), 0);
    }
    for (size_t i = 0; i < ignored.count; i++)
        for (size_t k = 0; k < (size_t)(counts[0] + counts[1]); k++)
            CU_ASSERT_NOT_EQUAL(index[k], (int32_t)ignored.at[i]);
    free(positive.at);
    free(matched.at);
    free(ignored.at);
    free(truth.at);
}

/* Checks the gradients of every picture's sampled anchors; all other anchors have none. */
static void check_gradients(const struct stage *stage, const int32_t *index) {
    const struct anchor_grid grid = detect_grid(&attr);
    double found = 0, expected = 0;
    for (int n = 0; n < PICTURES; n++) {
        struct values dlogits = of_picture("dlogits", n), ddeltas = of_picture("ddeltas", n);
        for (size_t i = 0; i < dlogits.count; i++) {
            int anchor = index[(size_t)(n * attr.samples) + i];
            int level = anchor_level_of(&grid, anchor);
            int op = 0; /* the gradient operator of this level */
            while (stage->g.graph.ops[++op].attr.detect.level != level)
                ;
            size_t row = (size_t)(n * anchor_level_count(&grid.level[level]) + anchor -
                                  grid.level[level].first);
            const float *own = stage_made(stage, op, RPN_LOSS_GRAD_DLOGITS);
            CU_ASSERT(close_to((double)own[row], dlogits.at[i], 1e-7 * 0.01));
            expected += fabs(dlogits.at[i]);
            own = stage_made(stage, op, RPN_LOSS_GRAD_DDELTAS);
            for (size_t k = 0; k < 4 && i * 4 < ddeltas.count; k++) {
                CU_ASSERT(close_to((double)own[row * 4 + k], ddeltas.at[i * 4 + k], 1e-6 * 0.01));
                expected += fabs(ddeltas.at[i * 4 + k]);
            }
        }
        free(dlogits.at);
        free(ddeltas.at);
    }
    for (int op = 1; op < stage->g.graph.op_count; op++)
        for (int slot = 0; slot < RPN_LOSS_GRAD_OUTPUTS; slot++) {
            int tensor = stage->g.graph.ops[op].outputs[slot];
            for (int64_t i = 0; i < tensor_count(&stage->g.graph.tensors[tensor]); i++)
                found += fabs((double)((const float *)stage->g.value[tensor])[i]);
        }
    CU_ASSERT(close_to(found, expected, 1e-5 * expected));
}

/* --- tests ------------------------------------------------------------------------------------ */

static void check_selection(struct backend *backend) {
    struct stage top, boxes, nms, proposals;
    run_stage(&top, backend, OP_RPN_TOP_K, &attr, make_top_k);
    check_top_k(&top);
    given[RPN_BOXES_SCORE] = stage_made(&top, 0, RPN_TOP_K_SCORE);
    given[RPN_BOXES_INDEX] = stage_made(&top, 0, RPN_TOP_K_INDEX);
    run_stage(&boxes, backend, OP_RPN_BOXES, &attr, make_boxes);
    given[NMS_BOX] = stage_made(&boxes, 0, RPN_BOXES_BOX);
    given[NMS_SCORE] = stage_made(&boxes, 0, RPN_BOXES_RANKED_BY);
    run_stage(&nms, backend, OP_NMS, &attr, make_nms);
    check_keep(&nms);
    given[PROPOSALS_KEEP] = stage_made(&nms, 0, NMS_KEEP);
    run_stage(&proposals, backend, OP_PROPOSALS, &attr, make_proposals);
    check_proposals(&proposals);
    op_graph_done(&top.g);
    op_graph_done(&boxes.g);
    op_graph_done(&nms.g);
    op_graph_done(&proposals.g);
}

static void check_teaching(struct backend *backend) {
    struct stage targets, all, loss;
    struct values losses = values_read(&text, "losses");
    struct detect_attr everything = attr;
    everything.samples = everything.positives = detect_grid(&attr).count;
    run_stage(&targets, backend, OP_RPN_TARGETS, &attr, make_targets);
    check_sampled(&targets);
    run_stage(&all, backend, OP_RPN_TARGETS, &everything, make_targets);
    check_matches(&all);
    given[RPN_LOSS_INDEX] = stage_made(&targets, 0, RPN_TARGETS_INDEX);
    given[RPN_LOSS_LABEL] = stage_made(&targets, 0, RPN_TARGETS_LABEL);
    given[RPN_LOSS_TARGET] = stage_made(&targets, 0, RPN_TARGETS_TARGET);
    run_stage(&loss, backend, OP_RPN_LOSS, &attr, make_loss);
    const float *values = stage_made(&loss, 0, RPN_LOSS_VALUES);
    CU_ASSERT(close_to((double)values[RPN_LOSS_OBJECTNESS], losses.at[0], 1e-6 * losses.at[0]));
    CU_ASSERT(close_to((double)values[RPN_LOSS_BOX], losses.at[1], 1e-6 * losses.at[1]));
    check_gradients(&loss, given[RPN_LOSS_INDEX]);
    free(losses.at);
    op_graph_done(&targets.g);
    op_graph_done(&all.g);
    op_graph_done(&loss.g);
}

static void anchors_are_torchvisions(void) {
    const struct anchor_grid grid = detect_grid(&attr);
    struct values cells = values_read(&text, "cells"), anchors = values_read(&text, "anchors");
    CU_ASSERT_EQUAL_FATAL(cells.count, 60);
    CU_ASSERT_EQUAL_FATAL(anchors.count, 100);
    for (int i = 0; i < 60; i++)
        CU_ASSERT_EQUAL(grid.level[i / 12].cell[i % 12 / 4][i % 4], (float)cells.at[i]);
    for (int i = 0; i < 25; i++) { /* the first four and the last of each level */
        const struct anchor_level *level = &grid.level[i / 5];
        float box[4];
        anchor_box_at(level, i % 5 < 4 ? i % 5 : anchor_level_count(level) - 1, box);
        for (int k = 0; k < 4; k++)
            CU_ASSERT_EQUAL(box[k], (float)anchors.at[i * 4 + k]);
    }
    free(cells.at);
    free(anchors.at);
}

static void narrow(const struct values *values, float (*box)[4]) {
    for (size_t i = 0; i < values->count; i++)
        box[i / 4][i % 4] = (float)values->at[i];
}

static void overlaps_and_codes_are_torchvisions(void) {
    struct values boxes = values_read(&text, "iou_boxes"), iou = values_read(&text, "iou");
    float box[12][4], code[4], back[4];
    CU_ASSERT_EQUAL_FATAL(boxes.count, 48);
    narrow(&boxes, box);
    for (size_t i = 0; i < iou.count; i++) /* equal to the bit */
        CU_ASSERT_EQUAL(box_iou(box[i / 12], box[i % 12], 0), (float)iou.at[i]);
    for (int tens = 0; tens < 2; tens++) {
        const float weights[] = {tens ? 10 : 1, tens ? 10 : 1, tens ? 5 : 1, tens ? 5 : 1};
        struct values encoded = values_read(&text, tens ? "encode_tens" : "encode_ones");
        struct values decoded = values_read(&text, tens ? "decode_tens" : "decode_ones");
        for (size_t i = 0; i < 5; i++) {
            box_encode(box[7 + i], box[i], weights, 0, code);
            for (size_t k = 0; k < 4; k++)
                CU_ASSERT(close_to((double)code[k], encoded.at[i * 4 + k], 1e-6));
            box_decode(box[7 + i], code, weights, 0, back);
            for (size_t k = 0; k < 4; k++)
                CU_ASSERT(close_to((double)back[k], decoded.at[i * 4 + k], 4e-5));
        }
        free(encoded.at);
        free(decoded.at);
    }
    free(boxes.at);
    free(iou.at);
}

static struct backend *open_ref(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    return backend;
}

static void the_reference_chooses_what_torchvision_does(void) {
    struct backend *ref = open_ref();
    check_selection(ref);
    backend_close(ref);
}

static void the_reference_teaches_what_torchvision_does(void) {
    struct backend *ref = open_ref();
    check_teaching(ref);
    backend_close(ref);
}

#ifdef RINGMASTER_HAVE_CPU
static void so_does_the_cpu_on_any_number_of_threads(void) {
    for (int threads = 1; threads <= 3; threads++) {
        struct backend *cpu = NULL;
        struct error err = {0};
        struct cpu_options options = {.threads = threads};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, &err), 0);
        check_selection(cpu);
        check_teaching(cpu);
        backend_close(cpu);
    }
}
#define CPU_CASES UNIT(so_does_the_cpu_on_any_number_of_threads),
#else
#define CPU_CASES
#endif

static void the_file_is_read(void) {
    text = values_open("maskrcnn/rpn.txt");
    CU_ASSERT(text.size > 0);
}

static void and_given_back(void) {
    buf_done(&text);
    CU_ASSERT_PTR_NULL(text.data);
}

UNIT_SUITE("golden.rpn", UNIT(the_file_is_read), UNIT(anchors_are_torchvisions),
           UNIT(overlaps_and_codes_are_torchvisions),
           UNIT(the_reference_chooses_what_torchvision_does),
           UNIT(the_reference_teaches_what_torchvision_does), CPU_CASES UNIT(and_given_back))
