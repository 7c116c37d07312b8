/* The full Mask R-CNN at 800 px against torchvision's in f64, on a picture of COCO128: every stage
 * is given torchvision's own values of the stage before, whatever ours has computed, once that has
 * been compared. Losses and gradients are in tests/golden/maskrcnn/full.txt; the stages' outputs,
 * too large to be kept here, are in RINGMASTER_DATA/maskrcnn_full; both come from maskrcnn_full.py.
 * Values after a ReLU that are on the other side of 0 than torchvision's, where gradients jump, are
 * counted and reported. */
#include "tests/golden/made.h"
#include "tests/golden/maskrcnn_start.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/sample_key.h"
#include "trainer/models/maskrcnn.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

#include <float.h>
#include <unistd.h>

enum { OBJECTS_MAX = 64, CANVAS_STEP = 32, EPOCH = 2, SAMPLE = 40, LOSSES = 5, PATH_SIZE = 512 };

/* The share of all values after ReLUs that may be on the other side of 0. */
static const double FLIPPED = 1e-6;

/* A tensor of the graph and the file that says what it should be. Of several operators of a kind
 * and name it is NUMBER, in the order in which they run. */
struct stage_row {
    const char *file;
    enum op_kind kind;
    const char *op; /* NULL: any */
    int number, slot;
};

static const char cls[] = "rpn.head.cls_logits", deltas[] = "rpn.head.bbox_pred";
static const struct stage_row stage_rows[] = {
    {"image", OP_IMAGE_RESIZE, "resize", 0, IMAGE_RESIZE_Y},
    {"c2", OP_RELU, NULL, 9, 0},
    {"c3", OP_RELU, NULL, 21, 0},
    {"c4", OP_RELU, NULL, 39, 0},
    {"c5", OP_RELU, NULL, 48, 0},
    {"p2", OP_BIAS, "backbone.fpn.layer_blocks.0.0", 0, 0},
    {"p3", OP_BIAS, "backbone.fpn.layer_blocks.1.0", 0, 0},
    {"p4", OP_BIAS, "backbone.fpn.layer_blocks.2.0", 0, 0},
    {"p5", OP_BIAS, "backbone.fpn.layer_blocks.3.0", 0, 0},
    {"logits2", OP_LINEAR, cls, 0, 0},
    {"logits3", OP_LINEAR, cls, 1, 0},
    {"logits4", OP_LINEAR, cls, 2, 0},
    {"logits5", OP_LINEAR, cls, 3, 0},
    {"logits6", OP_LINEAR, cls, 4, 0},
    {"deltas2", OP_LINEAR, deltas, 0, 0},
    {"deltas3", OP_LINEAR, deltas, 1, 0},
    {"deltas4", OP_LINEAR, deltas, 2, 0},
    {"deltas5", OP_LINEAR, deltas, 3, 0},
    {"deltas6", OP_LINEAR, deltas, 4, 0},
    {"rois", OP_ROI_TARGETS, "roi_heads.targets", 0, ROI_TARGETS_ROI},
    {"box_features", OP_ROI_ALIGN, "roi_heads.box_align", 0, ROI_ALIGN_Y},
    {"hidden", OP_LINEAR, "roi_heads.box_head.fc7", 0, 0},
    {"class_logits", OP_LINEAR, "roi_heads.box_predictor.cls_score", 0, 0},
    {"box_deltas", OP_LINEAR, "roi_heads.box_predictor.bbox_pred", 0, 0},
    {"mask_targets", OP_MASK_TARGETS, "roi_heads.mask_targets", 0, MASK_TARGETS_T},
    {"mask_features", OP_ROI_ALIGN, "roi_heads.mask_align", 0, ROI_ALIGN_Y},
    {"mask_hidden", OP_BIAS, "roi_heads.mask_head.3.0", 0, 0},
    {"mask_logits", OP_CLASS_CONV, "roi_heads.mask_predictor.mask_fcn_logits", 0, CLASS_CONV_Y},
};
enum { STAGES = sizeof(stage_rows) / sizeof(stage_rows[0]) };

