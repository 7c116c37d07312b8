/* Rows of the operators after the proposals (graph/op_roi.h): ties, empty and full slots, boxes
 * over the border, NaN. What they select is the same on every backend to the last bit. */
#include "tests/ops/cases.h"
#include "tests/ops/harness.h"
#include "trainer/graph/op_rpn.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_target.h"
#include "trainer/math/random.h"
#include "trainer/math/sample_key.h"

#include <math.h>
#include <string.h>

enum { PICTURES = 3 };

/* What a row's values are like; its number stands in `outputs`. */
enum manner {
    PLAIN,
    TIES,       /* few different values */
    NOT_FINITE, /* NaN and infinities among them */
    EMPTY,      /* no proposals, no objects, no rows */
    FULL        /* every slot taken */
};

#define EXACT                                                                                      \
    .f32_tolerance = 1e-30, .bf16_tolerance = 1e-30, .f16_tolerance = 1e-30,                       \
    .why = "bits decide what is chosen"
#define MADE(name, manner) .x = {.rank = 2, .dim = {PICTURES, 1}}, .outputs = (manner), .make = name
#define SCALED(scale, ...) .attr = {.gradient_scale = (scale), .detect = {__VA_ARGS__}}
#define DETECT(...) SCALED(1, __VA_ARGS__)
#define MATCHING(...)                                                                              \
    DETECT(.canvas_h = 64, .canvas_w = 96, .foreground_iou = 0.5F, .background_iou = 0.5F,         \
           .coder = {10, 10, 5, 5}, __VA_ARGS__)

static enum manner manner_of(const struct op_graph *g) {
    return (enum manner)g->row->outputs;
}

static void *given(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot, enum dtype dtype,
                   struct shape shape) {
    inputs[slot] = op_graph_input(g, dtype, shape, FILL_GIVEN);
    return op_graph_values(g, inputs[slot]);
}

static void make_sizes(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot) {
    static const int32_t sizes[PICTURES][IMAGE_SIZE_FIELDS] = {
        {40, 60, 64, 96, 0, 1}, {40, 60, 50, 75, 1, 1}, {70, 50, 40, 29, 0, 1}};
    int32_t *values = given(g, inputs, slot, DTYPE_I32, shape_2(PICTURES, IMAGE_SIZE_FIELDS));
    memcpy(values, sizes, sizeof(sizes));
}

static double odd_number(struct random *random) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, -0.0};
    return odd[random_below(random, 6)];
}

/* About a few places, so that many overlap; some lie over the border, some are empty. */
static void put_box(const struct op_graph *g, struct random *random, float box[4]) {
    double x = random_below(random, 4) * 24 - 4, y = random_below(random, 3) * 22 - 4;
    bool ties = manner_of(g) == TIES;
    box[0] = (float)(x + (ties ? 0 : random_normal(random) * 3));
    box[1] = (float)(y + (ties ? 0 : random_normal(random) * 3));
    box[2] = (float)(x + (ties ? 16 : random_between(random, 6, 30)));
    box[3] = (float)(y + (ties ? 16 : random_between(random, 6, 30)));
    if (random_below(random, 12) == 0)
        box[2] = box[0];
    if (manner_of(g) == NOT_FINITE && random_below(random, 4) == 0)
        box[random_below(random, 4)] = (float)odd_number(random);
}

/* --- pictures --------------------------------------------------------------------------------- */

static void make_pictures(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct random random = random_stream(5, 0, 1);
    const int bytes = 70 * 60 * 3;
    uint8_t *image = given(g, inputs, IMAGE_RESIZE_IMAGE, DTYPE_U8, shape_2(PICTURES, bytes));
    make_sizes(g, inputs, IMAGE_RESIZE_SIZE);
    for (int i = 0; i < PICTURES * bytes; i++)
        image[i] = (uint8_t)random_below(&random, 256);
    int32_t *size = g->value[inputs[IMAGE_RESIZE_SIZE]];
    if (manner_of(g) == EMPTY)
        size[IMAGE_SIZE_VALID] = 0;
}

/* --- targets ---------------------------------------------------------------------------------- */

/* Objects of the first picture take all slots, the second has one, the third none (FULL: all); the
 * second has fewer proposals than samples. */
