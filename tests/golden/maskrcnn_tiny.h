/* Our version of the small Mask R-CNN of maskrcnn_torch.py: its pictures, objects and masks, its
 * weights, a training step and an evaluation over one store. The canvas has the size that
 * torchvision pads to. */
#ifndef TESTS_GOLDEN_MASKRCNN_TINY_H
#define TESTS_GOLDEN_MASKRCNN_TINY_H

#include "tests/golden/maskrcnn_start.h"
#include "trainer/graph/program/program.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/sample_key.h"
#include "trainer/models/maskrcnn.h"

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

/* As in the script: x1, y1, x2, y2 in the stored picture, and the label. */
static const int objects[PICTURES][OBJECTS][5] = {
    {{6, 9, 38, 52, 1}, {40, 20, 90, 66, 2}, {50, 4, 61, 17, 3}},
    {{10, 30, 60, 90, 3}, {22, 5, 44, 25, 1}}};
static const int sizes[PICTURES][IMAGE_SIZE_FIELDS] = {{72, 96, 36, 48, 0, 1},
                                                       {96, 72, 48, 36, 0, 1}};

/* Norms with the statistics that they were given, or with the step's own. */
struct norms {
    const char *file; /* with golden values */
    bool frozen;
    int trained; /* parameters that have a gradient */
};
static const struct norms frozen_norms = {"maskrcnn/tiny", true, 55};
static const struct norms trained_norms = {"maskrcnn/tiny_batchnorm", false, 89};

struct tiny_batch {
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
    const struct norms *norms;
    struct golden_file file;
    uint64_t seed;
    enum dtype dtype;
    double scale; /* of the loss, and so of all gradients */
    struct backend *backend;
    struct graph train, eval;
    struct program training, evaluation;
    struct program_memory memory;
    struct store store;
    struct maskrcnn_tensors t;
    struct tiny_batch batch;
};

static inline void fill_picture(struct run *r, int n) {
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

/* Draws an ellipse into the object's box. */
static inline void fill_mask(struct tiny_batch *b, int32_t at[MASK_FIELDS], const int o[5],
                             int32_t *used) {
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

static inline void fill_batch(struct run *r) {
    struct tiny_batch *b = &r->batch;
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

static inline void build(struct run *r, struct graph *graph, bool training) {
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
                                           .frozen_norms = r->norms->frozen,
                                           .dtype = r->dtype,
                                           .mean = {0.485F, 0.456F, 0.406F},
                                           .std = {0.229F, 0.224F, 0.225F}};
    struct error err = {0};
    if (maskrcnn_build(graph, &config, &r->t, &err) != 0)
        printf("%s\n", err.text);
    CU_ASSERT_FALSE_FATAL(graph->failed);
    for (int i = 0; i < graph->op_count; i++)
        graph->ops[i].attr.gradient_scale *= r->scale;
}

static inline void open_run(struct run *r, const struct norms *norms, struct backend *backend,
                            enum fusion fusion, enum dtype dtype, double scale) {
    struct error err = {0};
    unsigned long long seed = 0;
    *r = (struct run){.norms = norms, .backend = backend, .dtype = dtype, .scale = scale};
    golden_open(&r->file, norms->file);
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

static inline void close_run(struct run *r) {
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

static inline void feed_step(struct run *r) {
    const struct tiny_batch *batch = &r->batch;
    PUT(&r->training, image);
    PUT(&r->training, image_size);
    PUT(&r->training, gt_box);
    PUT(&r->training, gt_label);
    PUT(&r->training, gt_count);
    PUT(&r->training, gt_mask_at);
    PUT(&r->training, mask_bits);
    PUT(&r->training, key);
}

#endif
