/* A whole Mask R-CNN against torchvision's in f64: losses, what is sampled, every gradient, and
 * what an evaluation finds. The values are in tests/golden/maskrcnn/tiny.txt and come from
 * maskrcnn_torch.py, which says how weights, pictures and masks are made. Weights are of frozen
 * norms; the canvas is torchvision's padding. */
#include "golden/maskrcnn_start.h"
#include "graph/program.h"
#include "kernels/image_size.h"
#include "kernels/mask_bits.h"
#include "kernels/sample_key.h"
#include "models/maskrcnn.h"
#include "ref/ref.h"
#if defined(RINGMASTER_EMULATED)
#include "cuda/emulated.h"
#elif defined(RINGMASTER_HAVE_CPU)
#include "cpu/cpu.h"
#endif

enum {
    PICTURES = 2,
    CLASSES = 3,
    OBJECTS = 4,
    CANVAS = 64,
    IMAGE_BYTES = 72 * 96 * 3,
    POOL = 1 << 14,
    FOUND = 100,
    EPOCH = 2,
    SAMPLE = 40
};

/* As in the script: x1, y1, x2, y2 of the stored picture, and label. */
static const int objects[PICTURES][OBJECTS][5] = {
    {{6, 9, 38, 52, 1}, {40, 20, 90, 66, 2}, {50, 4, 61, 17, 3}},
    {{10, 30, 60, 90, 3}, {22, 5, 44, 25, 1}}};
static const int sizes[PICTURES][IMAGE_SIZE_FIELDS] = {{72, 96, 36, 48, 0, 1},
                                                       {96, 72, 48, 36, 0, 1}};

struct batch {
    uint8_t image[PICTURES][IMAGE_BYTES];
    int32_t image_size[PICTURES][IMAGE_SIZE_FIELDS];
    float gt_box[PICTURES][OBJECTS][4];
    int32_t gt_label[PICTURES][OBJECTS];
    int32_t gt_count[PICTURES];
    int32_t gt_mask_at[PICTURES][OBJECTS][MASK_FIELDS];
    uint8_t mask_bits[POOL];
    int32_t key[PICTURES][SAMPLE_KEY_WORDS];
};

struct run {
    struct golden_file file;
    uint64_t seed;
    struct backend *backend;
    struct graph train, eval;
    struct program training, evaluation;
    struct program_memory memory;
    struct store store;
    struct maskrcnn_tensors t;
    struct batch batch;
};

static void fill_picture(struct run *r, int n) {
    char name[32];
    (void)snprintf(name, sizeof(name), "image%d", n);
    const int h = sizes[n][IMAGE_SIZE_SOURCE_H], w = sizes[n][IMAGE_SIZE_SOURCE_W];
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w * 3; x++) {
            size_t block = (size_t)(y / 4 * (w / 4) + x / 3 / 4) * 3 + (size_t)(x % 3);
            r->batch.image[n][y * w * 3 + x] =
                (uint8_t)(hashed(hashed_name(name), r->seed, block) >> 56);
        }
}

/* An ellipse in the object's box. */
static void fill_mask(struct batch *b, int32_t at[MASK_FIELDS], const int o[5], int32_t *used) {
    at[MASK_OFFSET] = *used;
    at[MASK_X] = o[0];
    at[MASK_Y] = o[1];
    at[MASK_WIDTH] = o[2] - o[0];
    at[MASK_HEIGHT] = o[3] - o[1];
    *used += (int32_t)mask_bits_bytes(at[MASK_WIDTH], at[MASK_HEIGHT]);
    CU_ASSERT_FATAL(*used <= POOL);
    for (int y = o[1]; y < o[3]; y++)
        for (int x = o[0]; x < o[2]; x++) {
            double u = (x + 0.5 - (o[0] + o[2]) / 2.0) / (o[2] - o[0]) * 2;
            double v = (y + 0.5 - (o[1] + o[3]) / 2.0) / (o[3] - o[1]) * 2;
            if (u * u + v * v <= 1)
                mask_bits_set(b->mask_bits, at, x, y);
        }
}