static void make_targets(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct random random = random_stream(5, 0, 2);
    int objects = g->row->attr.detect.objects, proposals = g->row->attr.detect.post_nms;
    float *box = given(g, inputs, ROI_TARGETS_BOX, DTYPE_F32, shape_3(PICTURES, proposals, 4));
    int32_t *count = given(g, inputs, ROI_TARGETS_COUNT, DTYPE_I32, shape_1(PICTURES));
    float *gt = given(g, inputs, ROI_TARGETS_GT_BOX, DTYPE_F32, shape_3(PICTURES, objects, 4));
    int32_t *label = given(g, inputs, ROI_TARGETS_GT_LABEL, DTYPE_I32, shape_2(PICTURES, objects));
    int32_t *gt_count = given(g, inputs, ROI_TARGETS_GT_COUNT, DTYPE_I32, shape_1(PICTURES));
    int32_t *key =
        given(g, inputs, ROI_TARGETS_KEY, DTYPE_I32, shape_2(PICTURES, SAMPLE_KEY_WORDS));
    for (int i = 0; i < PICTURES * proposals; i++)
        put_box(g, &random, box + 4 * i);
    for (int i = 0; i < PICTURES * objects; i++) {
        put_box(g, &random, gt + 4 * i);
        label[i] = 1 + i % 7;
    }
    for (int n = 0; n < PICTURES; n++) {
        bool full = manner_of(g) == FULL, empty = manner_of(g) == EMPTY;
        count[n] = full ? proposals + 9 : empty ? -n : n == 1 ? proposals / 4 : proposals;
        gt_count[n] = full || n == 0 ? objects : n == 1 ? 1 : 0;
        gt_count[n] = empty ? -n : gt_count[n];
        key[n * SAMPLE_KEY_WORDS + SAMPLE_KEY_SEED_LOW] = 17;
        key[n * SAMPLE_KEY_WORDS + SAMPLE_KEY_SAMPLE] = n;
    }
}

/* --- RoIAlign --------------------------------------------------------------------------------- */

/* Slots of regions: inside, over each border, smaller than a pixel, far outside, and on every map.
 */
static void put_regions(const struct op_graph *g, float *box, int count) {
    static const float regions[][4] = {
        {3, 5, 21, 30},         {-9, -7, 12, 15},     {20, 18, 45, 44}, {10.2F, 9.1F, 10.7F, 9.3F},
        {0, 0, 32, 32},         {-300, -200, 90, 70}, {60, 60, 70, 70}, {-560, 3, 840, 29},
        {0.5F, 0, 31.9F, 3},    {-90, -90, 170, 160}, {5, 0, 8, 31.5F}, {-40, -40, -20, -20},
        {-230, -230, 262, 262}, {1, 2, 96, 64},       {4, 4, 4, 4}};
    struct random random = random_stream(5, 0, 3);
    for (int i = 0; i < count; i++) {
        memcpy(box + 4 * i, regions[i % 15], sizeof(regions[0]));
        for (int k = 0; k < 4 && i >= 15; k++)
            box[4 * i + k] += (float)random_between(&random, -3, 3);
        if (manner_of(g) == NOT_FINITE && i % 3 == 1)
            box[4 * i + i % 4] = (float)odd_number(&random);
    }
}

static void make_maps(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct detect_attr *d = &g->row->attr.detect;
    for (int l = 0; l < d->levels; l++) {
        int cell = 4 << l, rows = (d->canvas_h + cell - 1) / cell;
        int columns = (d->canvas_w + cell - 1) / cell;
        inputs[ROI_ALIGN_MAP + l] = op_graph_input(
            g, g->graph.dtype, shape_4(PICTURES, rows, columns, d->classes), FILL_NORMAL);
    }
}

/* `samples` regions a picture, maps of `classes` channels; every fifth slot is empty. */
static void make_align(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    int slots = g->row->attr.detect.samples;
    make_maps(g, inputs);
    float *roi = given(g, inputs, ROI_ALIGN_ROI, DTYPE_F32, shape_3(PICTURES, slots, 4));
    int32_t *label = given(g, inputs, ROI_ALIGN_LABEL, DTYPE_I32, shape_2(PICTURES, slots));
    put_regions(g, roi, PICTURES * slots);
    for (int i = 0; i < PICTURES * slots; i++)
        label[i] = manner_of(g) == EMPTY || i % 5 == 4 ? -1 : i % 3;
}

