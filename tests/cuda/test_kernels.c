/* The CUDA backend's own kernels, run on the host, against the reference; and the optimizer with
 * its loss scale against the body that the host uses. */
#include "tests/cuda/emulated.h"
#include "tests/ops/parity.h"
#include "tests/support/unit.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(enum dtype dtype) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(emulated_open(&backend, false, &err), 0);
    parity_check(backend, dtype, PARITY_SOME);
    backend_close(backend);
}

static void kernels_agree_with_the_reference_in_f32(void) {
    check(DTYPE_F32);
}

static void kernels_agree_with_the_reference_in_bf16(void) {
    check(DTYPE_BF16);
}

static void kernels_agree_with_the_reference_in_f16(void) {
    check(DTYPE_F16);
}

static void an_outlier_takes_no_digits_from_a_variance(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(emulated_open(&backend, false, &err), 0);
    parity_check_outliers(backend);
    backend_close(backend);
}

enum { COUNT = 1000 };

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

static cudaError_t update(struct control *control, struct arenas *a) {
    struct optimizer_args args = {.weights = a->weights,
                                  .state.momentum = a->momentum,
                                  .gradients = {.wide = a->gradients},
                                  .count = COUNT};
    return launch_optimizer(NULL, control, &args);
}

static const struct optimizer_step step = {
    .rate = 0.1F, .momentum = 0.9F, .weight_decay = 1e-4F, .scale = 0.5F, .nesterov = 1};
/* Groups 0 and 3 differ in both. */
static const struct optimizer_rule rule = {
    .step = {.rate = 0.1F, .momentum = 0.9F, .scale = 0.5F, .nesterov = 1},
    .groups = {{1, 1e-4F}, {1, 0}, {0}, {2, 0.25F}}};

static void the_update_is_the_hosts_to_the_bit(void) {
    static struct arenas device, host;
    struct control control = {.rule = rule, .state.loss_scale = 1024, .state.finite = 1};
    fill(&device, 1024);
    fill(&host, 1024);
    CU_ASSERT_EQUAL(update(&control, &device), cudaSuccess);
    struct optimizer_step scaled = step;
    scaled.scale /= 1024;
    for (int i = 0; i < COUNT; i++)
        sgd_update(&scaled, &host.weights[i], &host.momentum[i], host.gradients[i]);
    CU_ASSERT_EQUAL(memcmp(&device, &host, sizeof(device)), 0);
    CU_ASSERT_EQUAL(control.state.loss_scale, 1024);
    CU_ASSERT_EQUAL(control.skipped, 0);
}

/* Every optimizer with its states and an average, in two groups and three tensors, with a loss
 * scale: as the host has it, to the bit where no norms are summed. */