static void fill_batch(struct run *r) {
    struct batch *b = &r->batch;
    int32_t used = 0;
    for (int n = 0; n < PICTURES; n++) {
        const float up = (float)sizes[n][IMAGE_SIZE_H] / (float)sizes[n][IMAGE_SIZE_SOURCE_H];
        fill_picture(r, n);
        for (int i = 0; i < IMAGE_SIZE_FIELDS; i++)
            b->image_size[n][i] = sizes[n][i];
        for (int i = 0; i < OBJECTS && objects[n][i][4] > 0; i++, b->gt_count[n]++) {
            for (int k = 0; k < 4; k++)
                b->gt_box[n][i][k] = (float)objects[n][i][k] * up;
            b->gt_label[n][i] = objects[n][i][4];
            fill_mask(b, b->gt_mask_at[n][i], objects[n][i], &used);
        }
        b->key[n][SAMPLE_KEY_SEED_LOW] = (int32_t)r->seed;
        b->key[n][SAMPLE_KEY_EPOCH] = EPOCH;
        b->key[n][SAMPLE_KEY_SAMPLE] = SAMPLE + n;
    }
}

static void build(struct run *r, struct graph *graph, bool training) {
    const struct maskrcnn_config config = {.model = "maskrcnn_tiny",
                                           .preset = "tv",
                                           .batch = PICTURES,
                                           .canvas_h = CANVAS,
                                           .canvas_w = CANVAS,
                                           .classes = CLASSES,
                                           .objects = OBJECTS,
                                           .image_bytes = IMAGE_BYTES,
                                           .mask_bytes = POOL,
                                           .training = training,
                                           .frozen_norms = true,
                                           .dtype = DTYPE_F32,
                                           .mean = {0.485F, 0.456F, 0.406F},
                                           .std = {0.229F, 0.224F, 0.225F}};
    struct error err = {0};
    if (maskrcnn_build(graph, &config, &r->t, &err) != 0)
        printf("%s\n", err.text);
    CU_ASSERT_FALSE_FATAL(graph->failed);
}

