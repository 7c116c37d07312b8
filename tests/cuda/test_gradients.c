/* Weight gradients in the type of activations (struct backend_gradients): what update and sums make
 * of them, and that training by them is what it is by wide ones. */
#include "tests/cuda/counted_sums.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/training.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

static const struct optimizer_rule rule = {
    .step = {.rate = 0.1F, .momentum = 0.9F, .scale = 0.5F, .nesterov = 1}, .groups = {{1, 1e-4F}}};

struct arenas {
    float weights[COUNT], momentum[COUNT], gradients[COUNT];
};

static void fill(struct arenas *a, float scale) {
    for (int i = 0; i < COUNT; i++) {
        a->weights[i] = 0.01F * (float)i - 3;
        a->momentum[i] = 0.5F - 0.001F * (float)i;
        a->gradients[i] = scale * (0.25F - 0.0005F * (float)i);
    }
}

/* Every second group of gradients is in half precision, with NaN in the place where it is not read.
 */
struct mixed {
    struct arenas arenas;
    uint16_t half[COUNT];
    unsigned char half_mask[COUNT / LAUNCH_GROUP + 1];
    float values[COUNT]; /* what the gradients are */
};

static void fill_mixed(struct mixed *m, enum dtype type) {
    const uint16_t nan = type == DTYPE_F16 ? f16_from_f32(NAN) : bf16_from_f32(NAN);
    fill(&m->arenas, 64);
    for (int i = 0; i < COUNT; i++) {
        float v = m->arenas.gradients[i];
        uint16_t half = type == DTYPE_F16 ? f16_from_f32(v) : bf16_from_f32(v);
        bool is_half = i / LAUNCH_GROUP % 2 == 1;
        m->half_mask[i / LAUNCH_GROUP] = is_half;
        m->half[i] = is_half ? half : nan;
        if (is_half)
            m->arenas.gradients[i] = NAN;
        m->values[i] = !is_half ? v : type == DTYPE_F16 ? f16_to_f32(half) : bf16_to_f32(half);
    }
}

static struct backend_gradients gradients_of(struct mixed *m, enum dtype type) {
    return (struct backend_gradients){
        .wide = m->arenas.gradients, .half = m->half, .half_mask = m->half_mask, .type = (int)type};
}

/* Clipped and not; with a rounded copy of the weights and without. */
static void an_update_by_half_gradients_is_one_by_their_values(void) {
    static struct mixed m;
    static struct arenas host;
    static uint16_t rounded[COUNT];
    for (int k = 0; k < 4; k++) {
        enum dtype type = k % 2 == 0 ? DTYPE_F16 : DTYPE_BF16;
        struct control control = {.rule = rule, .state = {.finite = 1, .loss_scale = 64}};
        struct control wide = control;
        fill_mixed(&m, type);
        fill(&host, 64);
        memcpy(host.gradients, m.values, sizeof(m.values));
        control.rule.clip_norm = wide.rule.clip_norm = 0.5F;
        struct optimizer_args args = {.weights = m.arenas.weights,
                                      .state.momentum = m.arenas.momentum,
                                      .gradients = gradients_of(&m, type),
                                      .half = k < 2 ? rounded : NULL,
                                      .half_type = type,
                                      .clips = k % 3 == 0,
                                      .count = COUNT};
        struct optimizer_args plain = {.weights = host.weights,
                                       .state.momentum = host.momentum,
                                       .gradients = {.wide = host.gradients},
                                       .clips = args.clips,
                                       .count = COUNT};
        CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
        CU_ASSERT_EQUAL(launch_optimizer(NULL, &wide, &plain), cudaSuccess);
        CU_ASSERT_EQUAL(control.state.finite, 1);
        CU_ASSERT(!args.clips || control.clip < 1);
        CU_ASSERT_EQUAL(memcmp(m.arenas.weights, host.weights, sizeof(host.weights)), 0);
        CU_ASSERT_EQUAL(memcmp(m.arenas.momentum, host.momentum, sizeof(host.momentum)), 0);
    }
}

static void a_half_gradient_that_overflowed_ends_the_step(void) {
    static struct mixed m, before;
    struct control control = {
        .rule = rule, .state = {.finite = 1, .loss_scale = 64}, .growth_interval = 9};
    struct optimizer_args args = {.weights = m.arenas.weights,
                                  .state.momentum = m.arenas.momentum,
                                  .gradients = gradients_of(&m, DTYPE_F16),
                                  .count = COUNT};
    fill_mixed(&m, DTYPE_F16);
    m.half[LAUNCH_GROUP + 3] = f16_from_f32(65520); /* the least that is infinite */
    before = m;
    CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
    CU_ASSERT_EQUAL(control.state.finite, 0);
    CU_ASSERT_EQUAL(control.state.loss_scale, 32);
    CU_ASSERT_EQUAL(memcmp(&m, &before, sizeof(m)), 0);
    /* Two types at once nobody has. */
    args.half = m.half;
    args.half_type = DTYPE_BF16;
    CU_ASSERT_NOT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
}

