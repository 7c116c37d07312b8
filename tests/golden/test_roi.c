/* The stages after the proposals against torchvision, one by one, on every backend of this build:
 * values, and how inputs are made, come from maskrcnn_roi.py. Each stage is given torchvision's own
 * inputs. Selections have to be identical; everything else may be off by a share of its norm, or by
 * three times the error of torch's own f32. */
#include "tests/golden/tensors.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/sample_key.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

#include <math.h>

enum { PICTURES = 2 };

static struct buf text; /* of the file */

/* --- RoIAlign --------------------------------------------------------------------------------- */

enum { ALIGN_SLOTS = 10, ALIGN_ROWS = 6, ALIGN_CHANNELS = 3 };

static void make_maps(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct detect_attr *d = &g->row->attr.detect;
    for (int l = 0; l < d->levels; l++) {
        char name[32];
        struct shape shape =
            shape_4(PICTURES, d->canvas_h >> (l + 2), d->canvas_w >> (l + 2), ALIGN_CHANNELS);
        (void)snprintf(name, sizeof(name), "align.p%d", l + 2);
        hashed_input(g, inputs, ROI_ALIGN_MAP + l, shape, name, -1, 1);
    }
    read_input(&text, g, inputs, ROI_ALIGN_ROI, DTYPE_F32, shape_3(PICTURES, ALIGN_SLOTS, 4),
               "align.roi");
}

static void make_align(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    make_maps(g, inputs);
    given(g, inputs, ROI_ALIGN_LABEL, DTYPE_I32, shape_2(PICTURES, ALIGN_SLOTS));
}

static void make_align_rows(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    make_maps(g, inputs);
    read_input(&text, g, inputs, ROI_ALIGN_ROW, DTYPE_I32, shape_1(ALIGN_ROWS), "align.row");
}

/* The second picture's alone. */
static void make_align_second(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    make_maps(g, inputs);
    int32_t *row = given(g, inputs, ROI_ALIGN_ROW, DTYPE_I32, shape_1(ALIGN_SLOTS));
    for (int i = 0; i < ALIGN_SLOTS; i++)
        row[i] = ALIGN_SLOTS + i;
}

static struct op_attr align_attr(int bins) {
    return (struct op_attr){.detect = {.canvas_h = 512,
                                       .canvas_w = 640,
                                       .levels = 4,
                                       .pooled = bins,
                                       .sampling = 2,
                                       .level_epsilon = 1e-6F}};
}

static void check_align(struct backend *backend, int bins,
                        void (*make)(struct op_graph *g, int inputs[OP_INPUTS_MAX])) {
    struct stage stage;
    struct op_attr attr = align_attr(bins);
    char name[32];
    stage_open(&stage, OP_ROI_ALIGN, &attr, 0, make);
    const struct tensor *y = &stage.g.graph.tensors[stage.g.graph.ops[0].outputs[0]];
    (void)snprintf(name, sizeof(name), "align.dy%d", bins);
    fill_hashed(stage_arriving(&stage), (size_t)tensor_count(y), name, -1, 1);
    stage_run(&stage, backend);
    (void)snprintf(name, sizeof(name), "align.y%d", bins);
    check_tensor(&text, name, stage_made(&stage, 0, ROI_ALIGN_Y), FORWARD);
    for (int l = 0; l < 4; l++) {
        (void)snprintf(name, sizeof(name), "align.dp%d.%d", l + 2, bins);
        check_tensor(&text, name, stage_made(&stage, 1, ROI_ALIGN_GRAD_DMAP + l), GRADIENT);
    }
    op_graph_done(&stage.g);
}

