/* Steps of a small Mask R-CNN by the device's stepper (step/device_step.h) on the emulated
 * device, with pictures on two canvases in turn, against the host's stepper on the reference: the
 * same losses, weights and statistics except for rounding, with norms as they were given and with
 * norms that are trained. Selections on the way are exact: after each one the reference makes the
 * same from the device's own numbers. */
#include "tests/cuda/emulated.h"
#include "tests/support/unit.h"
#include "trainer/app/step/stepper.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/comm/comm.h"
#include "trainer/math/image_size.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/random.h"
#include "trainer/math/sample_key.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 2,
    SLOTS = 3,
    CLASSES = 3,
    CANVASES = 2,
    IMAGE = 64 * 96 * 3,
    POOL = BATCH * SLOTS * 1024,
    STEPS = 6, /* each canvas is warmed up, recorded and run again */
    METRICS = 8,
    SLOTS_MAX = 512
};

static const struct network_canvas canvases[CANVASES] = {{64, 64, 0}, {64, 96, 0}};

struct places {
    uint8_t image[BATCH][IMAGE];
    int32_t image_size[BATCH][IMAGE_SIZE_FIELDS];
    float gt_box[BATCH][SLOTS][4];
    int32_t gt_label[BATCH][SLOTS];
    int32_t gt_count[BATCH];
    int32_t gt_mask_at[BATCH][SLOTS][MASK_FIELDS];
    uint8_t mask_bits[POOL];
    int32_t key[BATCH][SAMPLE_KEY_WORDS];
};

/* An object of W x H pixels, a lattice as its mask. */
static void put_object(struct places *p, int n, int slot, int32_t *used, struct random *random) {
    const int32_t w = 12 + (int32_t)random_below(random, 24);
    const int32_t h = 12 + (int32_t)random_below(random, 24);
    int32_t *at = p->gt_mask_at[n][slot];
    at[MASK_OFFSET] = *used;
    at[MASK_X] = (int32_t)random_below(random, (uint32_t)(p->image_size[n][IMAGE_SIZE_W] - w));
    at[MASK_Y] = (int32_t)random_below(random, (uint32_t)(p->image_size[n][IMAGE_SIZE_H] - h));
    at[MASK_WIDTH] = w;
    at[MASK_HEIGHT] = h;
    *used += (int32_t)mask_bits_bytes(w, h);
    CU_ASSERT_FATAL(*used <= POOL);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            if (x % 4 != 3 || y % 4 != 3)
                mask_bits_set(p->mask_bits, at, at[MASK_X] + x, at[MASK_Y] + y);
    const float box[4] = {(float)at[MASK_X], (float)at[MASK_Y], (float)(at[MASK_X] + w),
                          (float)(at[MASK_Y] + h)};
    memcpy(p->gt_box[n][slot], box, sizeof(box));
    p->gt_label[n][slot] = 1 + (int32_t)random_below(random, CLASSES);
}

/* Pictures and objects hang on the step alone. In the last but one the second place is empty, as
 * where a file cannot be read. */
static void fill(struct places *p, int step) {
    struct random random = random_stream(11, 0, (uint32_t)step);
    const struct network_canvas *canvas = &canvases[step % CANVASES];
    int32_t used = 0;
    memset(p, 0, sizeof(*p));
    for (int n = 0; n < BATCH; n++) {
        const bool valid = n == 0 || step != STEPS - 2;
        const int32_t side = valid ? canvas->height - 6 * n : 1;
        const int32_t other = valid ? canvas->width : 1;
        const int32_t size[IMAGE_SIZE_FIELDS] = {side, other, side, other, 0, valid};
        memcpy(p->image_size[n], size, sizeof(size));
        for (int i = 0; valid && i < side * other * 3; i++)
            p->image[n][i] = (uint8_t)random_below(&random, 256);
        p->gt_count[n] = valid ? SLOTS - n : 0;
        for (int slot = 0; slot < p->gt_count[n]; slot++)
            put_object(p, n, slot, &used, &random);
        p->key[n][SAMPLE_KEY_SEED_LOW] = 5;
        p->key[n][SAMPLE_KEY_SAMPLE] = step * BATCH + n;
    }
}