/* Without a label no slot is empty. */
static void make_align_all(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    int slots = g->row->attr.detect.samples;
    make_maps(g, inputs);
    put_regions(g, given(g, inputs, ROI_ALIGN_ROI, DTYPE_F32, shape_3(PICTURES, slots, 4)),
                PICTURES * slots);
}

/* The same regions by rows: some twice, some not, from the back, with empty ones at the end. */
static void make_align_rows(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    int slots = g->row->attr.detect.samples, rows = g->row->attr.detect.positives;
    make_maps(g, inputs);
    float *roi = given(g, inputs, ROI_ALIGN_ROI, DTYPE_F32, shape_3(PICTURES, slots, 4));
    int32_t *row = given(g, inputs, ROI_ALIGN_ROW, DTYPE_I32, shape_1(rows));
    put_regions(g, roi, PICTURES * slots);
    for (int i = 0; i < rows; i++)
        row[i] = i >= rows - 2 || manner_of(g) == EMPTY
                     ? -1
                     : (PICTURES * slots - 1 - 2 * i / 3 + PICTURES * slots) % (PICTURES * slots);
}

#define ALIGN(h, w, count, channels, bins, ...)                                                    \
    DETECT(.canvas_h = h, .canvas_w = w, .levels = 4, .samples = count, .classes = channels,       \
           .pooled = bins, .level_epsilon = 1e-6F, __VA_ARGS__)

/* --- box loss --------------------------------------------------------------------------------- */

static void make_box_loss(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct detect_attr *d = &g->row->attr.detect;
    enum dtype wide = dtype_wide(g->graph.dtype);
    struct random random = random_stream(5, 0, 4);
    int64_t rows = PICTURES * d->samples, classes = d->classes + 1;
    inputs[BOX_LOSS_LOGITS] = op_graph_input(g, wide, shape_2(rows, classes), FILL_NORMAL);
    inputs[BOX_LOSS_DELTAS] = op_graph_input(g, wide, shape_2(rows, 4 * classes), FILL_NORMAL);
    int32_t *label = given(g, inputs, BOX_LOSS_LABEL, DTYPE_I32, shape_2(PICTURES, d->samples));
    float *target = given(g, inputs, BOX_LOSS_TARGET, DTYPE_F32, shape_3(PICTURES, d->samples, 4));
    for (int64_t i = 0; i < rows; i++) {
        bool object = i % d->samples < d->positives;
        label[i] = object ? 1 + (int32_t)random_below(&random, (uint32_t)d->classes) : 0;
        if (manner_of(g) == EMPTY || (manner_of(g) != FULL && i % d->samples > d->samples - 3))
            label[i] = -1;
        for (int k = 0; k < 4; k++)
            target[4 * i + k] = object ? (float)random_normal(&random) : 0;
    }
}

/* --- masks ------------------------------------------------------------------------------------ */

enum { MASK_OBJECTS = 5 };

/* Crops that cover parts of the pictures of make_sizes(), at random; the fourth object of a picture
 * has none. */
static void make_bits(struct op_graph *g, int inputs[OP_INPUTS_MAX], int at_slot, int bits_slot) {
    static const int32_t crops[MASK_OBJECTS][4] = {
        {0, 0, 50, 40}, {7, 11, 9, 8}, {13, 2, 33, 17}, {0, 0, 0, 0}, {49, 39, 1, 1}};
    struct random random = random_stream(5, 0, 5);
    int32_t *at =
        given(g, inputs, at_slot, DTYPE_I32, shape_3(PICTURES, MASK_OBJECTS, MASK_FIELDS));
    int32_t bytes = 3;
    for (int i = 0; i < PICTURES * MASK_OBJECTS; i++) {
        at[i * MASK_FIELDS + MASK_OFFSET] = bytes;
        memcpy(at + i * MASK_FIELDS + MASK_X, crops[i % MASK_OBJECTS], sizeof(crops[0]));
        bytes += (int32_t)mask_bits_bytes(crops[i % MASK_OBJECTS][2], crops[i % MASK_OBJECTS][3]);
    }
    if (bits_slot < 0)
        return;
    uint8_t *pool = given(g, inputs, bits_slot, DTYPE_U8, shape_1(bytes));
    for (int32_t i = 0; i < bytes; i++)
        pool[i] = (uint8_t)(random_below(&random, 256) | random_below(&random, 256));
}