/* One map, pixel centres at whole numbers. */
static void check_aligned(struct backend *backend, int sampling) {
    struct stage stage;
    struct op_attr attr = align_attr(5);
    char name[32];
    attr.detect.levels = 1;
    attr.detect.sampling = sampling;
    attr.detect.flags = DETECT_ROI_ALIGNED;
    stage_open(&stage, OP_ROI_ALIGN, &attr, 0, make_align_second);
    fill_hashed(stage_arriving(&stage), ALIGN_SLOTS * 5 * 5 * ALIGN_CHANNELS, "align.dy5", -1, 1);
    stage_run(&stage, backend);
    (void)snprintf(name, sizeof(name), "aligned.y%d", sampling);
    check_tensor(&text, name, stage_made(&stage, 0, ROI_ALIGN_Y), FORWARD);
    (void)snprintf(name, sizeof(name), "aligned.dx%d", sampling);
    check_tensor(&text, name, stage_made(&stage, 1, ROI_ALIGN_GRAD_DMAP), GRADIENT);
    op_graph_done(&stage.g);
}

static void check_alignment(struct backend *backend) {
    check_align(backend, 7, make_align);
    check_align(backend, 14, make_align_rows);
    check_aligned(backend, 0);
    check_aligned(backend, 2);
}

/* --- targets ---------------------------------------------------------------------------------- */

enum { TARGET_PICTURES = 3, TARGET_SAMPLES = 16, TARGET_PROPOSALS = 40, TARGET_OBJECTS = 5 };

static void make_targets(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const int n = TARGET_PICTURES;
    read_input(&text, g, inputs, ROI_TARGETS_BOX, DTYPE_F32, shape_3(n, TARGET_PROPOSALS, 4),
               "targets.box");
    read_input(&text, g, inputs, ROI_TARGETS_COUNT, DTYPE_I32, shape_1(n), "targets.count");
    read_input(&text, g, inputs, ROI_TARGETS_GT_BOX, DTYPE_F32, shape_3(n, TARGET_OBJECTS, 4),
               "targets.gt_box");
    read_input(&text, g, inputs, ROI_TARGETS_GT_LABEL, DTYPE_I32, shape_2(n, TARGET_OBJECTS),
               "targets.gt_label");
    read_input(&text, g, inputs, ROI_TARGETS_GT_COUNT, DTYPE_I32, shape_1(n), "targets.gt_count");
    read_input(&text, g, inputs, ROI_TARGETS_KEY, DTYPE_I32, shape_2(n, SAMPLE_KEY_WORDS),
               "targets.key");
}

static void check_targets(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.detect = {.samples = TARGET_SAMPLES,
                                      .positives = 4,
                                      .foreground_iou = 0.5F,
                                      .background_iou = 0.5F,
                                      .coder = {10, 10, 5, 5}}};
    enum { SLOTS = TARGET_PICTURES * TARGET_SAMPLES };
    stage_open(&stage, OP_ROI_TARGETS, &attr, 0, make_targets);
    stage_run(&stage, backend);
    check_ints(&text, "targets.label", stage_made(&stage, 0, ROI_TARGETS_LABEL), SLOTS);
    check_ints(&text, "targets.match", stage_made(&stage, 0, ROI_TARGETS_MATCH), SLOTS);
    struct values roi = values_read(&text, "targets.roi");
    const float *made = stage_made(&stage, 0, ROI_TARGETS_ROI);
    for (size_t i = 0; i < roi.count; i++)
        CU_ASSERT_EQUAL(made[i], (float)roi.at[i]);
    free(roi.at);
    check_tensor(&text, "targets.target", stage_made(&stage, 0, ROI_TARGETS_TARGET), FORWARD);
    op_graph_done(&stage.g);
}

/* --- box loss --------------------------------------------------------------------------------- */

enum { BOX_SLOTS = 12, BOX_CLASSES = 6 };

static void make_box_loss(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const int rows = PICTURES * BOX_SLOTS;
    hashed_input(g, inputs, BOX_LOSS_LOGITS, shape_2(rows, BOX_CLASSES), "box_loss.logits", -3, 3);
    hashed_input(g, inputs, BOX_LOSS_DELTAS, shape_2(rows, 4 * BOX_CLASSES), "box_loss.deltas", -1,
                 1);
    read_input(&text, g, inputs, BOX_LOSS_LABEL, DTYPE_I32, shape_2(PICTURES, BOX_SLOTS),
               "box_loss.label");
    hashed_input(g, inputs, BOX_LOSS_TARGET, shape_3(PICTURES, BOX_SLOTS, 4), "box_loss.target", -1,
                 1);
}