static void open_run(struct run *r, struct backend *backend, enum fusion fusion) {
    struct error err = {0};
    unsigned long long seed = 0;
    *r = (struct run){.backend = backend};
    golden_open(&r->file, "maskrcnn/tiny");
    const char *line = golden_line(&r->file, "case", "maskrcnn_tiny");
    CU_ASSERT_EQUAL_FATAL(sscanf(line, "%llu", &seed), 1);
    r->seed = seed;
    build(r, &r->eval, false);
    build(r, &r->train, true);
    struct program *programs[] = {&r->training, &r->evaluation};
    struct graph *graphs[] = {&r->train, &r->eval};
    const struct compile_options options = {.fusion = fusion};
    if (programs_compile(programs, graphs, 2, &r->memory, &r->store, backend, &options, &err) != 0)
        printf("%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->evaluation.steps);
    start_store(&r->store, r->seed);
    fill_batch(r);
}

static void close_run(struct run *r) {
    program_done(&r->training);
    program_done(&r->evaluation);
    program_memory_done(&r->memory);
    store_done(&r->store);
    graph_done(&r->train);
    graph_done(&r->eval);
    backend_close(r->backend);
    buf_done(&r->file.text);
}

#define PUT(program, field)                                                                        \
    CU_ASSERT_EQUAL(program_write(program, #field, batch->field, sizeof(batch->field), NULL), 0)

static void check_losses(struct run *r) {
    float metrics[DETECT_METRICS], losses[5];
    CU_ASSERT_EQUAL(program_read(&r->training, "metrics", metrics, sizeof(metrics), NULL), 0);
    CU_ASSERT_EQUAL(metrics[DETECT_IMAGES], PICTURES);
    for (int i = 0; i < 5; i++)
        losses[i] = metrics[DETECT_LOSS_CLASSIFIER + i] / PICTURES;
    golden_values(&r->file, "losses", losses, 5, GOLDEN_FORWARD);
    float positives = 0, anchors = 0;
    for (int n = 0; n < PICTURES; n++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "chosen_rpn%d", n);
        const char *at = golden_line(&r->file, name, NULL);
        anchors += (float)golden_number(&at);
        (void)snprintf(name, sizeof(name), "labels%d", n);
        at = golden_line(&r->file, name, NULL);
        for (int regions = (int)golden_number(&at); regions > 0; regions--)
            positives += golden_number(&at) > 0 ? 1.0F : 0.0F;
    }
    CU_ASSERT_EQUAL(metrics[DETECT_RPN_POSITIVES], anchors);
    CU_ASSERT_EQUAL(metrics[DETECT_POSITIVES], positives);
}

static void train_once(struct run *r) {
    const struct batch *batch = &r->batch;
    PUT(&r->training, image);
    PUT(&r->training, image_size);
    PUT(&r->training, gt_box);
    PUT(&r->training, gt_label);
    PUT(&r->training, gt_count);
    PUT(&r->training, gt_mask_at);
    PUT(&r->training, mask_bits);
    PUT(&r->training, key);
    CU_ASSERT_EQUAL_FATAL(program_run(&r->training, NULL, NULL), 0);
    check_losses(r);
    int trained = 0;
    for (int k = 0; k < r->store.slot_count; k++) {
        const struct store_slot *slot = &r->store.slots[k];
        if (!slot->trained)
            continue;
        trained++;
        golden_tensor(&r->file, "gradient", slot->name, &slot->shape,
                      store_at(&r->store, slot, STORE_GRADIENTS), NULL, GOLDEN_GRADIENT);
    }
    CU_ASSERT_EQUAL(trained, 55);
}

struct found {
    float box[PICTURES][FOUND][4], score[PICTURES][FOUND], mask[PICTURES][FOUND][28][28];
    int32_t label[PICTURES][FOUND], count[PICTURES];
};

static double apart(const float a[4], const double b[4]) {
    double most = 0;
    for (int k = 0; k < 4; k++)
        most = golden_worse(most, fabs((double)a[k] - b[k]));
    return most;
}

#define SWAP(array, i, j)                                                                          \
    do {                                                                                           \
        char kept[sizeof((array)[0])];                                                             \
        memcpy(kept, &(array)[i], sizeof(kept));                                                   \
        memmove(&(array)[i], &(array)[j], sizeof(kept));                                           \
        memcpy(&(array)[j], kept, sizeof(kept));                                                   \
    } while (0)

/* What is found comes by falling scores; where these differ by roundings alone torchvision's order
 * is another one, and its boxes say which. */
static void take_order(struct run *r, struct found *f, int n) {
    char name[32];
    (void)snprintf(name, sizeof(name), "boxes%d", n);
    const char *at = golden_line(&r->file, name, "400");
    (void)golden_number(&at); /* torch's own error */
    for (int i = 1; i < FOUND; i++)
        CU_ASSERT(f->score[n][i - 1] >= f->score[n][i]);
    for (int i = 0; i < FOUND; i++) {
        double wanted[4];
        int nearest = i;
        for (int k = 0; k < 4; k++)
            wanted[k] = golden_number(&at);
        for (int j = i + 1; j < FOUND; j++)
            if (apart(f->box[n][j], wanted) < apart(f->box[n][nearest], wanted))
                nearest = j;
        SWAP(f->box[n], i, nearest);
        SWAP(f->score[n], i, nearest);
        SWAP(f->label[n], i, nearest);
        SWAP(f->mask[n], i, nearest);
    }
}

static void evaluate_once(struct run *r) {
    static struct found f;
    const struct batch *batch = &r->batch;
    PUT(&r->evaluation, image);
    PUT(&r->evaluation, image_size);
    CU_ASSERT_EQUAL_FATAL(program_run(&r->evaluation, NULL, NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_box", f.box, sizeof(f.box), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_score", f.score, sizeof(f.score), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_label", f.label, sizeof(f.label), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_count", f.count, sizeof(f.count), NULL), 0);
    CU_ASSERT_EQUAL(program_read(&r->evaluation, "found_mask", f.mask, sizeof(f.mask), NULL), 0);
    for (int n = 0; n < PICTURES; n++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "found%d", n);
        const char *at = golden_line(&r->file, name, "100");
        CU_ASSERT_EQUAL_FATAL(f.count[n], FOUND);
        take_order(r, &f, n);
        for (int i = 0; i < FOUND; i++)
            CU_ASSERT_EQUAL(f.label[n][i], golden_number(&at));
        (void)snprintf(name, sizeof(name), "scores%d", n);
        golden_values(&r->file, name, f.score[n], FOUND, GOLDEN_FORWARD);
        (void)snprintf(name, sizeof(name), "boxes%d", n);
        golden_values(&r->file, name, f.box[n][0], FOUND * 4, GOLDEN_FORWARD);
    }
    struct shape masks = shape_3(PICTURES * FOUND, 28, 28);
    golden_tensor(&r->file, "masks", "masks", &masks, f.mask[0][0][0], NULL, GOLDEN_FORWARD);
}

static void check(struct backend *backend, enum fusion fusion) {
    static struct run r;
    open_run(&r, backend, fusion);
    evaluate_once(&r);
    train_once(&r);
    evaluate_once(&r);
    close_run(&r);
}

#ifdef RINGMASTER_EMULATED
/* Our kernels on the emulated device, on which two pictures' objects fill one share of the masks'
 * rows, forward and backward. */
static void the_device_is_torchvisions(void) {
    static const enum fusion levels[] = {FUSION_ALL, FUSION_CONV};
    for (int i = 0; i < 2; i++) {
        struct backend *device = NULL;
        int chosen[ROW_PARTS] = {0};
        CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, NULL), 0);
        emulated_choose_rows(device, chosen);
        check(device, levels[i]);
        int shares = 0;
        for (int k = 0; k < ROW_PARTS; k++)
            shares += chosen[k] > 0;
        CU_ASSERT_EQUAL(shares, 1);
        CU_ASSERT_EQUAL(chosen[ROW_PARTS - 1], 0);
    }
}