static void every_optimizer_is_the_hosts(void) {
    enum { TENSORS = 3, GROUPS_OF = COUNT / LAUNCH_GROUP + 1 };
    static struct arenas device, host;
    static float second[2][COUNT], average[2][COUNT];
    static const struct optimizer_piece pieces[] = {{0, 128}, {128, 192}, {320, 272}, {592, 408}};
    static const uint32_t begins[TENSORS + 1] = {0, 2, 3, 4}, ends[] = {0, 320, 592, COUNT};
    for (int kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        unsigned char groups[GROUPS_OF] = {0};
        uint16_t tensors[GROUPS_OF];
        double sums[2 * 4];
        float factors[TENSORS];
        struct control control = {.rule = rule, .state = {.loss_scale = 64, .updates = 4}};
        control.rule.step = (struct optimizer_step){.kind = kind,
                                                    .rate = 0.1F,
                                                    .momentum = 0.9F,
                                                    .scale = 0.5F,
                                                    .trust = 0.0005F,
                                                    .second = 0.99F,
                                                    .epsilon = 1e-6F,
                                                    .average = 0.75F};
        control.rule.groups[0].adapts = optimizer_adapts(kind);
        for (int i = 0; i < GROUPS_OF; i++) {
            tensors[i] = i * LAUNCH_GROUP < 320 ? 0 : i * LAUNCH_GROUP < 592 ? 1 : 2;
            groups[i] = tensors[i] == 1 ? 1 : 0;
        }
        fill(&device, 64);
        fill(&host, 64);
        for (int i = 0; i < COUNT; i++) {
            second[0][i] = second[1][i] = 0.25F + 0.001F * (float)i;
            average[0][i] = average[1][i] = 1 - 0.002F * (float)i;
        }
        struct optimizer_args args = {.weights = device.weights,
                                      .state = {device.momentum, second[0], average[0]},
                                      .kind = (enum optimizer_kind)kind,
                                      .norms = {.pieces = pieces,
                                                .begins = begins,
                                                .tensors = tensors,
                                                .sums = sums,
                                                .factors = factors,
                                                .piece_count = 4,
                                                .tensor_count = TENSORS},
                                      .gradients = {.wide = device.gradients},
                                      .groups = groups,
                                      .count = COUNT};
        CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
        CU_ASSERT_EQUAL(control.state.updates, 5);
        struct optimizer_step now = optimizer_at(control.rule.step, 5);
        now.scale = 0.5F / 64;
        for (uint32_t t = 0; t < TENSORS; t++) {
            struct optimizer_step own =
                optimizer_of_group(now, control.rule.groups[t == 1 ? 1 : 0]);
            double weights = 0, measured = 0;
            for (uint32_t i = ends[t]; i < ends[t + 1]; i++) {
                double g = optimizer_measured(&own, host.weights[i], host.gradients[i]);
                weights += (double)host.weights[i] * (double)host.weights[i];
                measured += g * g;
            }
            if (optimizer_adapts(kind)) {
                own.factor = t == 1 ? 1 : optimizer_factor(&own, weights, measured);
                CU_ASSERT_DOUBLE_EQUAL(factors[t], own.factor, 1e-6 * (double)own.factor);
                CU_ASSERT(t == 1 || own.factor < 0.99F);
                own.factor = factors[t];
            }
            for (uint32_t i = ends[t]; i < ends[t + 1]; i++) {
                const struct optimizer_state state = {&host.momentum[i], &second[1][i], NULL};
                optimizer_update(kind, &own, &host.weights[i], state, host.gradients[i]);
                average[1][i] =
                    optimizer_averaged(own.average_kept, average[1][i], host.weights[i]);
            }
        }
        CU_ASSERT_EQUAL(memcmp(&device, &host, sizeof(device)), 0);
        CU_ASSERT_EQUAL(memcmp(second[0], second[1], sizeof(second[0])), 0);
        CU_ASSERT_EQUAL(memcmp(average[0], average[1], sizeof(average[0])), 0);
    }
}

/* A step that does not count is none of the updates that adamw counts. */
static void a_skipped_step_is_no_update(void) {
    static struct arenas device;
    const float flag = 1;
    struct control control = {.rule = rule, .state = {.loss_scale = 1, .updates = 7}};
    struct optimizer_args args = {.weights = device.weights,
                                  .state.momentum = device.momentum,
                                  .gradients = {.wide = device.gradients},
                                  .count = COUNT};
    fill(&device, 1);
    device.gradients[3] = NAN;
    CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
    CU_ASSERT_EQUAL(control.state.updates, 7);
    args.void_flag = &flag;
    CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
    CU_ASSERT_EQUAL(control.state.updates, 7);
}

static void a_step_that_is_not_finite_changes_nothing_but_the_scale(void) {
    static struct arenas device, before;
    struct control control = {.rule = rule,
                              .state.loss_scale = 1024,
                              .growth_interval = 2,
                              .state.good_steps = 1,
                              .state.finite = 1};
    fill(&device, 1);
    device.gradients[COUNT / 2] = INFINITY;
    before = device;
    (void)update(&control, &device);
    CU_ASSERT_EQUAL(memcmp(device.weights, before.weights, sizeof(before.weights)), 0);
    CU_ASSERT_EQUAL(memcmp(device.momentum, before.momentum, sizeof(before.momentum)), 0);
    CU_ASSERT_EQUAL(control.state.loss_scale, 512);
    CU_ASSERT_EQUAL(control.state.good_steps, 0);
    CU_ASSERT_EQUAL(control.skipped, 1);
}