static void check_box_loss(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.gradient_scale = 1,
                           .detect = {.classes = BOX_CLASSES - 1, .beta = 1 / 9.0F}};
    stage_open(&stage, OP_BOX_LOSS, &attr, 2, make_box_loss);
    stage_run(&stage, backend);
    const float *values = stage_made(&stage, 0, BOX_LOSS_VALUES);
    check_number(&text, "box_loss.classifier", values[BOX_LOSS_CLASSIFIER]);
    check_number(&text, "box_loss.box_reg", values[BOX_LOSS_BOX_REG]);
    check_number(&text, "box_loss.accuracy", values[BOX_LOSS_ACCURACY]);
    CU_ASSERT(values[BOX_LOSS_SAMPLED] == 22 && values[BOX_LOSS_POSITIVES] == 6);
    check_tensor(&text, "box_loss.dlogits", stage_made(&stage, 1, BOX_LOSS_GRAD_DLOGITS), GRADIENT);
    check_tensor(&text, "box_loss.ddeltas", stage_made(&stage, 1, BOX_LOSS_GRAD_DDELTAS), GRADIENT);
    op_graph_done(&stage.g);
}

/* --- masks ------------------------------------------------------------------------------------ */

enum { MASK_SLOTS = 5, MASK_OBJECTS = 3, MASK_ROWS = 10, MASK_REAL = 9, MASK_BINS = 28 };
enum { MASK_CHANNELS = 5, MASK_CLASSES = 6, MASK_PIXELS = MASK_BINS * MASK_BINS };

/* What one stage hands to the next: rows, targets, logits, and their gradient. */
static int32_t mask_row[MASK_ROWS], mask_label[MASK_ROWS], mask_count;
static float mask_target[MASK_ROWS * MASK_PIXELS], mask_logits[MASK_ROWS * MASK_PIXELS];
static float mask_dlogits[MASK_ROWS * MASK_PIXELS];

/* The file's list, of five regions of the first picture and four of the second, by slot; EMPTY
 * where a slot has none. */
static void read_slots(const char *name, int width, double empty, void *to, enum dtype dtype) {
    struct values values = values_read(&text, name);
    for (int slot = 0; slot < PICTURES * MASK_SLOTS; slot++)
        for (int k = 0; k < width; k++)
            value_set(to, dtype, slot * width + k,
                      slot < MASK_REAL ? values.at[slot * width + k] : empty);
    CU_ASSERT_EQUAL(values.count, (size_t)(MASK_REAL * width));
    free(values.at);
}

static void make_mask_rows(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct values labels = values_read(&text, "mask.gt_label");
    int32_t *label = given(g, inputs, MASK_ROWS_LABEL, DTYPE_I32, shape_2(PICTURES, MASK_SLOTS));
    int32_t *match = given(g, inputs, MASK_ROWS_MATCH, DTYPE_I32, shape_2(PICTURES, MASK_SLOTS));
    read_slots("mask.match", 1, -1, match, DTYPE_I32);
    for (int i = 0; i < PICTURES * MASK_SLOTS; i++)
        label[i] = match[i] < 0 ? -1 : (int32_t)labels.at[i / MASK_SLOTS * MASK_OBJECTS + match[i]];
    read_input(&text, g, inputs, MASK_ROWS_AT, DTYPE_I32,
               shape_3(PICTURES, MASK_OBJECTS, MASK_FIELDS), "mask.at");
    free(labels.at);
}