static void make_mask_rows(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    int slots = g->row->attr.detect.samples;
    int32_t *label = given(g, inputs, MASK_ROWS_LABEL, DTYPE_I32, shape_2(PICTURES, slots));
    int32_t *match = given(g, inputs, MASK_ROWS_MATCH, DTYPE_I32, shape_2(PICTURES, slots));
    make_bits(g, inputs, MASK_ROWS_AT, -1);
    for (int i = 0; i < PICTURES * slots; i++) {
        bool object = i % slots < g->row->attr.detect.positives && i % 7 != 6;
        label[i] = !object || manner_of(g) == EMPTY ? i % 2 - 1 : 1 + i % 4;
        match[i] = label[i] > 0 ? (manner_of(g) == FULL ? i % 2 : i % MASK_OBJECTS) : -1;
    }
}

static void make_mask_targets(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float regions[][4] = {{0, 0, 96, 64},     {10.5F, 3.25F, 30, 44},
                                       {60, 40, 95, 63},   {5, 5, 5.5F, 5.25F},
                                       {1, 30, 28, 39.5F}, {40, 2, 90.1F, 33.3F}};
    int slots = 6, rows = PICTURES * slots;
    float *roi = given(g, inputs, MASK_TARGETS_ROI, DTYPE_F32, shape_3(PICTURES, slots, 4));
    int32_t *match = given(g, inputs, MASK_TARGETS_MATCH, DTYPE_I32, shape_2(PICTURES, slots));
    int32_t *row = given(g, inputs, MASK_TARGETS_ROW, DTYPE_I32, shape_1(rows));
    make_bits(g, inputs, MASK_TARGETS_AT, MASK_TARGETS_BITS);
    make_sizes(g, inputs, MASK_TARGETS_SIZE);
    for (int i = 0; i < rows; i++) {
        memcpy(roi + 4 * i, regions[i % slots], sizeof(regions[0]));
        match[i] = i % 4 == 3 ? 4 : i % 4;
        row[i] = manner_of(g) == EMPTY || i >= rows - 3 ? -1 : i;
    }
}

/* The same with outlines: every other object has one, of a triangle, a bow tie, a speck and a
 * polygon that leaves the canvas. */
static void make_outlines(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float points[][2] = {{3, 4},   {60, 8},    {30, 50},   {10, 10}, {50, 40},
                                      {50, 10}, {10, 40},   {20, 20},   {20, 21}, {-90, 5},
                                      {200, 9}, {150, 300}, {12, 1e9F}, {7, 7}};
    static const int32_t part[][MASK_PART_FIELDS] = {{0, 3}, {3, 4}, {7, 2}, {9, 5}, {0, 0}};
    make_mask_targets(g, inputs);
    int32_t *parts = given(g, inputs, MASK_TARGETS_PARTS, DTYPE_I32,
                           shape_3(PICTURES, MASK_OBJECTS, MASK_PART_FIELDS));
    memcpy(given(g, inputs, MASK_TARGETS_PART, DTYPE_I32, shape_2(5, MASK_PART_FIELDS)), part,
           sizeof(part));
    memcpy(given(g, inputs, MASK_TARGETS_POINT, DTYPE_F32, shape_2(14, 2)), points, sizeof(points));
    for (int i = 0; i < PICTURES * MASK_OBJECTS; i += 2) {
        parts[i * MASK_PART_FIELDS + MASK_PART_FIRST] = i % 4;
        parts[i * MASK_PART_FIELDS + MASK_PART_COUNT] = 1 + i % 2 + i / 8;
    }
}

/* `samples` rows of `pooled` pixels a side, `classes` classes with the background, `objects`
 * channels. */
