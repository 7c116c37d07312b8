/* The schedules of the recipes for Mask R-CNN, step by step, against torch's LinearLR and
 * MultiStepLR with the numbers of the recipes' sources (tests/golden/recipes.py), and what they
 * otherwise set. */
#include "tests/support/unit.h"
#include "trainer/app/run/learning_rate.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

struct golden_rate {
    const char *recipe;
    int64_t images, steps_per_epoch, step;
    double rate;
};
#include "tests/golden/recipes.h"

static struct options options_of(const char *recipe) {
    const char *const words[] = {"--recipe", recipe};
    struct options o;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        options_parse(&o, COMMAND_TRAIN, 2, (char *const *)(uintptr_t)words, &err), 0);
    return o;
}

static void rates_are_torchs_at_every_step(void) {
    for (size_t i = 0; i < sizeof(golden_rates) / sizeof(golden_rates[0]); i++) {
        const struct golden_rate *g = &golden_rates[i];
        const struct options o = options_of(g->recipe);
        struct schedule s;
        struct error err = {0};
        CU_ASSERT_EQUAL_FATAL(learning_rate_settle(&s, &o, g->steps_per_epoch, g->images, &err), 0);
        double rate = schedule_rate(&s, g->step);
        if (fabs(rate - g->rate) > 1e-12 * g->rate)
            printf("%s, step %lld: %.17g, torch %.17g\n", g->recipe, (long long)g->step, rate,
                   g->rate);
        CU_ASSERT_DOUBLE_EQUAL(rate, g->rate, 1e-12 * g->rate);
    }
}

/* MLPerf's own rule: base - (625 - iteration) * 0.000192, iterations from 1 on. */
static void mlperf_rises_by_its_own_rule(void) {
    const struct options o = options_of("mlperf");
    struct schedule s;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(learning_rate_settle(&s, &o, 1221, 96, &err), 0);
    for (int iteration = 1; iteration <= 625; iteration++)
        CU_ASSERT_DOUBLE_EQUAL(schedule_rate(&s, iteration - 1),
                               0.12 - (625 - iteration) * 0.000192, 1e-15);
}

/* The linear rule: eight containers of eight images take eight times the rate of SageMaker's
 * example with one. */
static void more_images_a_step_take_a_higher_rate(void) {
    const struct options o = options_of("aws-24");
    struct schedule s;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(learning_rate_settle(&s, &o, 100, 64, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(s.peak, 0.1, 1e-15);
}

static void what_else_they_set_is_their_sources(void) {
    const struct options one = options_of("coco-1x"), aws = options_of("aws-24");
    const struct options mlperf = options_of("mlperf");
    const struct options *const all[] = {&one, &aws, &mlperf};
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_STRING_EQUAL(all[i]->model, "maskrcnn_resnet50_fpn");
        CU_ASSERT(all[i]->momentum == 0.9 && all[i]->weight_decay == 1e-4 && !all[i]->nesterov);
        CU_ASSERT(all[i]->short_side == 800 && all[i]->long_side == 1333 && all[i]->flip);
        CU_ASSERT_EQUAL(all[i]->milestone_factor, 0.1);
    }
    CU_ASSERT(one.epochs == 12 && aws.epochs == 24 && mlperf.epochs == 18);
    CU_ASSERT(one.clip_norm == 0 && aws.clip_norm == 0.36 && mlperf.clip_norm == 0);
    CU_ASSERT(one.preset == OPTION_PRESET_TV && mlperf.preset == OPTION_PRESET_MLPERF);
    CU_ASSERT(one.bias_rate == 1 && one.decay_all);
    CU_ASSERT(mlperf.bias_rate == 2 && !mlperf.decay_all && !mlperf.decay_biases);
}

/* A preset brings which weights decay; a recipe and the command line go before it. */
static void a_preset_says_which_weights_decay(void) {
    const char *const d2[] = {"--recipe", "coco-1x", "--preset", "d2", "--bias-rate", "3"};
    const char *const over[] = {"--recipe", "mlperf", "--decay-biases=true"};
    struct options o;
    struct error err = {0};
    CU_ASSERT_EQUAL(options_parse(&o, COMMAND_TRAIN, 6, (char *const *)(uintptr_t)d2, &err), 0);
    CU_ASSERT(!o.decay_all && o.decay_biases && o.bias_rate == 3);
    CU_ASSERT_EQUAL(options_parse(&o, COMMAND_TRAIN, 3, (char *const *)(uintptr_t)over, &err), 0);
    CU_ASSERT(!o.decay_all && o.decay_biases && o.bias_rate == 2);
}

UNIT_SUITE("app.recipes", UNIT(rates_are_torchs_at_every_step), UNIT(mlperf_rises_by_its_own_rule),
           UNIT(more_images_a_step_take_a_higher_rate), UNIT(what_else_they_set_is_their_sources),
           UNIT(a_preset_says_which_weights_decay))