static void make_mask_targets(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct values pool = values_read(&text, "mask.pool");
    struct shape slots = shape_2(PICTURES, MASK_SLOTS);
    read_slots("mask.roi", 4, 0,
               given(g, inputs, MASK_TARGETS_ROI, DTYPE_F32, shape_3(PICTURES, MASK_SLOTS, 4)),
               DTYPE_F32);
    read_slots("mask.match", 1, -1, given(g, inputs, MASK_TARGETS_MATCH, DTYPE_I32, slots),
               DTYPE_I32);
    memcpy(given(g, inputs, MASK_TARGETS_ROW, DTYPE_I32, shape_1(MASK_ROWS)), mask_row,
           sizeof(mask_row));
    read_input(&text, g, inputs, MASK_TARGETS_AT, DTYPE_I32,
               shape_3(PICTURES, MASK_OBJECTS, MASK_FIELDS), "mask.at");
    read_input(&text, g, inputs, MASK_TARGETS_BITS, DTYPE_U8, shape_1((int64_t)pool.count),
               "mask.pool");
    int32_t *size =
        given(g, inputs, MASK_TARGETS_SIZE, DTYPE_I32, shape_2(PICTURES, IMAGE_SIZE_FIELDS));
    struct values sizes = values_read(&text, "mask.size");
    for (int i = 0; i < PICTURES * IMAGE_SIZE_FIELDS; i++)
        size[i] = i % IMAGE_SIZE_FIELDS == IMAGE_SIZE_VALID
                      ? 1
                      : (int32_t)sizes.at[i / IMAGE_SIZE_FIELDS * 5 + i % IMAGE_SIZE_FIELDS];
    free(pool.at);
    free(sizes.at);
}

static void make_class_conv(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    float *x = given(g, inputs, CLASS_CONV_X, DTYPE_F32,
                     shape_4(MASK_ROWS, MASK_BINS, MASK_BINS, MASK_CHANNELS));
    for (int i = 0; i < MASK_ROWS * MASK_PIXELS * MASK_CHANNELS; i++)
        x[i] = NAN; /* after the rows */
    fill_hashed(x, (size_t)MASK_REAL * MASK_PIXELS * MASK_CHANNELS, "mask.x", -1, 1);
    hashed_input(g, inputs, CLASS_CONV_W, shape_2(MASK_CLASSES, MASK_CHANNELS), "mask.w", -2, 2);
    hashed_input(g, inputs, CLASS_CONV_B, shape_1(MASK_CLASSES), "mask.b", -1, 1);
    memcpy(given(g, inputs, CLASS_CONV_LABEL, DTYPE_I32, shape_1(MASK_ROWS)), mask_label,
           sizeof(mask_label));
}

static void make_mask_loss(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct shape shape = shape_3(MASK_ROWS, MASK_BINS, MASK_BINS);
    memcpy(given(g, inputs, MASK_LOSS_LOGITS, DTYPE_F32, shape), mask_logits, sizeof(mask_logits));
    memcpy(given(g, inputs, MASK_LOSS_T, DTYPE_F32, shape), mask_target, sizeof(mask_target));
    int32_t *rows = given(g, inputs, MASK_LOSS_ROWS, DTYPE_I32, shape_1(1));
    *rows = mask_count;
}

static void check_mask_rows(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.detect = {.positives = MASK_SLOTS}};
    stage_open(&stage, OP_MASK_ROWS, &attr, 0, make_mask_rows);
    stage_run(&stage, backend);
    memcpy(mask_row, stage_made(&stage, 0, MASK_ROWS_ROW), sizeof(mask_row));
    memcpy(mask_label, stage_made(&stage, 0, MASK_ROWS_MASK_LABEL), sizeof(mask_label));
    memcpy(&mask_count, stage_made(&stage, 0, MASK_ROWS_COUNT), sizeof(mask_count));
    CU_ASSERT_EQUAL(mask_count, MASK_REAL);
    for (int i = 0; i < MASK_REAL; i++)
        CU_ASSERT_EQUAL(mask_row[i], i);
    CU_ASSERT(mask_row[MASK_REAL] == -1 && mask_label[MASK_REAL] == 0);
    op_graph_done(&stage.g);
}

