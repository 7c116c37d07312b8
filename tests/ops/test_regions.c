/* The operators after the proposals on inputs with results that can be worked out by hand, and what
 * each switch of a known training recipe changes, on every backend of this build. The source of
 * each rule is given beside it. */
#include "tests/golden/stage.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/sample_key.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

#include <math.h>
#include <string.h>

static void *given(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot, enum dtype dtype,
                   struct shape shape, const void *values) {
    inputs[slot] = op_graph_input(g, dtype, shape, FILL_GIVEN);
    void *to = op_graph_values(g, inputs[slot]);
    if (values != NULL)
        memcpy(to, values, tensor_bytes(&g->graph.tensors[inputs[slot]]));
    return to;
}

static void on_all_backends(void (*check)(struct backend *backend)) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    check(backend);
    backend_close(backend);
#ifdef RINGMASTER_HAVE_CPU
    struct cpu_options options = {.threads = 2};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
    check(backend);
    backend_close(backend);
#endif
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Two pixels side by side, one above the other two; four as large, mirrored. */
static void make_picture(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const uint8_t image[] = {10, 20, 30, 50, 60, 70, 10, 20, 30, 50, 60, 70};
    static const int32_t size[IMAGE_SIZE_FIELDS] = {2, 2, 2, 4, 1, 1};
    given(g, inputs, IMAGE_RESIZE_IMAGE, DTYPE_U8, shape_2(1, sizeof(image)), image);
    given(g, inputs, IMAGE_RESIZE_SIZE, DTYPE_I32, shape_2(1, IMAGE_SIZE_FIELDS), size);
}