static void a_dynamic_scale_grows_after_its_interval(void) {
    static struct arenas device;
    struct control control = {
        .rule = rule, .state.loss_scale = 64, .growth_interval = 2, .state.finite = 1};
    fill(&device, 1);
    (void)update(&control, &device);
    CU_ASSERT_EQUAL(control.state.loss_scale, 64);
    (void)update(&control, &device);
    CU_ASSERT_EQUAL(control.state.loss_scale, 128);
    CU_ASSERT_EQUAL(control.state.good_steps, 0);
}

static void groups_have_their_own_rate_and_decay(void) {
    static struct arenas device, host;
    unsigned char groups[COUNT / LAUNCH_GROUP + 1] = {[1] = 3, [2] = 1};
    struct control control = {.rule = rule, .state.loss_scale = 1, .state.finite = 1};
    struct optimizer_args args = {.weights = device.weights,
                                  .state.momentum = device.momentum,
                                  .gradients = {.wide = device.gradients},
                                  .groups = groups,
                                  .count = COUNT};
    fill(&device, 1);
    fill(&host, 1);
    (void)launch_optimizer(NULL, &control, &args);
    for (int i = 0; i < COUNT; i++) {
        struct optimizer_step own = step;
        int group = groups[i / LAUNCH_GROUP];
        own.rate = group == 3 ? 0.2F : 0.1F;
        own.weight_decay = group == 0 ? 1e-4F : group == 1 ? 0 : 0.25F;
        sgd_update(&own, &host.weights[i], &host.momentum[i], host.gradients[i]);
    }
    CU_ASSERT_EQUAL(memcmp(&device, &host, sizeof(device)), 0);
}

/* Above the norm, at it and below; with a loss scale. */
static void long_gradients_are_shortened_to_the_norm(void) {
    static struct arenas device, host;
    double squares = 0;
    fill(&host, 64);
    for (int i = 0; i < COUNT; i++)
        squares += (double)host.gradients[i] * (double)host.gradients[i];
    double norm = sqrt(squares) * 0.5 / 64;
    for (int k = 0; k < 3; k++) {
        struct control control = {.rule = rule, .state.loss_scale = 64, .state.finite = 1};
        struct optimizer_args args = {.weights = device.weights,
                                      .state.momentum = device.momentum,
                                      .gradients = {.wide = device.gradients},
                                      .clips = true,
                                      .count = COUNT};
        control.rule.clip_norm = (float)(norm * (k == 0 ? 0.3 : k == 1 ? 1 : 2));
        fill(&device, 64);
        fill(&host, 64);
        CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
        CU_ASSERT_DOUBLE_EQUAL(control.clip, k == 0 ? 0.3 : 1, 1e-5);
        struct optimizer_step own = step;
        own.scale = 0.5F / 64 * control.clip;
        for (int i = 0; i < COUNT; i++)
            sgd_update(&own, &host.weights[i], &host.momentum[i], host.gradients[i]);
        CU_ASSERT_EQUAL(memcmp(&device, &host, sizeof(device)), 0);
    }
}

static void squares_are_weighed_by_the_decay(void) {
    static struct arenas device;
    unsigned char groups[COUNT / LAUNCH_GROUP + 1] = {[1] = 1, [COUNT / LAUNCH_GROUP] = 3};
    struct control control = {.rule = rule};
    struct optimizer_args args = {.weights = device.weights, .groups = groups, .count = COUNT};
    double some = 0, all = 0;
    fill(&device, 1);
    for (int i = 0; i < COUNT; i++) {
        double square = (double)device.weights[i] * (double)device.weights[i];
        all += square * (double)1e-4F;
        some += square * (double)rule.groups[groups[i / LAUNCH_GROUP]].decay;
    }
    CU_ASSERT(some > 2 * all);
    CU_ASSERT_EQUAL(launch_squares(NULL, &control, &args), cudaSuccess);
    CU_ASSERT_DOUBLE_EQUAL(control.squares, some, 1e-12 * some);
    args.groups = NULL;
    CU_ASSERT_EQUAL(launch_squares(NULL, &control, &args), cudaSuccess);
    CU_ASSERT_DOUBLE_EQUAL(control.squares, all, 1e-12 * all);
}