/* Logits first, then the loss, with its gradient in the class's channel. */
static void check_mask_head(struct backend *backend) {
    struct stage conv, loss;
    struct op_attr attr = {.gradient_scale = 1};
    stage_open(&conv, OP_CLASS_CONV, &attr, 0, make_class_conv);
    stage_run(&conv, backend);
    memcpy(mask_logits, stage_made(&conv, 0, CLASS_CONV_Y), sizeof(mask_logits));
    check_tensor(&text, "mask.logits", mask_logits, FORWARD);
    stage_open(&loss, OP_MASK_LOSS, &attr, 1, make_mask_loss);
    stage_run(&loss, backend);
    check_number(&text, "mask.loss", *(const float *)stage_made(&loss, 0, MASK_LOSS_VALUE));
    memcpy(mask_dlogits, stage_made(&loss, 1, MASK_LOSS_GRAD_DLOGITS), sizeof(mask_dlogits));
    check_tensor(&text, "mask.dlogits", mask_dlogits, GRADIENT);
    memcpy(stage_arriving(&conv), mask_dlogits, sizeof(mask_dlogits));
    stage_run(&conv, backend);
    check_tensor(&text, "mask.dw", stage_made(&conv, 1, CLASS_CONV_GRAD_WEIGHT_DW), GRADIENT);
    check_tensor(&text, "mask.db", stage_made(&conv, 1, CLASS_CONV_GRAD_WEIGHT_DB), GRADIENT);
    check_tensor(&text, "mask.dx", stage_made(&conv, 2, 0), GRADIENT);
    op_graph_done(&conv.g);
    op_graph_done(&loss.g);
}

static void check_masks(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.detect = {.canvas_h = 128, .canvas_w = 160, .pooled = MASK_BINS}};
    check_mask_rows(backend);
    stage_open(&stage, OP_MASK_TARGETS, &attr, 0, make_mask_targets);
    stage_run(&stage, backend);
    memcpy(mask_target, stage_made(&stage, 0, MASK_TARGETS_T), sizeof(mask_target));
    check_tensor(&text, "mask.target", mask_target, FORWARD);
    op_graph_done(&stage.g);
    check_mask_head(backend);
}

/* --- detections ------------------------------------------------------------------------------- */

enum { DETECT_CLASSES = 5, DETECT_SLOTS = 30, DETECTIONS = 10 };

static void make_detections(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const int rows = PICTURES * DETECT_SLOTS;
    hashed_input(g, inputs, DETECTIONS_LOGITS, shape_2(rows, DETECT_CLASSES), "detect.logits", -3,
                 3);
    hashed_input(g, inputs, DETECTIONS_DELTAS, shape_2(rows, 4 * DETECT_CLASSES), "detect.deltas",
                 -2, 2);
    float *box = given(g, inputs, DETECTIONS_BOX, DTYPE_F32, shape_3(PICTURES, DETECT_SLOTS, 4));
    for (int n = 0; n < PICTURES; n++) {
        struct values boxes =
            values_read(&text, n == 0 ? "detect.proposals0" : "detect.proposals1");
        for (size_t i = 0; i < boxes.count; i++)
            box[(size_t)n * boxes.count + i] = (float)boxes.at[i];
        free(boxes.at);
    }
    read_input(&text, g, inputs, DETECTIONS_COUNT, DTYPE_I32, shape_1(PICTURES), "detect.count");
    struct values sizes = values_read(&text, "detect.size");
    int32_t *size =
        given(g, inputs, DETECTIONS_SIZE, DTYPE_I32, shape_2(PICTURES, IMAGE_SIZE_FIELDS));
    for (int n = 0; n < PICTURES; n++) {
        size[n * IMAGE_SIZE_FIELDS + IMAGE_SIZE_H] = (int32_t)sizes.at[2 * n];
        size[n * IMAGE_SIZE_FIELDS + IMAGE_SIZE_W] = (int32_t)sizes.at[2 * n + 1];
        size[n * IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID] = 1;
    }
    free(sizes.at);
}

