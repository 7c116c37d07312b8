#include "trainer/models/detect_rules.h"

#include "common/table.h"

#include <stdbool.h>

static const struct rule_range {
    const char *name;
    double min, max;
    bool whole;
} RULES[DETECT_RULES] = {
    [RULE_NORM_EPSILON] = {"norm_epsilon", 0, 1, false},
    [RULE_PRE_NMS] = {"rpn_pre_nms_top_n", 1, 100000, true},
    [RULE_POST_NMS] = {"rpn_post_nms_top_n", 1, 100000, true},
    [RULE_PROPOSAL_NMS] = {"rpn_nms_thresh", 0, 1, false},
    [RULE_PROPOSAL_SIDE] = {"rpn_min_size", 0, 10000, false},
    [RULE_SCORE] = {"box_score_thresh", 0, 1, false},
    [RULE_NMS] = {"box_nms_thresh", 0, 1, false},
    [RULE_SIDE] = {"box_min_size", 0, 10000, false},
    [RULE_DETECTIONS] = {"box_detections_per_img", 1, 10000, true},
};

const char *detect_rule_name(enum detect_rule rule) {
    return RULES[rule].name;
}

int detect_rules_set(struct detect_rules *rules, const char *name, double value,
                     struct error *err) {
    const struct rule_range *rule = TABLE_FIND(RULES, name, name);
    if (rule == NULL)
        return error_set(err, EXIT_CODE_DATA, "'%.64s' is not a rule that this version knows",
                         name);
    if (!(value >= rule->min && value <= rule->max) || (rule->whole && value != (double)(int)value))
        return error_set(err, EXIT_CODE_DATA, "%s: %g is not %s from %g to %g", name, value,
                         rule->whole ? "a whole number" : "a number", rule->min, rule->max);
    rules->value[rule - RULES] = value;
    return 0;
}
