#include "tests/support/unit.h"
#include "trainer/optim/optimizer.h"

#include <math.h>
#include <stdlib.h>

/* Two steps worked out by hand: w = 1, gradients 2 then 1 (already scaled by 1/2), rate 0.5,
 * momentum 0.5, decay 0.25. */
static void two_steps_by_hand(void) {
    struct optimizer_step step = {
        .rate = 0.5F, .momentum = 0.5F, .weight_decay = 0.25F, .scale = 0.5F, .nesterov = 0};
    float w = 1;
    float m = 0;
    float g = 4;
    optimizer_apply(&step, &w, (struct optimizer_state){.momentum = &m}, &g, 1);
    CU_ASSERT_EQUAL(m, 2.25F);   /* 2 + 0.25 * 1 */
    CU_ASSERT_EQUAL(w, -0.125F); /* 1 - 0.5 * 2.25 */
    g = 2;
    optimizer_apply(&step, &w, (struct optimizer_state){.momentum = &m}, &g, 1);
    CU_ASSERT_EQUAL(m, 2.09375F); /* 0.5 * 2.25 + 1 - 0.03125 */
    CU_ASSERT_EQUAL(w, -1.171875F);
}

static void one_value_that_is_not_finite_is_found_anywhere(void) {
    enum { COUNT = 40001 };
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const size_t places[] = {0, 1, 777, 32768, COUNT - 1};
    float *values = calloc(COUNT, sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = i % 2 == 0 ? 3.4e38F : -1e-45F;
    for (size_t count = 17; count <= COUNT; count += COUNT - 17) {
        CU_ASSERT(optimizer_finite(values, count));
        for (size_t i = 0; i < 5 && places[i] < count; i++)
            for (size_t k = 0; k < 3; k++) {
                float before = values[places[i]];
                values[places[i]] = bad[k];
                CU_ASSERT_FALSE(optimizer_finite(values, count));
                values[places[i]] = before;
            }
    }
    CU_ASSERT(optimizer_finite(values, 0));
    free(values);
}

static void nesterov_looks_one_step_ahead(void) {
    struct optimizer_step step = {.rate = 1, .momentum = 0.5F, .scale = 1, .nesterov = 1};
    float w = 0;
    float m = 2;
    float g = 1;
    optimizer_apply(&step, &w, (struct optimizer_state){.momentum = &m}, &g, 1);
    CU_ASSERT_EQUAL(m, 2);  /* 0.5 * 2 + 1 */
    CU_ASSERT_EQUAL(w, -2); /* 0 - (1 + 0.5 * 2) */
}

static void a_long_slice_is_the_same_as_its_elements_one_by_one(void) {
    enum { COUNT = 50001 };
    struct optimizer_step step = {
        .rate = 0.1F, .momentum = 0.9F, .weight_decay = 1e-4F, .scale = 1.0F / 3, .nesterov = 1};
    float *values = calloc(6 * (size_t)COUNT, sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    float *w = values;
    float *m = values + COUNT;
    float *g = values + 2 * COUNT;
    float *w1 = values + 3 * COUNT;
    float *m1 = values + 4 * COUNT;
    for (int i = 0; i < COUNT; i++) {
        w[i] = w1[i] = (float)(i % 17) / 7 - 1;
        m[i] = m1[i] = (float)(i % 5) / 3;
        g[i] = (float)(i % 23) / 11 - 1;
    }
    optimizer_apply(&step, w, (struct optimizer_state){.momentum = m}, g, COUNT);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        sgd_update(&step, &w1[i], &m1[i], g[i]);
        wrong += w[i] != w1[i] || m[i] != m1[i];
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(values);
}

/* Two steps of torch 2.15 in double: clip_grad_norm_(2), then SGD with momentum 0.9 at rates 0.1
 * and 0.2 and decays 0.01 and 0; the second gradient is short. */
static void groups_and_clipping_are_torchs(void) {
    static const double wanted[2][6] = {
        {0.8964770985922339, -1.8613027981229784, 0.4653256995307446, 2.928651399061489,
         0.21582569953074462, -1.3633027981229784},
        {0.7924100102266521, -1.754614013635536, 0.443653503408884, 2.8315090068177677,
         0.1750688291084148, -1.200275316433659}};
    static const float gradients[2][6] = {{6, -8, 2, 4, 1, -4},
                                          {0.2F, 0.4F, -0.2F, 0.6F, 0.1F, -0.4F}};
    struct optimizer_rule rule = {.step = {.rate = 0.1F, .momentum = 0.9F, .scale = 0.5F},
                                  .groups = {{1, 0.01F}, {2, 0}},
                                  .clip_norm = 2};
    float w[6] = {1, -2, 0.5F, 3, 0.25F, -1.5F}, m[6] = {0};
    for (int k = 0; k < 2; k++) {
        struct optimizer_step step = rule.step;
        float factor = optimizer_clip(&rule, step.scale, optimizer_square_sum(gradients[k], 6));
        CU_ASSERT_DOUBLE_EQUAL(factor, k == 0 ? 2 / 5.852349955359813 : 1, 1e-6);
        step.scale *= factor;
        struct optimizer_step first = optimizer_of_group(step, rule.groups[0]);
        struct optimizer_step second = optimizer_of_group(step, rule.groups[1]);
        optimizer_apply(&first, w, (struct optimizer_state){.momentum = m}, gradients[k], 4);
        optimizer_apply(&second, w + 4, (struct optimizer_state){.momentum = m + 4},
                        gradients[k] + 4, 2);
        for (int i = 0; i < 6; i++)
            CU_ASSERT_DOUBLE_EQUAL(w[i], wanted[k][i], 1e-6);
    }
}

static void micro_batches_add_up(void) {
    float to[3] = {1, 2, 3};
    const float from[3] = {0.5F, -2, 1};
    optimizer_accumulate(to, from, 3);
    CU_ASSERT(to[0] == 1.5F && to[1] == 0 && to[2] == 4);
}

static void squares_sum_in_double(void) {
    float w[100];
    for (int i = 0; i < 100; i++)
        w[i] = i % 2 == 0 ? 3.0F : -4.0F;
    CU_ASSERT_EQUAL(optimizer_square_sum(w, 100), 50 * 9.0 + 50 * 16.0);
    CU_ASSERT_EQUAL(optimizer_square_sum(w, 1), 9.0);
    CU_ASSERT_EQUAL(optimizer_square_sum(w, 0), 0.0);
}

enum { GOLDEN_SIZE = 7 };

struct golden_optimizer {
    enum optimizer_kind kind;
    int nesterov;
    float rate, momentum, decay, trust, second, epsilon, average;
    double weights[2][GOLDEN_SIZE], averages[2][GOLDEN_SIZE]; /* of two tensors */
};
#include "tests/golden/optimizers.h"

enum { GOLDEN_STEPS = 20 };

/* tests/golden/optimizers.py has the same. */
static float golden_gradient(int tensor, int i, int step) {
    return (float)((i * 7 + step * 13 + tensor * 5) % 23 - 11) / 16;
}

/* Twenty steps of two tensors, of which the second neither decays nor adapts. */
static void twenty_steps_are_the_sources(void) {
    for (size_t k = 0; k < sizeof(golden_optimizers) / sizeof(golden_optimizers[0]); k++) {
        const struct golden_optimizer *g = &golden_optimizers[k];
        const struct optimizer_step rule = {.kind = g->kind,
                                            .rate = g->rate,
                                            .momentum = g->momentum,
                                            .scale = 0.5F,
                                            .nesterov = g->nesterov,
                                            .trust = g->trust,
                                            .second = g->second,
                                            .epsilon = g->epsilon,
                                            .average = g->average};
        for (int tensor = 0; tensor < 2; tensor++) {
            float w[GOLDEN_SIZE], m[GOLDEN_SIZE] = {0}, v[GOLDEN_SIZE] = {0}, a[GOLDEN_SIZE];
            for (int i = 0; i < GOLDEN_SIZE; i++)
                w[i] = a[i] = (float)((i * 5 + tensor) % 9 - 4) / 4;
            for (int step = 0; step < GOLDEN_STEPS; step++) {
                struct optimizer_step own = optimizer_at(rule, step + 1);
                float gradient[GOLDEN_SIZE];
                for (int i = 0; i < GOLDEN_SIZE; i++)
                    gradient[i] = 2 * golden_gradient(tensor, i, step);
                own.weight_decay = tensor == 0 ? g->decay : 0;
                if (tensor == 0 && optimizer_adapts(g->kind))
                    own.factor = optimizer_tensor_factor(&own, w, gradient, GOLDEN_SIZE);
                const struct optimizer_state state = {m, v, a};
                optimizer_apply(&own, w, state, gradient, GOLDEN_SIZE);
            }
            for (int i = 0; i < GOLDEN_SIZE; i++) {
                CU_ASSERT_DOUBLE_EQUAL(w[i], g->weights[tensor][i], 2e-6);
                CU_ASSERT_DOUBLE_EQUAL(a[i], g->averages[tensor][i], 2e-6);
            }
        }
    }
}

static void a_tensor_of_zeros_has_a_plain_rate(void) {
    const struct optimizer_step lars = {.kind = OPTIMIZER_LARS, .rate = 4, .trust = 0.01F};
    const struct optimizer_step larc = {.kind = OPTIMIZER_LARC, .rate = 4, .trust = 0.01F};
    const struct optimizer_step still = {.kind = OPTIMIZER_LARC, .trust = 0.01F};
    CU_ASSERT_EQUAL(optimizer_factor(&lars, 0, 1), 1);
    CU_ASSERT_EQUAL(optimizer_factor(&lars, 1, 0), 1);
    CU_ASSERT_EQUAL(optimizer_factor(&larc, 0, 1), 0.25F);
    CU_ASSERT_EQUAL(optimizer_factor(&larc, 1, 0), 0.25F);
    CU_ASSERT_EQUAL(optimizer_factor(&still, 1, 1), 1); /* of a rate of zero */
    CU_ASSERT_EQUAL(optimizer_factor(&larc, 1e12, 1), 1);
}

/* Norms are sums in f64 of fixed pieces, so that threads do not matter; one long tensor by hand. */
static void a_factor_is_that_of_the_whole_tensor(void) {
    enum { COUNT = 50001 };
    float *values = calloc(2 * (size_t)COUNT, sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    double weights = 0, gradients = 0;
    const struct optimizer_step step = {.kind = OPTIMIZER_LARC,
                                        .rate = 0.5F,
                                        .weight_decay = 0.25F,
                                        .scale = 0.5F,
                                        .trust = 0.125F};
    for (int i = 0; i < COUNT; i++) {
        values[i] = (float)(i % 17) / 8 - 1;
        values[COUNT + i] = (float)(i % 23) / 4 - 2;
        double w = (double)values[i], g = 0.5 * (double)values[COUNT + i] + 0.25 * w;
        weights += w * w;
        gradients += g * g;
    }
    double wanted = 0.125 * sqrt(weights) / (sqrt(gradients) * 0.5);
    CU_ASSERT(wanted < 1);
    CU_ASSERT_DOUBLE_EQUAL(optimizer_tensor_factor(&step, values, values + COUNT, COUNT), wanted,
                           1e-7);
    free(values);
}

UNIT_SUITE("optim.optimizer", UNIT(twenty_steps_are_the_sources),
           UNIT(a_tensor_of_zeros_has_a_plain_rate), UNIT(a_factor_is_that_of_the_whole_tensor),
           UNIT(one_value_that_is_not_finite_is_found_anywhere), UNIT(two_steps_by_hand),
           UNIT(nesterov_looks_one_step_ahead),
           UNIT(a_long_slice_is_the_same_as_its_elements_one_by_one), UNIT(micro_batches_add_up),
           UNIT(groups_and_clipping_are_torchs), UNIT(squares_sum_in_double))