/* A void step, whatever its gradients, and one with a loss that is not finite. */
static void a_step_that_does_not_count_leaves_everything_as_it_was(void) {
    static struct arenas device, before;
    for (int is_void = 0; is_void < 2; is_void++) {
        const float flag = is_void ? 1 : 0, loss = NAN;
        float states[40], states_before[40];
        struct control control = {.rule = rule,
                                  .state = {.loss_scale = 64, .good_steps = 1, .finite = 1},
                                  .growth_interval = 9};
        struct optimizer_args args = {.weights = device.weights,
                                      .state.momentum = device.momentum,
                                      .gradients = {.wide = device.gradients},
                                      .void_flag = &flag,
                                      .loss = &loss,
                                      .count = COUNT,
                                      .states = states,
                                      .states_before = states_before,
                                      .state_count = 40};
        for (int i = 0; i < 40; i++) {
            states[i] = NAN;
            states_before[i] = (float)i;
        }
        fill(&device, 1);
        before = device;
        (void)launch_optimizer(NULL, &control, &args);
        CU_ASSERT_EQUAL(memcmp(&device, &before, sizeof(device)), 0);
        CU_ASSERT_EQUAL(memcmp(states, states_before, sizeof(states)), 0);
        CU_ASSERT_EQUAL(control.skipped, is_void ? 0 : 1);
        CU_ASSERT_EQUAL(control.state.finite, is_void);
        CU_ASSERT_EQUAL(control.state.loss_scale, is_void ? 64 : 32);
        CU_ASSERT_EQUAL(control.state.good_steps, is_void ? 1 : 0);
    }
}

static void a_step_that_counts_leaves_the_states_where_they_are(void) {
    static struct arenas device;
    float states[3] = {1, 2, 3};
    const float states_before[3] = {7, 7, 7}, loss = 2;
    struct control control = {.rule = rule, .state.loss_scale = 1, .state.finite = 0};
    struct optimizer_args args = {.weights = device.weights,
                                  .state.momentum = device.momentum,
                                  .gradients = {.wide = device.gradients},
                                  .loss = &loss,
                                  .count = COUNT,
                                  .states = states,
                                  .states_before = states_before,
                                  .state_count = 3};
    fill(&device, 1);
    float first = device.weights[0];
    (void)launch_optimizer(NULL, &control, &args);
    CU_ASSERT(states[0] == 1 && states[2] == 3 && control.state.finite == 1);
    CU_ASSERT_NOT_EQUAL(device.weights[0], first);
}