static void make_class_conv(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct detect_attr *d = &g->row->attr.detect;
    enum dtype wide = dtype_wide(g->graph.dtype);
    int rows = d->samples;
    inputs[CLASS_CONV_X] = op_graph_input(
        g, g->graph.dtype, shape_4(rows, d->pooled, d->pooled, d->objects), FILL_NORMAL);
    struct shape w = manner_of(g) == FULL ? shape_4(d->classes, 1, 1, d->objects)
                                          : shape_2(d->classes, d->objects);
    inputs[CLASS_CONV_W] = op_graph_input(g, wide, w, FILL_WEIGHT);
    inputs[CLASS_CONV_B] = op_graph_input(g, wide, shape_1(d->classes), FILL_NORMAL);
    int32_t *label = given(g, inputs, CLASS_CONV_LABEL, DTYPE_I32, shape_1(rows));
    for (int i = 0; i < rows; i++)
        label[i] = manner_of(g) == EMPTY  ? 0
                   : manner_of(g) == FULL ? 1 + i % (d->classes - 1)
                   : i > rows - 3         ? i - rows + 1 /* -1 and 0 */
                                          : (i * 5 + 1) % (d->classes / 2 + 1);
}

#define ROWS_OF(count, bins, channels, kinds)                                                      \
    DETECT(.samples = count, .pooled = bins, .objects = channels, .classes = kinds)

/* `positives` of the `samples` rows count; the values after them are NaN. */
static void make_mask_loss(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct detect_attr *d = &g->row->attr.detect;
    struct random random = random_stream(5, 0, 6);
    enum dtype wide = dtype_wide(g->graph.dtype);
    struct shape shape = shape_3(d->samples, d->pooled, d->pooled);
    int64_t pixels = d->pooled * d->pooled;
    void *logits = given(g, inputs, MASK_LOSS_LOGITS, wide, shape);
    float *t = given(g, inputs, MASK_LOSS_T, DTYPE_F32, shape);
    int32_t *rows = given(g, inputs, MASK_LOSS_ROWS, DTYPE_I32, shape_1(1));
    for (int64_t i = 0; i < d->samples * pixels; i++) {
        double value = random_normal(&random) * 2;
        if (manner_of(g) == NOT_FINITE && i % 9 == 4)
            value = odd_number(&random);
        value_set(logits, wide, i, i < d->positives * pixels ? value : NAN);
        t[i] = i < d->positives * pixels ? random_float(&random) : NAN;
    }
    *rows = d->positives;
}

/* --- detections ------------------------------------------------------------------------------- */

/* Probabilities of a trained head: mostly the background, some sure, some torn between classes. */
static double head_logit(const struct op_graph *g, struct random *random, int64_t k) {
    double value = random_normal(random) * 2 + (k == 0 ? 1.5 : 0);
    if (manner_of(g) == TIES)
        return round(value);
    if (manner_of(g) == NOT_FINITE && random_below(random, 12) == 0)
        return odd_number(random);
    return value;
}

static void make_detections(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct detect_attr *d = &g->row->attr.detect;
    struct random random = random_stream(5, 0, 7);
    enum dtype wide = dtype_wide(g->graph.dtype);
    int64_t slots = d->post_nms, rows = PICTURES * slots, classes = d->classes + 1;
    void *logits = given(g, inputs, DETECTIONS_LOGITS, wide, shape_2(rows, classes));
    void *deltas = given(g, inputs, DETECTIONS_DELTAS, wide, shape_2(rows, 4 * classes));
    float *box = given(g, inputs, DETECTIONS_BOX, DTYPE_F32, shape_3(PICTURES, slots, 4));
    int32_t *count = given(g, inputs, DETECTIONS_COUNT, DTYPE_I32, shape_1(PICTURES));
    make_sizes(g, inputs, DETECTIONS_SIZE);
    for (int64_t i = 0; i < rows * classes; i++)
        value_set(logits, wide, i, (double)(float)head_logit(g, &random, i % classes));
    for (int64_t i = 0; i < rows * 4 * classes; i++) {
        double value = manner_of(g) == TIES ? 0 : random_normal(&random);
        if (manner_of(g) == NOT_FINITE && random_below(&random, 20) == 0)
            value = odd_number(&random);
        value_set(deltas, wide, i, (double)(float)value);
    }
    for (int64_t i = 0; i < rows; i++)
        put_box(g, &random, box + 4 * i);
    for (int n = 0; n < PICTURES; n++)
        count[n] = manner_of(g) == EMPTY  ? -n
                   : manner_of(g) == FULL ? (int32_t)slots + 3
                   : n == 1               ? 3
                                          : (int32_t)slots - n;
}