#define PUT(name)                                                                                  \
    batch->fields[batch_layout_add(layout, #name, sizeof(places->name))] = places->name

static void put_all(struct batch *batch, struct batch_layout *layout, struct places *places) {
    PUT(image);
    PUT(image_size);
    PUT(gt_box);
    PUT(gt_label);
    PUT(gt_count);
    PUT(gt_mask_at);
    PUT(mask_bits);
    PUT(key);
}

struct world {
    struct network net;
    struct stepper stepper;
    struct comm *alone;
};

/* What is trained, and for how many steps. */
struct training {
    bool frozen; /* norms */
    enum fusion fusion;
    int steps;
};

static const struct training frozen_norms = {true, FUSION_CONV, STEPS};

static int open_world(struct world *w, const struct training *t, struct backend *backend,
                      struct error *err) {
    static const double mean[3] = {0.5, 0.5, 0.5};
    struct network_options o = {
        .model = "maskrcnn_tiny",
        .mean = mean,
        .std = mean,
        .batch = BATCH,
        .canvases = {canvases[0], canvases[1]},
        .canvas_count = CANVASES,
        .classes = CLASSES,
        .dtype = DTYPE_F32,
        .fusion = t->fusion,
        .objects = {.preset = "tv",
                    .slots = SLOTS,
                    .anchor_samples = 64,
                    .region_samples = 32,
                    .image_bytes = IMAGE,
                    .mask_bytes = POOL,
                    .frozen_norms = t->frozen},
    };
    struct stepper_options how = {.accumulate = 1,
                                  .optimizer = {.momentum = 0.9F, .weight_decay = 1e-4F}};
    if (comm_self_open(&w->alone, err) != 0 || network_open(&w->net, backend, &o, true, err) != 0 ||
        store_start(&w->net.store, 7, err) != 0)
        return -1;
    return stepper_open(&w->stepper, &w->net, w->alone, &how, err);
}

struct trained {
    double metrics[STEPS][METRICS];
    int told;
    struct numbers {
        float *values; /* owned */
        size_t count;
    } weights, states; /* states: running statistics, none where norms are frozen */
};

static void keep(struct trained *ret, const struct step_outcome *outcome) {
    if (!outcome->known)
        return;
    CU_ASSERT(outcome->applied && !outcome->skipped && ret->told < STEPS);
    memcpy(ret->metrics[ret->told++], outcome->metrics, sizeof(ret->metrics[0]));
}

static int take_step(struct world *w, int step, bool last, struct trained *ret, struct error *err) {
    static struct places places[2]; /* one is overwritten while the other one is under way */
    struct batch_layout layout = {.count = 0};
    struct batch batch = {.layout = &layout, .canvas = step % CANVASES, .count = BATCH};
    struct step_outcome outcome = {.known = false};
    fill(&places[step % 2], step);
    put_all(&batch, &layout, &places[step % 2]);
    if (stepper_micro(&w->stepper, &batch, err) != 0 ||
        stepper_finish(&w->stepper, 0.01, &outcome, err) != 0)
        return -1;
    keep(ret, &outcome);
    if (!last || w->stepper.pending == 0)
        return 0;
    if (stepper_settle(&w->stepper, &outcome, err) != 0)
        return -1;
    keep(ret, &outcome);
    return 0;
}

static int by_name(const void *a, const void *b) {
    const struct store_slot *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* The values of ARENA, tensor by tensor in the order of their names: in the arena they lie as their
 * gradients are made, and two backends fuse differently. */
static int pull(struct world *w, enum store_arena arena, struct numbers *ret, struct error *err) {
    const struct store *store = &w->net.store;
    const struct store_slot *slots[SLOTS_MAX];
    size_t count = 0;
    void *values = NULL;
    if (store_pull(&w->net.store, arena, &values, err) != 0)
        return -1;
    CU_ASSERT_FATAL(store->slot_count <= SLOTS_MAX);
    for (int i = 0; i < store->slot_count; i++)
        if (store->slots[i].home == arena)
            slots[count++] = &store->slots[i];
    qsort(slots, count, sizeof(slots[0]), by_name);
    ret->values = calloc(store->count[arena] + 1, sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ret->values);
    for (size_t i = 0; i < count; i++) {
        memcpy(&ret->values[ret->count], (const float *)values + slots[i]->first,
               slots[i]->count * sizeof(float));
        ret->count += slots[i]->count;
    }
    return 0;
}

/* Takes all steps on BACKEND, which it closes. */
static void train(const struct training *t, struct backend *backend, struct trained *ret) {
    struct world w = {.alone = NULL};
    struct error err = {0};
    *ret = (struct trained){.told = 0};
    int result = open_world(&w, t, backend, &err);
    for (int step = 0; step < t->steps && result == 0; step++)
        result = take_step(&w, step, step + 1 == t->steps, ret, &err);
    if (result == 0)
        result = pull(&w, STORE_PARAMETERS, &ret->weights, &err);
    if (result == 0)
        result = pull(&w, STORE_STATE, &ret->states, &err);
    if (result != 0)
        printf("%s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(result, 0);
    CU_ASSERT_EQUAL(ret->told, t->steps);
    stepper_done(&w.stepper);
    network_done(&w.net);
    comm_close(w.alone);
    backend_close(backend);
}

static void trained_done(struct trained *trained) {
    free(trained->weights.values);
    free(trained->states.values);
}

static struct backend *reference(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
    return backend;
}

static struct backend *device(void) {
    struct backend *backend = NULL;
    CU_ASSERT_EQUAL_FATAL(emulated_open(&backend, true, NULL), 0);
    return backend;
}

/* What decides which numbers a network learns from. */
static const enum op_kind selections[] = {OP_RPN_TOP_K,   OP_RPN_BOXES,   OP_NMS,      OP_PROPOSALS,
                                          OP_RPN_TARGETS, OP_ROI_TARGETS, OP_MASK_ROWS};
enum { SELECTIONS = sizeof(selections) / sizeof(selections[0]) };

struct told {
    int runs[SELECTIONS];
    double worst[SELECTIONS];
    int operators; /* of any kind, all runs */
    double furthest;
};

static void note(void *user, const struct op *op, double error) {
    struct told *told = user;
    told->operators++;
    if (!(error <= told->furthest)) /* NaN too */
        told->furthest = error;
    for (int i = 0; i < SELECTIONS; i++) {
        if (op->kind != selections[i])
            continue;
        told->runs[i]++;
        if (!(error <= told->worst[i])) /* NaN too */
            told->worst[i] = error;
    }
}

static void hold_numbers(const char *what, const struct numbers *device_,
                         const struct numbers *host, double bound) {
    double worst = 0, largest = 0;
    CU_ASSERT_EQUAL_FATAL(device_->count, host->count);
    for (size_t i = 0; i < host->count; i++) {
        double apart = fabs((double)device_->values[i] - (double)host->values[i]);
        if (!(apart <= worst)) /* NaN too */
            worst = apart;
        largest = fmax(largest, fabs((double)host->values[i]));
    }
    printf("device and ref: %s %.2g apart of %.2g\n", what, worst, largest);
    CU_ASSERT(worst <= bound * largest);
}

static void hold(const struct trained *device_, const struct trained *host, double bound) {
    for (int step = 0; step < host->told; step++)
        for (int i = 0; i < METRICS; i++) {
            double wanted = host->metrics[step][i];
            CU_ASSERT(wanted > 0);
            CU_ASSERT_DOUBLE_EQUAL(device_->metrics[step][i], wanted, bound * wanted);
        }
    hold_numbers("weights", &device_->weights, &host->weights, bound);
    hold_numbers("statistics", &device_->states, &host->states, bound);
}

/* The steps of a training on the device, each operator beside the reference on the same inputs. */
static void train_beside(const struct training *t, struct told *told, struct trained *ret) {
    struct backend *compared = device();
    *told = (struct told){.runs = {0}};
    emulated_compare(compared, note, told);
    train(t, compared, ret);
    for (int i = 0; i < SELECTIONS; i++) {
        CU_ASSERT_EQUAL(told->runs[i], t->steps);
        CU_ASSERT_EQUAL(told->worst[i], 0);
    }
}

static void a_detectors_steps_are_the_hosts_and_choose_the_same(void) {
    struct told told;
    struct trained on_device, on_host;
    train_beside(&frozen_norms, &told, &on_device);
    train(&frozen_norms, reference(), &on_host);
    CU_ASSERT_EQUAL(on_host.states.count, 0);
    hold(&on_device, &on_host, 1e-5);
    trained_done(&on_device);
    trained_done(&on_host);
}

/* A step on each canvas. Statistics of eight values widen roundings: in later steps one of the two
 * trainings may choose another region, and learns something else from then on. */
static void so_are_those_whose_norms_are_trained(void) {
    static const enum fusion levels[] = {FUSION_NONE, FUSION_CONV};
    for (int i = 0; i < 2; i++) {
        const struct training t = {false, levels[i], CANVASES};
        struct trained on_device, on_host;
        train(&t, device(), &on_device);
        train(&t, reference(), &on_host);
        CU_ASSERT(on_host.states.count > 0);
        hold(&on_device, &on_host, 1e-5);
        trained_done(&on_device);
        trained_done(&on_host);
    }
}

/* In all steps, those that are recorded and run again among them; not those of cuDNN. */
static void with_trained_norms_every_operator_is_the_references(void) {
    static const enum fusion levels[] = {FUSION_NONE, FUSION_CONV};
    for (int i = 0; i < 2; i++) {
        const struct training t = {false, levels[i], STEPS};
        struct trained on_device;
        struct told told;
        train_beside(&t, &told, &on_device);
        printf("%d operators beside the reference, %.2g apart\n", told.operators, told.furthest);
        CU_ASSERT(told.operators > STEPS * 50);
        CU_ASSERT(told.furthest <= 1e-5);
        trained_done(&on_device);
    }
}

static void the_order_of_streams_changes_no_bit(void) {
    static const enum streams_order orders[] = {STREAMS_MAIN_FIRST, STREAMS_MIXED};
    struct trained at_once;
    train(&frozen_norms, device(), &at_once);
    for (int i = 0; i < 2; i++) {
        struct trained on_streams;
        struct backend *backend = NULL;
        CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&backend, orders[i], 3, NULL), 0);
        train(&frozen_norms, backend, &on_streams);
        CU_ASSERT_EQUAL(memcmp(on_streams.metrics, at_once.metrics, sizeof(at_once.metrics)), 0);
        CU_ASSERT_EQUAL(memcmp(on_streams.weights.values, at_once.weights.values,
                               at_once.weights.count * sizeof(float)),
                        0);
        trained_done(&on_streams);
    }
    trained_done(&at_once);
}

UNIT_SUITE("cuda.detector", UNIT(a_detectors_steps_are_the_hosts_and_choose_the_same),
           UNIT(so_are_those_whose_norms_are_trained),
           UNIT(with_trained_norms_every_operator_is_the_references),
           UNIT(the_order_of_streams_changes_no_bit))