/* Widened in place, and added onto a sum; everything before and after the slice stays unchanged. */
static void half_gradients_are_added_in_f32(void) {
    enum { FIRST = 3 * LAUNCH_GROUP, SLICE = 20 * LAUNCH_GROUP };
    static struct mixed m;
    static float sum[COUNT], to[COUNT];
    for (int k = 0; k < 4; k++) {
        enum dtype type = k % 2 == 0 ? DTYPE_F16 : DTYPE_BF16;
        bool own = k < 2;
        fill_mixed(&m, type);
        for (int i = 0; i < COUNT; i++)
            sum[i] = to[i] = 1000.0F + (float)i / 7;
        struct backend_sum args = {.to = own ? m.arenas.gradients : sum,
                                   .sum = own ? NULL : sum,
                                   .gradients = gradients_of(&m, type),
                                   .first = FIRST,
                                   .count = SLICE};
        CU_ASSERT_EQUAL(launch_add_gradients(NULL, &args), cudaSuccess);
        for (int i = 0; i < COUNT; i++) {
            bool inside = i >= FIRST && i < FIRST + SLICE;
            float gradient = m.arenas.gradients[i];
            if (!own) {
                CU_ASSERT_EQUAL(sum[i], inside ? to[i] + m.values[i] : to[i]);
            } else if (inside) {
                CU_ASSERT_EQUAL(gradient, m.values[i]);
            } else {
                CU_ASSERT_EQUAL(isnan(gradient), i / LAUNCH_GROUP % 2 == 1);
            }
        }
    }
}

static const struct training small = {
    .fusion = FUSION_NORM, .batch = 2, .size = 8, .steps = 3, .decay_all = true, .rate = 0.01};

enum how { READ, SUMMED, WIDE };

/* The update reads half-precision gradients; or it reads sums over ranks, as if there were other
 * ranks that add nothing; or the device's matrix products make all gradients in f32. */
static void train(struct training t, enum how how, struct training_outcome *ret) {
    struct device_sum sums = {.driver = &counted_driver};
    struct backend *device = NULL;
    CU_ASSERT_EQUAL_FATAL(emulated_open_streams(&device, STREAMS_MIXED, 3, NULL), 0);
    const struct backend_table *given = device->table;
    struct backend_device without = *given->device;
    struct backend_table table = *given;
    without.half_gradient = NULL;
    table.device = &without;
    if (how == WIDE)
        device->table = &table;
    if (how == SUMMED)
        t.sums = &sums;
    training_run(device, &t, ret);
    device->table = given;
    backend_close(device);
}

/* max|a - b| / max|b - start|: of what the steps have changed. */
static double apart(const struct training_outcome *a, const struct training_outcome *b,
                    const struct training_outcome *start) {
    double worst = 0, moved = 0;
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        worst = fmax(worst, fabs((double)a->weights[i] - (double)b->weights[i]));
        moved = fmax(moved, fabs((double)b->weights[i] - (double)start->weights[i]));
    }
    CU_ASSERT_FATAL(moved > 0);
    return worst / moved;
}

/* Brought into f32 before the update they give the same bits. And a step is that by gradients in
 * f32, but for one rounding to the type. */
static void half_gradients_train_as_wide_ones(void) {
    for (int k = 0; k < 3; k++) {
        struct training_outcome read = {0}, summed = {0}, wide = {0}, start = {0};
        struct training t = small;
        t.dtype = k == 1 ? DTYPE_BF16 : DTYPE_F16;
        t.accumulate = k == 2 ? 2 : 1;
        train(t, READ, &read);
        train(t, SUMMED, &summed);
        CU_ASSERT_EQUAL(memcmp(read.losses, summed.losses, sizeof(read.losses)), 0);
        CU_ASSERT_EQUAL(memcmp(read.weights, summed.weights, read.count * sizeof(float)), 0);
        training_done(&read);
        t.steps = 1;
        train(t, READ, &read);
        train(t, WIDE, &wide);
        t.rate = 0;
        train(t, WIDE, &start);
        double bound = t.dtype == DTYPE_BF16 ? 1.0 / 256 : 1.0 / 2048;
        double error = apart(&read, &wide, &start);
        printf("%s, %d micro-batches: %.2g of the update apart\n", dtype_name(t.dtype),
               t.accumulate, error);
        CU_ASSERT(error > 0 && error <= bound);
        training_done(&read);
        training_done(&summed);
        training_done(&wide);
        training_done(&start);
    }
}

/* How many of PROGRAM's weight gradients of convolutions come out in f32, and the name of the last
 * of them; *RET_ALL: how many there are. */
static int count_wide(const struct program *program, const char **ret_name, int *ret_all) {
    int wide = 0;
    *ret_all = 0;
    for (int i = 0; i < program->graph->op_count; i++) {
        const struct op *op = &program->graph->ops[i];
        bool own = op->kind >= OP_CONV2D_BACKWARD && op->kind <= OP_CONV2D_BACKWARD_JOIN;
        if (!own && op->kind != OP_CONV2D_GRAD_WEIGHT && op->kind != OP_NORM_CONV2D_GRAD_WEIGHT)
            continue;
        const struct tensor *gradient =
            &program->graph->tensors[op->outputs[own ? CONV_BACKWARD_DW : 0]];
        ++*ret_all;
        if (gradient->dtype != DTYPE_F32)
            continue;
        wide++;
        *ret_name = program->graph->tensors[gradient->parameter].name;
    }
    return wide;
}