#define FIND(kinds, proposals, found, how)                                                         \
    DETECT(.classes = kinds, .post_nms = proposals, .detections = found, .nms_threshold = 0.5F,    \
           .score_threshold = 0.05F, .min_side = 1e-2F, .coder = {10, 10, 5, 5}, .flags = how)

static void make_total(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum dtype wide = dtype_wide(g->graph.dtype);
    inputs[TOTAL_LOSS_RPN] = op_graph_input(g, wide, shape_1(RPN_LOSSES), FILL_POSITIVE);
    inputs[TOTAL_LOSS_BOX] = op_graph_input(g, wide, shape_1(BOX_LOSSES), FILL_POSITIVE);
    inputs[TOTAL_LOSS_MASK] = op_graph_input(g, wide, shape_1(1), FILL_POSITIVE);
    make_sizes(g, inputs, TOTAL_LOSS_SIZE);
    int32_t *size = g->value[inputs[TOTAL_LOSS_SIZE]];
    if (manner_of(g) == EMPTY)
        size[IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID] = 0;
}

#define PIXELS(number, how)                                                                        \
    .attr = {.channels = number,                                                                   \
             .mean = {0.485F, 0.456F, 0.406F},                                                     \
             .std = {0.229F, 0.224F, 0.225F},                                                      \
             .detect = {.canvas_h = 64, .canvas_w = 96, .flags = how}}
#define PIXELS_BGR                                                                                 \
    .attr = {.channels = 3,                                                                        \
             .mean = {102.9801F, 115.9465F, 122.7717F},                                            \
             .std = {1, 1, 1},                                                                     \
             .detect = {.canvas_h = 64, .canvas_w = 96, .flags = DETECT_PIXELS_BGR}}