/* A hundred thousand times 0.1, which one f32 sum gets wrong in the fourth digit. */
static void long_columns_are_summed_in_chunks(void) {
    enum { ROWS = 100000, COLUMNS = 3 };
    static float x[ROWS * COLUMNS], sums[COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = 0.1F * (float)(i % COLUMNS + 1);
    float *partial = malloc(launch_column_sum_bytes(ROWS, COLUMNS));
    CU_ASSERT_PTR_NOT_NULL_FATAL(partial);
    CU_ASSERT_EQUAL(launch_column_sum(NULL, DTYPE_F32, sums, x, ROWS, COLUMNS, partial),
                    cudaSuccess);
    for (int c = 0; c < COLUMNS; c++)
        CU_ASSERT_DOUBLE_EQUAL(sums[c], ROWS * (double)x[c], 1e-5 * ROWS * (double)x[c]);
    CU_ASSERT_EQUAL(launch_column_sum_bytes(8, COLUMNS), 0);
    CU_ASSERT_EQUAL(launch_column_sum(NULL, DTYPE_F32, sums, x, 8, COLUMNS, NULL), cudaSuccess);
    CU_ASSERT_DOUBLE_EQUAL(sums[1], 1.6, 1e-6);
    free(partial);
}

static void rows_are_widened_with_zeros_and_narrowed_again(void) {
    static const float weights[2 * 3] = {1, 2, 3, 4, 5, 6};
    float packed[2 * 4], back[2 * 3];
    CU_ASSERT_EQUAL(launch_pack(NULL, DTYPE_F32, packed, weights, 2, 4, 3), cudaSuccess);
    static const float expected[2 * 4] = {1, 2, 3, 0, 4, 5, 6, 0};
    CU_ASSERT_EQUAL(memcmp(packed, expected, sizeof(packed)), 0);
    CU_ASSERT_EQUAL(launch_unpack(NULL, DTYPE_F32, back, packed, 2, 3, 4), cudaSuccess);
    CU_ASSERT_EQUAL(memcmp(back, weights, sizeof(back)), 0);
}

static void the_update_writes_rounded_weights_too(void) {
    static struct arenas a, same;
    static uint16_t f16[COUNT], bf16[COUNT];
    struct control control = {.rule = rule, .state = {.finite = 1, .loss_scale = 1}};
    fill(&a, 1);
    fill(&same, 1);
    CU_ASSERT_EQUAL(update(&control, &same), cudaSuccess);
    struct optimizer_args args = {.weights = a.weights,
                                  .state.momentum = a.momentum,
                                  .gradients = {.wide = a.gradients},
                                  .half = f16,
                                  .half_type = DTYPE_F16,
                                  .count = COUNT};
    CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
    CU_ASSERT_EQUAL(memcmp(a.weights, same.weights, sizeof(a.weights)), 0);
    for (int i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(f16[i], f16_from_f32(a.weights[i]));
    /* A step that does not count leaves both. */
    a.gradients[7] = INFINITY;
    memset(bf16, 0x55, sizeof(bf16));
    args.half = bf16;
    args.half_type = DTYPE_BF16;
    CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
    CU_ASSERT_EQUAL(memcmp(a.weights, same.weights, sizeof(a.weights)), 0);
    CU_ASSERT_EQUAL(bf16[0], 0x5555);
    a.gradients[7] = 1;
    CU_ASSERT_EQUAL(launch_optimizer(NULL, &control, &args), cudaSuccess);
    for (int i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(bf16[i], bf16_from_f32(a.weights[i]));
}

static void numbers_to_time_on_are_finite_in_every_type(void) {
    static uint32_t words[COUNT + 1];
    words[COUNT] = 7;
    CU_ASSERT_EQUAL(launch_numbers(NULL, words, COUNT * sizeof(words[0])), cudaSuccess);
    CU_ASSERT_EQUAL(words[COUNT], 7);
    int negative = 0, distinct = 0;
    for (int i = 0; i < COUNT; i++) {
        float as_f32, as_bf16[2];
        const uint32_t halves[2] = {words[i] & 0xffff, words[i] >> 16};
        memcpy(&as_f32, &words[i], sizeof(as_f32));
        CU_ASSERT(isnormal(as_f32));
        for (int k = 0; k < 2; k++) {
            const uint32_t wide = halves[k] << 16;
            memcpy(&as_bf16[k], &wide, sizeof(wide));
            CU_ASSERT(isnormal(as_bf16[k]));
            /* f16: the exponent of 0.25 to 0.5. */
            CU_ASSERT_EQUAL(halves[k] >> 10 & 0x1f, 13);
            negative += halves[k] >> 15 != 0;
        }
        distinct += i > 0 && words[i] != words[i - 1];
    }
    CU_ASSERT(negative > COUNT / 2 && negative < 3 * COUNT / 2);
    CU_ASSERT_EQUAL(distinct, COUNT - 1);
}

/* By hand: dx of a batch norm is scale (g - mean(g) - unit mean(g unit)), unit = (x - mean) invstd.
 */
static void coefficients_come_from_what_is_known_of_a_norm(void) {
    enum { ROWS = 7, CHANNELS = 3 };
    static const float gamma[CHANNELS] = {0.5F, -2, 1}, invstd[CHANNELS] = {4, 0.25F, 1};
    static const float mean[CHANNELS] = {1, -3, 0};
    static const float twice[CHANNELS] = {1, -4, 2};
    float dgamma[CHANNELS] = {0}, dbeta[CHANNELS] = {0};
    float coefficients[3 * CHANNELS], beside[3 * CHANNELS];
    double g[ROWS][CHANNELS], x[ROWS][CHANNELS];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < CHANNELS; c++) {
            g[r][c] = (r * 5 + c * 3) % 11 - 5;
            x[r][c] = (r * 7 + c * 2) % 13 - 6;
            dbeta[c] += (float)g[r][c];
            dgamma[c] += (float)(g[r][c] * (x[r][c] - (double)mean[c]) * (double)invstd[c]);
        }
    const struct norm_coefficients_args first = {.gamma = gamma,
                                                 .mean = mean,
                                                 .invstd = invstd,
                                                 .dgamma = dgamma,
                                                 .dbeta = dbeta,
                                                 .coefficients = coefficients,
                                                 .rows = ROWS,
                                                 .channels = CHANNELS};
    /* Another norm beside it, with twice the gamma and so twice the gradient. */
    struct norm_coefficients_args both[] = {first, first};
    both[1].gamma = twice;
    both[1].coefficients = beside;
    CU_ASSERT_EQUAL(launch_norm_coefficients(NULL, both, 2), cudaSuccess);
    CU_ASSERT_NOT_EQUAL(launch_norm_coefficients(NULL, both, 3), cudaSuccess);
    for (int i = 0; i < 3 * CHANNELS; i++)
        CU_ASSERT_DOUBLE_EQUAL((double)beside[i], 2 * (double)coefficients[i], 1e-12);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < CHANNELS; c++) {
            double unit = (x[r][c] - (double)mean[c]) * (double)invstd[c];
            double expected = (double)gamma[c] * (double)invstd[c] *
                              (g[r][c] - (double)dbeta[c] / ROWS - unit * (double)dgamma[c] / ROWS);
            const double terms[3] = {(double)coefficients[c] * g[r][c],
                                     (double)coefficients[CHANNELS + c] * x[r][c],
                                     (double)coefficients[2 * CHANNELS + c]};
            double size = fabs(terms[0]) + fabs(terms[1]) + fabs(terms[2]);
            CU_ASSERT_DOUBLE_EQUAL(terms[0] + terms[1] + terms[2], expected, 1e-6 * size);
        }
}

UNIT_SUITE("cuda.kernels", UNIT(kernels_agree_with_the_reference_in_f32),
           UNIT(kernels_agree_with_the_reference_in_bf16),
           UNIT(kernels_agree_with_the_reference_in_f16),
           UNIT(an_outlier_takes_no_digits_from_a_variance),
           UNIT(the_update_is_the_hosts_to_the_bit), UNIT(every_optimizer_is_the_hosts),
           UNIT(a_skipped_step_is_no_update),
           UNIT(a_step_that_is_not_finite_changes_nothing_but_the_scale),
           UNIT(a_dynamic_scale_grows_after_its_interval),
           UNIT(groups_have_their_own_rate_and_decay),
           UNIT(a_step_that_does_not_count_leaves_everything_as_it_was),
           UNIT(a_step_that_counts_leaves_the_states_where_they_are),
           UNIT(long_columns_are_summed_in_chunks), UNIT(squares_are_weighed_by_the_decay),
           UNIT(long_gradients_are_shortened_to_the_norm),
           UNIT(rows_are_widened_with_zeros_and_narrowed_again),
           UNIT(the_update_writes_rounded_weights_too),

           UNIT(numbers_to_time_on_are_finite_in_every_type),
           UNIT(coefficients_come_from_what_is_known_of_a_norm))