struct run {
    char folder[PATH_SIZE - 64];
    struct golden_file file;
    uint64_t seed;
    int classes, objects, regions;
    int size[4]; /* height and width as stored, and as resized */
    struct backend *backend;
    struct graph graph;
    struct program program;
    struct store store;
    struct maskrcnn_tensors t;
    int met[STAGES]; /* operators that a row could have meant */
    int stages;      /* that were compared */
    uint8_t *bits;   /* owned: of all ReLUs, */
    size_t bit_bytes, bits_read;
    long flips;
};

static void file_path(const struct run *r, const char *name, char ret[PATH_SIZE]) {
    (void)snprintf(ret, PATH_SIZE, "%s/%s", r->folder, name);
}

/* All of a file of the folder; its bytes are owned by the caller. */
static void *read_all(const struct run *r, const char *name, size_t *ret_bytes) {
    char path[PATH_SIZE];
    file_path(r, name, path);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        printf("%s is missing\n", path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fseek(file, 0, SEEK_END), 0);
    long bytes = ftell(file);
    CU_ASSERT_FATAL(bytes > 0);
    rewind(file);
    void *all = malloc((size_t)bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    CU_ASSERT_EQUAL_FATAL(fread(all, 1, (size_t)bytes, file), (size_t)bytes);
    (void)fclose(file);
    *ret_bytes = (size_t)bytes;
    return all;
}

/* --- what stages make ------------------------------------------------------------------------- */

/* The stage's values are compared, and replaced by torchvision's own. Rows after those of the file
 * are empty. */
static void check_stage(struct run *r, const struct stage_row *row, int tensor) {
    char name[64];
    size_t bytes;
    (void)snprintf(name, sizeof(name), "%s.f32", row->file);
    float *wanted = read_all(r, name, &bytes), *made = made_by(&r->program, tensor);
    CU_ASSERT_FATAL(bytes <= tensor_bytes(&r->graph.tensors[tensor]));
    double apart = 0, squares = 0;
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        double difference = (double)made[i] - (double)wanted[i];
        apart += difference * difference;
        squares += (double)wanted[i] * (double)wanted[i];
    }
    const char *at = golden_line(&r->file, "stage", row->file);
    double theirs = golden_number(&at), error = sqrt(apart / squares);
    printf("stage %s: error %.2g, torch's f32 has %.2g\n", row->file, error, theirs);
    golden_judge(&r->file, "stage", row->file, error, theirs, GOLDEN_FORWARD);
    memcpy(made, wanted, bytes);
    free(wanted);
    r->stages++;
}

/* Values of OP's that lie on the other side of 0 than torchvision's are counted, and put on its
 * side: the gradient is compared there, too. */
static void mend_flips(struct run *r, const struct op *op) {
    const struct tensor *tensor = &r->graph.tensors[op->outputs[0]];
    float *made = made_by(&r->program, op->outputs[0]);
    size_t count = (size_t)shape_count(&tensor->shape);
    const char *at = golden_line(&r->file, "masks", "1");
    if (op->rows != TENSOR_NONE)
        count = count / (size_t)tensor->shape.dim[0] * (size_t)golden_number(&at);
    CU_ASSERT_FATAL(r->bits_read + (count + 7) / 8 <= r->bit_bytes);
    const uint8_t *bits = r->bits + r->bits_read;
    for (size_t i = 0; i < count; i++) {
        bool above = bits[i / 8] >> (7 - i % 8) & 1;
        if (above == (made[i] > 0))
            continue;
        r->flips++;
        made[i] = above ? FLT_MIN : 0;
    }
    r->bits_read += (count + 7) / 8;
}

/* --- what is chosen --------------------------------------------------------------------------- */

static void check_numbers(struct run *r, const char *kind, int tensor) {
    char count[16];
    const int32_t *made = made_by(&r->program, tensor);
    int64_t all = shape_count(&r->graph.tensors[tensor].shape);
    (void)snprintf(count, sizeof(count), "%lld", (long long)all);
    const char *at = golden_line(&r->file, kind, count);
    for (int64_t i = 0; i < all; i++)
        CU_ASSERT_EQUAL(made[i], (int32_t)golden_number(&at));
    r->file.checked++;
}