/* Sample points of a row of four lie at -1/4 (so 0), 1/4, 3/4 and 5/4 (so 1) of two. */
static void check_picture(struct backend *backend) {
    static const double share[] = {1, 0.75, 0.25, 0}; /* of the right pixel: the first, mirrored */
    struct stage plain, bgr;
    struct op_attr attr = {.channels = 3,
                           .mean = {0.5F, 0.25F, 0},
                           .std = {0.5F, 1, 2},
                           .detect = {.canvas_h = 3, .canvas_w = 5}};
    stage_open(&plain, OP_IMAGE_RESIZE, &attr, 0, make_picture);
    stage_run(&plain, backend);
    const float *y = stage_made(&plain, 0, IMAGE_RESIZE_Y);
    for (int j = 0; j < 4; j++) {
        double red = (10 + 40 * share[j]) / 255, green = (20 + 40 * share[j]) / 255;
        CU_ASSERT_DOUBLE_EQUAL((double)y[3 * j], (red - 0.5) / 0.5, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL((double)y[3 * j + 1], green - 0.25, 1e-6);
    }
    for (int c = 0; c < 3; c++) /* beside the picture, and below */
        CU_ASSERT(y[3 * 4 + c] == 0 && y[3 * 10 + c] == 0);
    op_graph_done(&plain.g);
    /* maskrcnn-benchmark's defaults.py: TO_BGR255, PIXEL_MEAN, PIXEL_STD. */
    attr.detect.flags = DETECT_PIXELS_BGR;
    attr.mean[0] = 100;
    attr.mean[1] = 30;
    attr.std[0] = attr.std[1] = attr.std[2] = 1;
    stage_open(&bgr, OP_IMAGE_RESIZE, &attr, 0, make_picture);
    stage_run(&bgr, backend);
    y = stage_made(&bgr, 0, IMAGE_RESIZE_Y);
    CU_ASSERT(y[0] == 70 - 100 && y[1] == 60 - 30 && y[2] == 50);
    op_graph_done(&bgr.g);
}

static void pictures_are_mirrored_enlarged_and_normalised(void) {
    on_all_backends(check_picture);
}

/* --- targets ---------------------------------------------------------------------------------- */

/* Of an object of 9 x 9, the upper 9 x 4: 36 of 81. With the last pixel inside 50 of 100. */
static void make_targets(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float box[] = {0, 0, 9, 4}, object[] = {0, 0, 9, 9};
    static const int32_t one[] = {1}, label[] = {7}, key[SAMPLE_KEY_WORDS] = {0};
    given(g, inputs, ROI_TARGETS_BOX, DTYPE_F32, shape_3(1, 1, 4), box);
    given(g, inputs, ROI_TARGETS_COUNT, DTYPE_I32, shape_1(1), one);
    given(g, inputs, ROI_TARGETS_GT_BOX, DTYPE_F32, shape_3(1, 1, 4), object);
    given(g, inputs, ROI_TARGETS_GT_LABEL, DTYPE_I32, shape_2(1, 1), label);
    given(g, inputs, ROI_TARGETS_GT_COUNT, DTYPE_I32, shape_1(1), one);
    given(g, inputs, ROI_TARGETS_KEY, DTYPE_I32, shape_2(1, SAMPLE_KEY_WORDS), key);
}

static void check_targets(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.detect = {.samples = 3,
                                      .positives = 3,
                                      .foreground_iou = 0.5F,
                                      .background_iou = 0.5F,
                                      .coder = {10, 10, 5, 5}}};
    stage_open(&stage, OP_ROI_TARGETS, &attr, 0, make_targets);
    stage_run(&stage, backend);
    const int32_t *label = stage_made(&stage, 0, ROI_TARGETS_LABEL);
    const float *roi = stage_made(&stage, 0, ROI_TARGETS_ROI);
    CU_ASSERT(label[0] == 7 && label[1] == 0 && label[2] == -1);
    CU_ASSERT(roi[3] == 9 && roi[4 + 3] == 4 && roi[8 + 3] == 0); /* the object comes first */
    op_graph_done(&stage.g);
    /* maskrcnn-benchmark's boxlist_ops.py: TO_REMOVE = 1. */
    attr.detect.flags = DETECT_PLUS_ONE;
    stage_open(&stage, OP_ROI_TARGETS, &attr, 0, make_targets);
    stage_run(&stage, backend);
    label = stage_made(&stage, 0, ROI_TARGETS_LABEL);
    const float *target = stage_made(&stage, 0, ROI_TARGETS_TARGET);
    CU_ASSERT(label[0] == 7 && label[1] == 7 && label[2] == -1);
    /* From 10 x 5 about (5, 2.5) to 10 x 10 about (5, 5). */
    CU_ASSERT_EQUAL(target[0], 0);
    CU_ASSERT_DOUBLE_EQUAL((double)target[1], 10 * 2.5 / 5, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL((double)target[3], 5 * log(2), 1e-6);
    op_graph_done(&stage.g);
}

static void a_regions_object_covers_half_of_it(void) {
    on_all_backends(check_targets);
}

/* --- RoIAlign --------------------------------------------------------------------------------- */

/* The map's value is its column, so a bin's is the middle of its samples. */
static void make_align(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float roi[] = {16, 16, 48, 48};
    static const int32_t label[] = {1};
    float *map = given(g, inputs, ROI_ALIGN_MAP, DTYPE_F32, shape_4(1, 16, 16, 1), NULL);
    for (int i = 0; i < 256; i++)
        map[i] = (float)(i % 16);
    given(g, inputs, ROI_ALIGN_ROI, DTYPE_F32, shape_3(1, 1, 4), roi);
    given(g, inputs, ROI_ALIGN_LABEL, DTYPE_I32, shape_2(1, 1), label);
}

static void check_align(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {
        .detect = {.canvas_h = 64, .canvas_w = 64, .levels = 1, .pooled = 4, .sampling = 2}};
    for (int aligned = 0; aligned < 2; aligned++) {
        /* Columns 4 to 12 of the map; Detectron2's poolers.py moves them by half a pixel. */
        attr.detect.flags = aligned == 1 ? DETECT_ROI_ALIGNED : 0;
        stage_open(&stage, OP_ROI_ALIGN, &attr, 0, make_align);
        stage_run(&stage, backend);
        const float *y = stage_made(&stage, 0, ROI_ALIGN_Y);
        for (int bin = 0; bin < 16; bin++)
            CU_ASSERT_DOUBLE_EQUAL((double)y[bin], 5 + 2 * (bin % 4) - 0.5 * aligned, 1e-6);
        op_graph_done(&stage.g);
    }
}

static void a_bin_is_the_middle_of_its_samples(void) {
    on_all_backends(check_align);
}

/* --- losses ----------------------------------------------------------------------------------- */

/* Two rows, an object half a unit off in one number and background, of logits that say 1/2 each;
 * and an empty one. */
static void make_box_loss(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float logits[6] = {0}, deltas[24] = {0, 0, 0, 0, 0.5F};
    static const float target[12] = {0};
    static const int32_t label[] = {1, 0, -1};
    given(g, inputs, BOX_LOSS_LOGITS, DTYPE_F32, shape_2(3, 2), logits);
    given(g, inputs, BOX_LOSS_DELTAS, DTYPE_F32, shape_2(3, 8), deltas);
    given(g, inputs, BOX_LOSS_LABEL, DTYPE_I32, shape_2(1, 3), label);
    given(g, inputs, BOX_LOSS_TARGET, DTYPE_F32, shape_3(1, 3, 4), target);
}

static void check_box_loss(struct backend *backend) {
    /* torchvision's roi_heads.py; Detectron2's defaults.py; maskrcnn-benchmark's box_head/loss.py
     */
    static const struct {
        float beta;
        double loss;
    } rules[] = {{1 / 9.0F, 0.5 - 0.5 / 9}, {0, 0.5}, {1, 0.125}};
    for (int i = 0; i < 3; i++) {
        struct stage stage;
        struct op_attr attr = {.gradient_scale = 1 << i,
                               .detect = {.classes = 1, .beta = rules[i].beta}};
        stage_open(&stage, OP_BOX_LOSS, &attr, 2, make_box_loss);
        stage_run(&stage, backend);
        const float *values = stage_made(&stage, 0, BOX_LOSS_VALUES);
        const float *dlogits = stage_made(&stage, 1, BOX_LOSS_GRAD_DLOGITS);
        CU_ASSERT_DOUBLE_EQUAL((double)values[BOX_LOSS_BOX_REG], rules[i].loss / 2, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL((double)values[BOX_LOSS_CLASSIFIER], log(2), 1e-7);
        CU_ASSERT_EQUAL(values[BOX_LOSS_ACCURACY], 0.5F); /* of equal logits the first */
        CU_ASSERT(values[BOX_LOSS_POSITIVES] == 1 && values[BOX_LOSS_SAMPLED] == 2);
        const float quarter = 0.25F * (float)(1 << i);
        CU_ASSERT(dlogits[0] == quarter && dlogits[1] == -quarter && dlogits[4] == 0);
        op_graph_done(&stage.g);
    }
}

static void losses_are_means_over_sampled_regions(void) {
    on_all_backends(check_box_loss);
}

/* --- masks ------------------------------------------------------------------------------------ */

/* The left half of a picture of 8 x 8 at twice its size; the region is all of it. */
static void make_mask(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float roi[] = {0, 0, 16, 16};
    static const int32_t zero[] = {0}, at[MASK_FIELDS] = {0, 0, 0, 4, 8};
    static const int32_t size[IMAGE_SIZE_FIELDS] = {8, 8, 16, 16, 1, 1};
    static const uint8_t bits[] = {15, 15, 15, 15, 15, 15, 15, 15};
    given(g, inputs, MASK_TARGETS_ROI, DTYPE_F32, shape_3(1, 1, 4), roi);
    given(g, inputs, MASK_TARGETS_MATCH, DTYPE_I32, shape_2(1, 1), zero);
    given(g, inputs, MASK_TARGETS_ROW, DTYPE_I32, shape_1(1), zero);
    given(g, inputs, MASK_TARGETS_AT, DTYPE_I32, shape_3(1, 1, MASK_FIELDS), at);
    given(g, inputs, MASK_TARGETS_BITS, DTYPE_U8, shape_1(8), bits);
    given(g, inputs, MASK_TARGETS_SIZE, DTYPE_I32, shape_2(1, IMAGE_SIZE_FIELDS), size);
}

static void check_mask(struct backend *backend) {
    /* Mirrored, columns 8 to 15 are set. Four bins of four pixels; a sample a pixel lies between
     * two of them: half a pixel of column 8 is in bin 1. */
    static const float soft[] = {0, 0.125F, 1, 1}, cut[] = {0, 0, 1, 1};
    struct stage stage;
    struct op_attr attr = {.detect = {.canvas_h = 16, .canvas_w = 16, .pooled = 4}};
    for (int hard = 0; hard < 2; hard++) {
        attr.detect.flags = hard == 1 ? DETECT_MASK_POLYGON : 0;
        stage_open(&stage, OP_MASK_TARGETS, &attr, 0, make_mask);
        stage_run(&stage, backend);
        const float *t = stage_made(&stage, 0, MASK_TARGETS_T);
        for (int i = 0; i < 16; i++)
            CU_ASSERT_EQUAL(t[i], hard == 1 ? cut[i % 4] : soft[i % 4]);
        op_graph_done(&stage.g);
    }
}

static void masks_are_averaged_or_cut_at_half(void) {
    on_all_backends(check_mask);
}

/* --- detections ------------------------------------------------------------------------------- */

/* Three proposals of one class, all as sure; the second covers 36 of the first's 81, the third
 * leaves the picture of 40 x 50. */
static void make_detections(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float box[] = {0, 0, 9, 9, 0, 0, 9, 4, 30, 30, 90, 90};
    static const float logits[] = {0, 2, 0, 1, 0, 3}, deltas[24] = {0};
    static const int32_t count[] = {3}, size[IMAGE_SIZE_FIELDS] = {1, 1, 40, 50, 0, 1};
    given(g, inputs, DETECTIONS_LOGITS, DTYPE_F32, shape_2(3, 2), logits);
    given(g, inputs, DETECTIONS_DELTAS, DTYPE_F32, shape_2(3, 8), deltas);
    given(g, inputs, DETECTIONS_BOX, DTYPE_F32, shape_3(1, 3, 4), box);
    given(g, inputs, DETECTIONS_COUNT, DTYPE_I32, shape_1(1), count);
    given(g, inputs, DETECTIONS_SIZE, DTYPE_I32, shape_2(1, IMAGE_SIZE_FIELDS), size);
}

static void check_detections(struct backend *backend) {
    struct stage stage;
    struct op_attr attr = {.detect = {.classes = 1,
                                      .detections = 4,
                                      .nms_threshold = 0.45F,
                                      .score_threshold = 0.05F,
                                      .min_side = 1e-2F,
                                      .coder = {10, 10, 5, 5}}};
    for (int plus = 0; plus < 2; plus++) { /* 50 of 100, and the last pixel is 49, 39 */
        attr.detect.flags = plus == 1 ? DETECT_PLUS_ONE : 0;
        stage_open(&stage, OP_DETECTIONS, &attr, 0, make_detections);
        stage_run(&stage, backend);
        const float *box = stage_made(&stage, 0, DETECTIONS_FOUND_BOX);
        const float *score = stage_made(&stage, 0, DETECTIONS_FOUND_SCORE);
        const int32_t *label = stage_made(&stage, 0, DETECTIONS_FOUND_LABEL);
        const int32_t *count = stage_made(&stage, 0, DETECTIONS_FOUND_COUNT);
        CU_ASSERT_EQUAL(*count, plus == 1 ? 2 : 3);
        CU_ASSERT(label[0] == 1 && label[*count] == -1 && score[*count] == 0);
        CU_ASSERT_DOUBLE_EQUAL((double)score[0], 1 / (1 + exp(-3)), 1e-6);
        CU_ASSERT_DOUBLE_EQUAL((double)score[1], 1 / (1 + exp(-2)), 1e-6);
        CU_ASSERT(box[0] == 30 && box[2] == 50 - plus && box[3] == 40 - plus);
        CU_ASSERT_DOUBLE_EQUAL((double)box[4 + 3], 9, 1e-5);
        op_graph_done(&stage.g);
    }
}

static void the_surer_of_two_that_overlap_is_detected(void) {
    on_all_backends(check_detections);
}

UNIT_SUITE("ops.regions", UNIT(pictures_are_mirrored_enlarged_and_normalised),
           UNIT(a_regions_object_covers_half_of_it), UNIT(a_bin_is_the_middle_of_its_samples),
           UNIT(losses_are_means_over_sampled_regions), UNIT(masks_are_averaged_or_cut_at_half),
           UNIT(the_surer_of_two_that_overlap_is_detected))
