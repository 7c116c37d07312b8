/* Inference rules of a detector: numbers that come from a preset and stay with the trained model
 * (config.json: "rules"), even if the preset changes later. Names are those of torchvision's
 * arguments, where they exist. */
#ifndef TRAINER_MODELS_DETECT_RULES_H
#define TRAINER_MODELS_DETECT_RULES_H

#include "common/error.h"

/* torch's default, and that of a description without rules. */
#define DETECT_NORM_EPSILON 1e-5

enum detect_rule {
    RULE_NORM_EPSILON,  /* of the backbone's norms; may be 0 if they are frozen */
    RULE_PRE_NMS,       /* candidates of a level, */
    RULE_POST_NMS,      /* and proposals of a picture; training uses other values */
    RULE_PROPOSAL_NMS,  /* IoU above which a proposal is dropped for a better one */
    RULE_PROPOSAL_SIDE, /* pixels; smaller proposals are dropped */
    RULE_SCORE,         /* least score of a detection, exclusive */
    RULE_NMS,           /* IoU, as for proposals */
    RULE_SIDE,
    RULE_DETECTIONS, /* per picture */
    DETECT_RULES
};

struct detect_rules {
    double value[DETECT_RULES];
};

/* Returns "norm_epsilon", ... */
const char *detect_rule_name(enum detect_rule rule);

/* Fails (EXIT_CODE_DATA) if there is no rule NAME or VALUE is out of range. */
int detect_rules_set(struct detect_rules *rules, const char *name, double value, struct error *err);

#endif