static bool is_near(const float *a, const float *b) {
    for (int k = 0; k < 4; k++)
        if (!(fabsf(a[k] - b[k]) < 0.01F))
            return false;
    return true;
}

/* The proposals as a set: f32 may find an overlap on the other side of the threshold. What follows
 * goes on with torchvision's. */
static void check_proposals(struct run *r, const struct op *op) {
    size_t bytes;
    float *wanted = read_all(r, "proposals.f32", &bytes);
    float *made = made_by(&r->program, op->outputs[PROPOSALS_BOX]);
    int32_t *count = made_by(&r->program, op->outputs[PROPOSALS_COUNT]);
    char all[16];
    int boxes = (int)(bytes / sizeof(float) / 4), missed = 0;
    for (int i = 0; i < boxes; i++) {
        int k = 0;
        while (k < *count && !is_near(wanted + (ptrdiff_t)4 * i, made + (ptrdiff_t)4 * k))
            k++;
        missed += k == *count;
    }
    (void)snprintf(all, sizeof(all), "%d", boxes);
    const char *at = golden_line(&r->file, "proposals", all);
    double theirs = golden_number(&at);
    printf("proposals: %d of %d not found, by torch's f32 %.0f\n", missed, boxes, theirs);
    CU_ASSERT(missed <= 3 * theirs);
    CU_ASSERT_EQUAL(*count, boxes);
    memcpy(made, wanted, bytes);
    *count = boxes;
    free(wanted);
}

static int after_step(void *user, int step, struct error *err) {
    struct run *r = user;
    const struct op *op = &r->graph.ops[step];
    (void)err;
    if (rectifies(op))
        mend_flips(r, op);
    if (op->kind == OP_PROPOSALS)
        check_proposals(r, op);
    if (op->kind == OP_RPN_TARGETS)
        check_numbers(r, "anchors", op->outputs[RPN_TARGETS_INDEX]);
    if (op->kind == OP_ROI_TARGETS) {
        check_numbers(r, "labels", op->outputs[ROI_TARGETS_LABEL]);
        check_numbers(r, "matches", op->outputs[ROI_TARGETS_MATCH]);
    }
    for (int i = 0; i < STAGES; i++) {
        const struct stage_row *row = &stage_rows[i];
        if (op->kind != row->kind || (row->op != NULL && strcmp(op->name, row->op) != 0))
            continue;
        if (r->met[i]++ == row->number)
            check_stage(r, row, op->outputs[row->slot]);
    }
    return 0;
}

/* --- a step ----------------------------------------------------------------------------------- */

static int canvas(int side) {
    return (side + CANVAS_STEP - 1) / CANVAS_STEP * CANVAS_STEP;
}

static void read_case(struct run *r) {
    unsigned long long seed = 0;
    const char *line = golden_line(&r->file, "case", "maskrcnn_resnet50_fpn");
    CU_ASSERT_EQUAL_FATAL(
        sscanf(line, "%llu %d %d %d", &seed, &r->classes, &r->objects, &r->regions), 4);
    CU_ASSERT_FATAL(r->objects > 0 && r->objects <= OBJECTS_MAX);
    r->seed = seed;
    const char *at = golden_line(&r->file, "size", "4");
    for (int i = 0; i < 4; i++)
        r->size[i] = (int)golden_number(&at);
}

