#include "trainer/models/detect_rules.h"

#include "tests/support/unit.h"
#include "trainer/models/detect_preset.h"

#include <math.h>

static struct detect_rules rules;

static void refused(const char *name, double value, const char *words) {
    const struct detect_rules before = rules;
    struct error err = {0};
    CU_ASSERT_EQUAL(detect_rules_set(&rules, name, value, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, words);
    CU_ASSERT_EQUAL(memcmp(&rules, &before, sizeof(rules)), 0);
}

static void each_is_set_by_its_name(void) {
    for (int r = 0; r < DETECT_RULES; r++) {
        rules = (struct detect_rules){{0}};
        CU_ASSERT_EQUAL(detect_rules_set(&rules, detect_rule_name((enum detect_rule)r), 1, NULL),
                        0);
        for (int other = 0; other < DETECT_RULES; other++)
            CU_ASSERT_EQUAL(rules.value[other], other == r ? 1 : 0);
    }
}

/* torchvision's first weights need an epsilon of 0 (overwrite_eps). */
static void bounds_are_of_what_may_be(void) {
    rules = detect_preset_find("tv")->rules;
    CU_ASSERT_EQUAL(detect_rules_set(&rules, "norm_epsilon", 0, NULL), 0);
    CU_ASSERT_EQUAL(rules.value[RULE_NORM_EPSILON], 0);
    CU_ASSERT_EQUAL(detect_rules_set(&rules, "box_score_thresh", 1, NULL), 0);
    refused("norm_epsilon", -1e-9, "norm_epsilon: -1e-09 is not a number from 0 to 1");
    refused("norm_epsilon", NAN, "norm_epsilon: nan");
    refused("box_nms_thresh", 1.1, "box_nms_thresh: 1.1 is not a number from 0 to 1");
    refused("box_detections_per_img", 0, "0 is not a whole number from 1 to 10000");
    refused("rpn_pre_nms_top_n", 10.5, "10.5 is not a whole number from 1 to 100000");
    refused("rpn_post_nms_top_n", INFINITY, "inf is not a whole number");
}

static void what_is_no_rule_is_named(void) {
    refused("box_scoresh", 0.5, "'box_scoresh' is not a rule that this version knows");
    refused("", 0.5, "'' is not a rule");
}

/* Each preset has the values of its source: norms of nn.BatchNorm2d and FrozenBatchNorm2d (eps
 * 1e-5; maskrcnn-benchmark's layers/batch_norm.py has none), RPN NMS_THRESH 0.7, ROI_HEADS
 * SCORE_THRESH_TEST 0.05 and NMS_THRESH_TEST 0.5, DETECTIONS_PER_IMAGE 100, RPN POST_NMS_TOPK_TEST
 * 1000; MIN_SIZE and torchvision's remove_small_boxes. */
static void presets_bring_those_of_their_source(void) {
    static const char *const names[] = {"tv", "d2", "mlperf"};
    for (int i = 0; i < 3; i++) {
        const double *value = detect_preset_find(names[i])->rules.value;
        CU_ASSERT_EQUAL(value[RULE_NORM_EPSILON], i == 2 ? 0 : 1e-5);
        CU_ASSERT(value[RULE_PRE_NMS] == 1000 && value[RULE_POST_NMS] == 1000);
        CU_ASSERT(value[RULE_PROPOSAL_NMS] == 0.7 && value[RULE_NMS] == 0.5);
        CU_ASSERT(value[RULE_SCORE] == 0.05 && value[RULE_DETECTIONS] == 100);
        CU_ASSERT_EQUAL(value[RULE_PROPOSAL_SIDE], i == 0 ? 1e-3 : 0);
        CU_ASSERT_EQUAL(value[RULE_SIDE], i == 0 ? 1e-2 : 0);
    }
}

UNIT_SUITE("models.detect_rules", UNIT(each_is_set_by_its_name), UNIT(bounds_are_of_what_may_be),
           UNIT(what_is_no_rule_is_named), UNIT(presets_bring_those_of_their_source))