static void check_detections(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.detect = {.classes = DETECT_CLASSES - 1,
                                      .detections = DETECTIONS,
                                      .nms_threshold = 0.5F,
                                      .score_threshold = 0.05F,
                                      .min_side = 1e-2F,
                                      .coder = {10, 10, 5, 5}}};
    stage_open(&stage, OP_DETECTIONS, &attr, 0, make_detections);
    stage_run(&stage, backend);
    const int32_t *label = stage_made(&stage, 0, DETECTIONS_FOUND_LABEL);
    const float *box = stage_made(&stage, 0, DETECTIONS_FOUND_BOX);
    const float *score = stage_made(&stage, 0, DETECTIONS_FOUND_SCORE);
    check_ints(&text, "detect.label0", label, DETECTIONS);
    check_ints(&text, "detect.label1", label + DETECTIONS, DETECTIONS);
    check_tensor(&text, "detect.box0", box, FORWARD);
    check_tensor(&text, "detect.box1", box + 4 * DETECTIONS, FORWARD);
    check_tensor(&text, "detect.score0", score, FORWARD);
    check_tensor(&text, "detect.score1", score + DETECTIONS, FORWARD);
    op_graph_done(&stage.g);
}

/* --- pictures --------------------------------------------------------------------------------- */

enum { PICTURES_RESIZED = 3, PICTURE_BYTES = 64 * 40 * 3 };

static void make_pictures(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct values sizes = values_read(&text, "picture.size");
    uint8_t *image =
        given(g, inputs, IMAGE_RESIZE_IMAGE, DTYPE_U8, shape_2(PICTURES_RESIZED, PICTURE_BYTES));
    int32_t *size = given(g, inputs, IMAGE_RESIZE_SIZE, DTYPE_I32,
                          shape_2(PICTURES_RESIZED, IMAGE_SIZE_FIELDS));
    for (int n = 0; n < PICTURES_RESIZED; n++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "picture%d", n);
        for (int k = 0; k < IMAGE_SIZE_FIELDS; k++)
            size[n * IMAGE_SIZE_FIELDS + k] =
                k == IMAGE_SIZE_VALID ? 1 : (int32_t)sizes.at[5 * n + k];
        size_t bytes = (size_t)(sizes.at[5 * n] * sizes.at[5 * n + 1] * 3);
        CU_ASSERT_FATAL(bytes <= PICTURE_BYTES);
        for (size_t i = 0; i < bytes; i++)
            image[(size_t)n * PICTURE_BYTES + i] =
                (uint8_t)hashed_uniform(hashed_name(name), 1, i, 0, 256);
    }
    free(sizes.at);
}

static void check_pictures(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.channels = 3,
                           .mean = {0.485F, 0.456F, 0.406F},
                           .std = {0.229F, 0.224F, 0.225F},
                           .detect = {.canvas_h = 64, .canvas_w = 96}};
    stage_open(&stage, OP_IMAGE_RESIZE, &attr, 0, make_pictures);
    stage_run(&stage, backend);
    check_tensor(&text, "picture.y", stage_made(&stage, 0, IMAGE_RESIZE_Y), FORWARD);
    op_graph_done(&stage.g);
}

/* --- backends --------------------------------------------------------------------------------- */

static void on_all_backends(void (*check)(struct backend *backend)) {
    struct backend *backend = NULL;
    text = values_open("maskrcnn/roi.txt");
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    check(backend);
    backend_close(backend);
#ifdef RINGMASTER_HAVE_CPU
    for (int threads = 1; threads <= 3; threads += 2) {
        struct cpu_options options = {.threads = threads};
        CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
        check(backend);
        backend_close(backend);
    }
#endif
    buf_done(&text);
}

static void regions_are_read_as_torchvision_reads_them(void) {
    on_all_backends(check_alignment);
}

static void the_same_regions_are_sampled(void) {
    on_all_backends(check_targets);
}

static void the_box_heads_losses_are_torchvisions(void) {
    on_all_backends(check_box_loss);
}

static void masks_and_their_loss_are_torchvisions(void) {
    on_all_backends(check_masks);
}

static void the_same_is_detected(void) {
    on_all_backends(check_detections);
}

static void pictures_are_resized_as_torchvision_does_it(void) {
    on_all_backends(check_pictures);
}

UNIT_SUITE("golden.roi", UNIT(regions_are_read_as_torchvision_reads_them),
           UNIT(the_same_regions_are_sampled), UNIT(the_box_heads_losses_are_torchvisions),
           UNIT(masks_and_their_loss_are_torchvisions), UNIT(the_same_is_detected),
           UNIT(pictures_are_resized_as_torchvision_does_it))