static void put(struct run *r, const char *name, const void *values, size_t bytes) {
    struct error err = {0};
    int status = program_write(&r->program, name, values, bytes, &err);
    if (status != 0)
        printf("%s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(status, 0);
}

/* Boxes in pixels of the resized picture, and of each object's mask what lies in its box. */
static void put_objects(struct run *r, uint8_t *bits, size_t bit_bytes) {
    float box[OBJECTS_MAX][4];
    int32_t label[OBJECTS_MAX], at[OBJECTS_MAX][MASK_FIELDS] = {{0}}, used = 0;
    size_t bytes, plane = (size_t)(r->size[0] * r->size[1]);
    uint8_t *masks = read_all(r, "masks.u8", &bytes);
    CU_ASSERT_EQUAL_FATAL(bytes, plane * (size_t)r->objects);
    const char *text = buf_text(&r->file.text);
    for (int n = 0; n < r->objects; n++) {
        int o[5];
        text = strstr(text, "\nobject 5 ");
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        text += strlen("\nobject 5 ");
        for (int k = 0; k < 5; k++)
            o[k] = (int)golden_number(&text);
        for (int k = 0; k < 4; k++)
            box[n][k] = (float)o[k] * ((float)r->size[3 - k % 2] / (float)r->size[1 - k % 2]);
        label[n] = o[4];
        at[n][MASK_OFFSET] = used;
        at[n][MASK_X] = o[0];
        at[n][MASK_Y] = o[1];
        at[n][MASK_WIDTH] = o[2] - o[0];
        at[n][MASK_HEIGHT] = o[3] - o[1];
        used += (int32_t)mask_bits_bytes(at[n][MASK_WIDTH], at[n][MASK_HEIGHT]);
        CU_ASSERT_FATAL((size_t)used <= bit_bytes);
        for (int y = o[1]; y < o[3]; y++)
            for (int x = o[0]; x < o[2]; x++)
                if (masks[plane * (size_t)n + (size_t)(y * r->size[1] + x)] != 0)
                    mask_bits_set(bits, at[n], x, y);
    }
    free(masks);
    put(r, "gt_box", box, sizeof(box[0]) * (size_t)r->objects);
    put(r, "gt_label", label, sizeof(label[0]) * (size_t)r->objects);
    put(r, "gt_count", &(int32_t){r->objects}, sizeof(int32_t));
    put(r, "gt_mask_at", at, sizeof(at[0]) * (size_t)r->objects);
    put(r, "mask_bits", bits, bit_bytes);
}

static void put_batch(struct run *r, size_t bit_bytes) {
    const int32_t size[IMAGE_SIZE_FIELDS] = {r->size[0], r->size[1], r->size[2], r->size[3], 0, 1};
    int32_t key[SAMPLE_KEY_WORDS] = {0};
    key[SAMPLE_KEY_SEED_LOW] = (int32_t)r->seed;
    key[SAMPLE_KEY_EPOCH] = EPOCH;
    key[SAMPLE_KEY_SAMPLE] = SAMPLE;
    size_t bytes;
    uint8_t *image = read_all(r, "image.u8", &bytes), *bits = calloc(1, bit_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bits);
    put(r, "image", image, bytes);
    put(r, "image_size", size, sizeof(size));
    put(r, "key", key, sizeof(key));
    put_objects(r, bits, bit_bytes);
    free(image);
    free(bits);
}

static struct backend *open_backend(void) {
    struct backend *backend = NULL;
#ifdef RINGMASTER_HAVE_CPU
    /* Bounds are a few times torch's own errors, of which Winograd's products have ten times. */
    const struct cpu_options options = {.threads = 2, .convs = CPU_CONVS_DIRECT};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
#else
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
#endif
    return backend;
}

static void open_run(struct run *r) {
    struct error err = {0};
    golden_open(&r->file, "maskrcnn/full");
    read_case(r);
    r->bits = read_all(r, "relu.bits", &r->bit_bytes);
    const int64_t pixels = (int64_t)r->size[0] * r->size[1];
    const struct maskrcnn_config config = {.model = "maskrcnn_resnet50_fpn",
                                           .preset = "tv",
                                           .batch = 1,
                                           .canvas_h = canvas(r->size[2]),
                                           .canvas_w = canvas(r->size[3]),
                                           .classes = r->classes,
                                           .objects = r->objects,
                                           .image_bytes = pixels * 3,
                                           .mask_bytes = pixels * r->objects,
                                           .training = true,
                                           .frozen_norms = true,
                                           .dtype = DTYPE_F32,
                                           .mean = {0.485F, 0.456F, 0.406F},
                                           .std = {0.229F, 0.224F, 0.225F}};
    r->backend = open_backend();
    CU_ASSERT_EQUAL_FATAL(maskrcnn_build(&r->graph, &config, &r->t, &err), 0);
    const struct compile_options compile = {.fusion = FUSION_NONE};
    CU_ASSERT_EQUAL_FATAL(
        program_compile(&r->program, &r->graph, &r->store, r->backend, &compile, &err), 0);
    start_store(&r->store, r->seed);
    put_batch(r, (size_t)config.mask_bytes);
}

static void close_run(struct run *r) {
    program_done(&r->program);
    store_done(&r->store);
    graph_done(&r->graph);
    backend_close(r->backend);
    buf_done(&r->file.text);
    free(r->bits);
}

static void check_losses(struct run *r) {
    static const char *const names[LOSSES] = {"loss_classifier", "loss_box_reg", "loss_mask",
                                              "loss_objectness", "loss_rpn_box_reg"};
    float metrics[DETECT_METRICS];
    CU_ASSERT_EQUAL(program_read(&r->program, "metrics", metrics, sizeof(metrics), NULL), 0);
    for (int i = 0; i < LOSSES; i++) {
        const char *at = golden_line(&r->file, "loss", names[i]);
        double theirs = golden_number(&at), wanted = golden_number(&at);
        double error = fabs((double)metrics[DETECT_LOSS_CLASSIFIER + i] / wanted - 1);
        printf("%s: error %.2g, torch's f32 has %.2g\n", names[i], error, theirs);
        golden_judge(&r->file, "loss", names[i], error, theirs, GOLDEN_FORWARD);
    }
}

static void check_gradients(struct run *r) {
    int checked = 0, lines = 0;
    for (int k = 0; k < r->store.slot_count; k++) {
        const struct store_slot *slot = &r->store.slots[k];
        if (!slot->trained)
            continue;
        checked++;
        golden_tensor(&r->file, "gradient", slot->name, &slot->shape,
                      store_at(&r->store, slot, STORE_GRADIENTS), NULL, GOLDEN_GRADIENT);
    }
    for (const char *at = buf_text(&r->file.text); (at = strstr(at, "\ngradient ")) != NULL; at++)
        lines++;
    CU_ASSERT_EQUAL(checked, lines);
}

static bool find_folder(struct run *r) {
    const char *data = getenv("RINGMASTER_DATA");
    char path[PATH_SIZE];
    if (getenv("RINGMASTER_LONG") == NULL) {
        unit_skip("RINGMASTER_LONG is not set: it takes minutes and gigabytes");
        return false;
    }
    (void)snprintf(r->folder, sizeof(r->folder), "%s/maskrcnn_full", data == NULL ? "" : data);
    file_path(r, "relu.bits", path);
    if (data == NULL || access(path, R_OK) != 0) {
        unit_skip("RINGMASTER_DATA does not lead to maskrcnn_full (tests/golden/maskrcnn_full.py)");
        return false;
    }
    return true;
}

static void every_stage_is_torchvisions(void) {
    static struct run r;
    const struct program_hooks hooks = {.user = &r, .after_step = after_step};
    struct error err = {0};
    r = (struct run){0};
    if (!find_folder(&r))
        return;
    open_run(&r);
    CU_ASSERT_EQUAL_FATAL(program_run(&r.program, &hooks, &err), 0);
    CU_ASSERT_EQUAL(r.stages, STAGES);
    CU_ASSERT_EQUAL(r.bits_read, r.bit_bytes);
    const char *at = golden_line(&r.file, "flips", "1");
    double theirs = golden_number(&at);
    printf("ReLUs: %ld of %zu values on the other side of 0, in torch's f32 %.0f\n", r.flips,
           r.bit_bytes * 8, theirs);
    CU_ASSERT((double)r.flips <= fmax(3 * theirs, FLIPPED * (double)(r.bit_bytes * 8)));
    check_losses(&r);
    check_gradients(&r);
    close_run(&r);
}

UNIT_SUITE("golden.maskrcnn_full", UNIT(every_stage_is_torchvisions))