static const struct op_case rows[] = {
    {"resize", OP_IMAGE_RESIZE, MADE(make_pictures, PLAIN), PIXELS(3, 0)},
    {"resize, no first picture, four channels", OP_IMAGE_RESIZE, MADE(make_pictures, EMPTY),
     PIXELS(4, 0)},
    {"resize, blue first", OP_IMAGE_RESIZE, MADE(make_pictures, PLAIN), PIXELS_BGR},

    {"roi targets", OP_ROI_TARGETS, MADE(make_targets, PLAIN),
     MATCHING(.samples = 32, .positives = 8, .objects = 6, .post_nms = 60), EXACT},
    {"roi targets of 128 objects", OP_ROI_TARGETS, MADE(make_targets, FULL),
     MATCHING(.samples = 128, .positives = 32, .objects = 128, .post_nms = 300), EXACT},
    {"roi targets of 2000 proposals", OP_ROI_TARGETS, MADE(make_targets, PLAIN),
     MATCHING(.samples = 512, .positives = 128, .objects = 6, .post_nms = 2000), EXACT},
    {"roi targets with ties", OP_ROI_TARGETS, MADE(make_targets, TIES),
     MATCHING(.samples = 32, .positives = 8, .objects = 6, .post_nms = 60), EXACT},
    {"roi targets of nothing", OP_ROI_TARGETS, MADE(make_targets, EMPTY),
     MATCHING(.samples = 32, .positives = 8, .objects = 6, .post_nms = 60), EXACT},
    {"roi targets not finite", OP_ROI_TARGETS, MADE(make_targets, NOT_FINITE),
     MATCHING(.samples = 32, .positives = 8, .objects = 6, .post_nms = 60), EXACT},
    {"roi targets, more room than candidates", OP_ROI_TARGETS, MADE(make_targets, PLAIN),
     MATCHING(.samples = 90, .positives = 90, .objects = 6, .post_nms = 20), EXACT},
    {"roi targets of boxes with their last pixel", OP_ROI_TARGETS, MADE(make_targets, PLAIN),
     MATCHING(.samples = 32, .positives = 8, .objects = 6, .post_nms = 60,
              .flags = DETECT_PLUS_ONE),
     EXACT},

    {"roi align tiny", OP_ROI_ALIGN, MADE(make_align, PLAIN), ALIGN(32, 32, 5, 2, 3, .sampling = 2),
     .differentiate = true},
    {"roi align tiny, aligned, as many samples as pixels", OP_ROI_ALIGN, MADE(make_align, PLAIN),
     ALIGN(32, 32, 5, 1, 2, .flags = DETECT_ROI_ALIGNED), .differentiate = true},
    {"roi align", OP_ROI_ALIGN, MADE(make_align, PLAIN), ALIGN(64, 96, 20, 64, 7, .sampling = 2)},
    {"roi align, odd sizes and channels", OP_ROI_ALIGN, MADE(make_align, PLAIN),
     ALIGN(61, 83, 11, 23, 5, .sampling = 3)},
    {"roi align, aligned, level inside", OP_ROI_ALIGN, MADE(make_align, PLAIN),
     ALIGN(64, 96, 15, 48, 7, .flags = DETECT_ROI_ALIGNED | DETECT_LEVEL_INSIDE)},
    {"roi align of empty slots", OP_ROI_ALIGN, MADE(make_align, EMPTY),
     ALIGN(32, 32, 5, 8, 3, .sampling = 2)},
    {"roi align of all slots", OP_ROI_ALIGN, MADE(make_align_all, PLAIN),
     ALIGN(32, 32, 7, 8, 3, .sampling = 2)},
    {"roi align onto others' gradients", OP_ROI_ALIGN, MADE(make_align, PLAIN),
     ALIGN(61, 83, 300, 23, 5, .sampling = 3), .sent = true},
    {"roi align not finite", OP_ROI_ALIGN, MADE(make_align, NOT_FINITE),
     ALIGN(32, 32, 12, 8, 3, .sampling = 2)},
    {"roi align not finite, as many samples as pixels", OP_ROI_ALIGN, MADE(make_align, NOT_FINITE),
     ALIGN(32, 32, 12, 3, 2, .flags = DETECT_ROI_ALIGNED)},
    {"roi align by rows", OP_ROI_ALIGN, MADE(make_align_rows, PLAIN),
     ALIGN(64, 96, 15, 32, 14, .sampling = 2, .positives = 24)},
    {"roi align by no rows", OP_ROI_ALIGN, MADE(make_align_rows, EMPTY),
     ALIGN(32, 32, 5, 4, 3, .sampling = 2, .positives = 6)},

    {"box loss tiny", OP_BOX_LOSS, MADE(make_box_loss, PLAIN),
     DETECT(.samples = 6, .positives = 2, .classes = 3, .beta = 1 / 9.0F), .losses = 2,
     .differentiate = true},
    {"box loss, distance", OP_BOX_LOSS, MADE(make_box_loss, FULL),
     DETECT(.samples = 4, .positives = 2, .classes = 2), .losses = 2, .differentiate = true},
    {"box loss, scaled", OP_BOX_LOSS, MADE(make_box_loss, PLAIN),
     SCALED(24, .samples = 64, .positives = 16, .classes = 90, .beta = 1 / 9.0F), .losses = 2},
    {"box loss of one kind, all positive", OP_BOX_LOSS, MADE(make_box_loss, FULL),
     DETECT(.samples = 8, .positives = 8, .classes = 1, .beta = 1), .losses = 2},
    {"box loss of the background", OP_BOX_LOSS, MADE(make_box_loss, PLAIN),
     DETECT(.samples = 8, .classes = 4, .beta = 1), .losses = 2},
    {"box loss of nothing", OP_BOX_LOSS, MADE(make_box_loss, EMPTY),
     DETECT(.samples = 8, .positives = 2, .classes = 4, .beta = 1), .losses = 2},
    {"box loss not finite", OP_BOX_LOSS, MADE(make_box_loss, PLAIN),
     DETECT(.samples = 8, .positives = 2, .classes = 4, .beta = 1), .losses = 2,
     .special = SPECIAL_NAN},

    {"mask rows", OP_MASK_ROWS, MADE(make_mask_rows, PLAIN),
     DETECT(.samples = 32, .positives = 12)},
    {"mask rows, full", OP_MASK_ROWS, MADE(make_mask_rows, FULL),
     DETECT(.samples = 12, .positives = 12)},
    {"mask rows of 512 slots", OP_MASK_ROWS, MADE(make_mask_rows, PLAIN),
     DETECT(.samples = 512, .positives = 128)},
    {"mask rows of nothing", OP_MASK_ROWS, MADE(make_mask_rows, EMPTY),
     DETECT(.samples = 12, .positives = 4)},
    {"mask targets", OP_MASK_TARGETS, MADE(make_mask_targets, PLAIN),
     DETECT(.canvas_h = 64, .canvas_w = 96, .pooled = 28)},
    {"mask targets, few bins", OP_MASK_TARGETS, MADE(make_mask_targets, PLAIN),
     DETECT(.canvas_h = 64, .canvas_w = 96, .pooled = 3)},
    {"mask targets of nothing", OP_MASK_TARGETS, MADE(make_mask_targets, EMPTY),
     DETECT(.canvas_h = 64, .canvas_w = 96, .pooled = 28)},
    {"mask targets, cut at half", OP_MASK_TARGETS, MADE(make_mask_targets, PLAIN),
     DETECT(.canvas_h = 64, .canvas_w = 96, .pooled = 28, .flags = DETECT_MASK_POLYGON,
            .min_side = 0.1F),
     EXACT},
    {"mask targets, drawn", OP_MASK_TARGETS, MADE(make_outlines, PLAIN),
     DETECT(.canvas_h = 64, .canvas_w = 96, .pooled = 28, .flags = DETECT_MASK_POLYGON,
            .min_side = 0.1F),
     EXACT},
    {"class conv tiny", OP_CLASS_CONV, MADE(make_class_conv, PLAIN), ROWS_OF(6, 2, 3, 5),
     .differentiate = true},
    {"class conv", OP_CLASS_CONV, MADE(make_class_conv, PLAIN), ROWS_OF(24, 28, 64, 11)},
    {"class conv of 91, one row each", OP_CLASS_CONV, MADE(make_class_conv, FULL),
     ROWS_OF(90, 5, 37, 91)},
    {"class conv of nothing", OP_CLASS_CONV, MADE(make_class_conv, EMPTY), ROWS_OF(4, 7, 16, 5)},
    {"mask loss tiny", OP_MASK_LOSS, MADE(make_mask_loss, FULL),
     DETECT(.samples = 3, .positives = 3, .pooled = 4), .losses = 1, .differentiate = true},
    {"mask loss, scaled", OP_MASK_LOSS, MADE(make_mask_loss, PLAIN),
     SCALED(24, .samples = 32, .positives = 13, .pooled = 28), .losses = 1},
    {"mask loss of no rows", OP_MASK_LOSS, MADE(make_mask_loss, PLAIN),
     DETECT(.samples = 4, .pooled = 28), .losses = 1},
    {"mask loss not finite", OP_MASK_LOSS, MADE(make_mask_loss, NOT_FINITE),
     DETECT(.samples = 4, .positives = 3, .pooled = 5), .losses = 1},

    {"detections", OP_DETECTIONS, MADE(make_detections, PLAIN), FIND(6, 40, 20, 0), EXACT},
    {"detections of 90 kinds", OP_DETECTIONS, MADE(make_detections, FULL), FIND(90, 60, 100, 0),
     EXACT},
    {"detections with ties", OP_DETECTIONS, MADE(make_detections, TIES), FIND(4, 40, 30, 0), EXACT},
    {"detections of nothing", OP_DETECTIONS, MADE(make_detections, EMPTY), FIND(4, 9, 5, 0), EXACT},
    {"detections not finite", OP_DETECTIONS, MADE(make_detections, NOT_FINITE), FIND(6, 40, 50, 0),
     EXACT},
    {"detections with their last pixel", OP_DETECTIONS, MADE(make_detections, PLAIN),
     FIND(6, 40, 20, DETECT_PLUS_ONE | DETECT_SIDE_ABOVE), EXACT},
    {"total loss", OP_TOTAL_LOSS, MADE(make_total, PLAIN)},
    {"total loss without a picture", OP_TOTAL_LOSS, MADE(make_total, EMPTY)},
};

const struct op_case_list op_cases_roi = {rows, sizeof(rows) / sizeof(rows[0])};
