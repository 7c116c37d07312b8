#include "trainer/app/task/detect_rules_io.h"

#include "tests/support/unit.h"
#include "trainer/models/detect_preset.h"

static void a_training_has_its_presets_and_its_own_epsilon(void) {
    const struct options options = {.norm_epsilon = 0};
    const struct task_request ask = {.options = &options};
    struct detect_rules rules;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(detect_settle_rules(&rules, "tv", &ask, &err), 0);
    CU_ASSERT_EQUAL(rules.value[RULE_NORM_EPSILON], 0);
    for (int r = RULE_NORM_EPSILON + 1; r < DETECT_RULES; r++)
        CU_ASSERT_EQUAL(rules.value[r], detect_preset_find("tv")->rules.value[r]);
}

static double epsilon_of(const char *preset, const struct task_request *ask) {
    struct detect_rules rules;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(detect_settle_rules(&rules, preset, ask, &err), 0);
    return rules.value[RULE_NORM_EPSILON];
}

/* maskrcnn-benchmark folds its norms, which are constant, without one; what is trained has torch's,
 * and so has a model of an earlier version. */
static void norms_without_epsilon_are_constant_ones(void) {
    struct options options = {.norm_epsilon = -1, .init = "weights"};
    const struct inputs inputs = {0};
    const struct model_config before = {0};
    struct task_request ask = {.options = &options, .inputs = &inputs};
    CU_ASSERT_EQUAL(epsilon_of("mlperf", &ask), 0);
    CU_ASSERT_EQUAL(epsilon_of("d2", &ask), 1e-5);
    options.init = NULL;
    CU_ASSERT_EQUAL(epsilon_of("mlperf", &ask), 1e-5);
    options.norm_epsilon = 0.25;
    CU_ASSERT_EQUAL(epsilon_of("mlperf", &ask), 0.25);
    ask.trained = &before;
    CU_ASSERT_EQUAL(epsilon_of("mlperf", &ask), 1e-5);
    struct model_config config = {.preset = (char[]){"mlperf"}};
    detect_complete_rules(&config);
    CU_ASSERT_EQUAL(config.rules[RULE_NORM_EPSILON].value, 1e-5);
}

/* A checkpoint of an earlier version is of the same network as its successor, which tells of its
 * rules; one that tells of other rules, or of a preset that is not known, stays as it is. */
static void a_description_without_rules_gets_its_presets(void) {
    struct model_config config = {.preset = (char[]){"d2"}};
    detect_complete_rules(&config);
    CU_ASSERT_EQUAL_FATAL(config.rule_count, DETECT_RULES);
    for (int r = 0; r < DETECT_RULES; r++) {
        CU_ASSERT_STRING_EQUAL(config.rules[r].name, detect_rule_name((enum detect_rule)r));
        CU_ASSERT_EQUAL(config.rules[r].value, detect_preset_find("d2")->rules.value[r]);
    }
    config.rules[RULE_SCORE].value = 0.25;
    detect_complete_rules(&config);
    CU_ASSERT_EQUAL(config.rules[RULE_SCORE].value, 0.25);
    config = (struct model_config){.preset = (char[]){"none"}};
    detect_complete_rules(&config);
    CU_ASSERT_EQUAL(config.rule_count, 0);
    config.preset = NULL;
    detect_complete_rules(&config);
    CU_ASSERT_EQUAL(config.rule_count, 0);
}

UNIT_SUITE("app.detect_rules_io", UNIT(a_training_has_its_presets_and_its_own_epsilon),
           UNIT(norms_without_epsilon_are_constant_ones),
           UNIT(a_description_without_rules_gets_its_presets))