UNIT_MAIN("cuda.maskrcnn", UNIT(the_device_is_torchvisions))
#else
static void the_reference_is_torchvisions(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    check(backend, FUSION_NONE);
}

/* Norms in weights, ReLUs and their sums in the data gradients: what GPUs do at that level. */
static void the_reference_is_torchvisions_when_convolutions_are_fused(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    check(backend, FUSION_CONV);
}

#ifdef RINGMASTER_HAVE_CPU
static struct backend *fast(void) {
    struct backend *backend = NULL;
    /* Bounds are a few times torch's own errors, of which Winograd's products have ten times. */
    struct cpu_options options = {.threads = 2, .convs = CPU_CONVS_DIRECT};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
    return backend;
}

static void the_cpu_is_torchvisions(void) {
    check(fast(), FUSION_NONE);
    check(fast(), FUSION_ALL);
}

UNIT_MAIN("golden.maskrcnn", UNIT(the_reference_is_torchvisions),
          UNIT(the_reference_is_torchvisions_when_convolutions_are_fused),
          UNIT(the_cpu_is_torchvisions))
#else
UNIT_MAIN("golden.maskrcnn", UNIT(the_reference_is_torchvisions),
          UNIT(the_reference_is_torchvisions_when_convolutions_are_fused))
#endif
#endif