/* A gradient that cuDNN makes in f32 or with another number of channels costs one more launch. */
static void all_weight_gradients_but_the_stems_stay_half(void) {
    struct backend *device = NULL;
    struct net net;
    struct error err = {0};
    const char *name = "";
    int all = 0;
    struct resnet_config config = net_config("resnet50", 1, 32, true);
    config.dtype = DTYPE_F16;
    config.stem_channels = 4;
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    net_init(&net, device, config, (struct compile_options){.fusion = FUSION_CONV});
    CU_ASSERT_EQUAL(count_wide(&net.program, &name, &all), 1);
    CU_ASSERT_EQUAL(all, 53);
    CU_ASSERT_STRING_EQUAL(name, "conv1.weight");
    net_done(&net);
}

/* Gradients are read in f32, whatever type they were made in. */
static void gradients_are_read_in_f32(void) {
    struct backend *device = NULL;
    struct net net;
    struct error err = {0};
    void *pulled = NULL;
    struct resnet_config config = net_config("resnet20", 2, 8, true);
    config.dtype = DTYPE_F16;
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    net_init(&net, device, config, (struct compile_options){.fusion = FUSION_NORM});
    net_start(&net);
    net_fill(&net, 1);
    net_run(&net, NULL);
    const struct store_slot *slot = store_find(&net.store, "layer2.1.conv1.weight");
    CU_ASSERT(slot->half_gradient);
    float *read = malloc(slot->count * sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(read);
    CU_ASSERT_EQUAL(store_read(&net.store, slot, STORE_GRADIENTS, read, &err), 0);
    CU_ASSERT_EQUAL_FATAL(store_pull(&net.store, STORE_GRADIENTS, &pulled, &err), 0);
    const float *values = (const float *)pulled + slot->first;
    CU_ASSERT_EQUAL(memcmp(read, values, slot->count * sizeof(float)), 0);
    int nonzero = 0, exact = 0;
    for (size_t i = 0; i < slot->count; i++) {
        exact += f16_to_f32(f16_from_f32(values[i])) == values[i];
        nonzero += values[i] != 0;
    }
    CU_ASSERT_EQUAL(exact, (int)slot->count);
    CU_ASSERT(nonzero > (int)slot->count / 2);
    CU_ASSERT_FALSE(store_find(&net.store, "layer2.1.bn1.weight")->half_gradient);
    free(read);
    net_done(&net);
}

/* --- a fixed scale at which gradients overflow --------------------------------------------------
 */
struct kept {
    float *weights;
    size_t bytes;
};

/* After the first step, which counts, no gradient fits its type any more. */
static void scale_too_far(void *user, struct network *net, int step) {
    struct kept *kept = user;
    const struct backend_optimizer_state state = {.finite = 1, .loss_scale = 1e12F};
    void *values = NULL;
    CU_ASSERT_EQUAL_FATAL(store_pull(&net->store, STORE_PARAMETERS, &values, NULL), 0);
    if (step == 0) {
        kept->bytes = net->store.count[STORE_PARAMETERS] * sizeof(float);
        kept->weights = malloc(kept->bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(kept->weights);
        memcpy(kept->weights, values, kept->bytes);
        CU_ASSERT_EQUAL(
            net->backend->table->device->set_optimizer_state(net->backend, &state, NULL), 0);
        return;
    }
    CU_ASSERT_EQUAL(memcmp(kept->weights, values, kept->bytes), 0);
}

/* A scale that the user has fixed is not changed: the loss is finite and no weight moves, and after
 * twenty such steps the run ends with an error that names the flag. */
static void a_fixed_scale_that_does_not_fit_ends_the_run_and_is_named(void) {
    struct backend *device = NULL;
    struct error err = {0};
    struct kept kept = {0};
    struct training_outcome outcome = {0};
    struct training t = small;
    t.dtype = DTYPE_F16;
    t.accumulate = 1;
    t.steps = 30;
    t.overflows_from = 1;
    t.after_step = scale_too_far;
    t.user = &kept;
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    CU_ASSERT_EQUAL(training_try(device, &t, &outcome, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "20 steps in a row"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--loss-scale of 1e+12"));
    CU_ASSERT_EQUAL(outcome.told, 20);
    for (int i = 0; i < outcome.told; i++)
        CU_ASSERT(isfinite(outcome.losses[i]));
    training_done(&outcome);
    free(kept.weights);
    backend_close(device);
}

UNIT_SUITE("cuda.gradients", UNIT(an_update_by_half_gradients_is_one_by_their_values),
           UNIT(a_half_gradient_that_overflowed_ends_the_step),
           UNIT(half_gradients_are_added_in_f32), UNIT(half_gradients_train_as_wide_ones),
           UNIT(all_weight_gradients_but_the_stems_stay_half), UNIT(gradients_are_read_in_f32),
           UNIT(a_fixed_scale_that_does_not_fit_ends_the_run_and_is_named))
