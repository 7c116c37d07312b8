/* How a detector that was trained is used: numbers that a preset brings and that stay with the
 * model from then on (config.json: "rules"), whatever the preset says later. Their names are
 * torchvision's arguments, where it has one. */
#ifndef TRAINER_MODELS_DETECT_RULES_H
#define TRAINER_MODELS_DETECT_RULES_H

#include "common/error.h"

/* torch's own, and of a description that tells of no rules. */
#define DETECT_NORM_EPSILON 1e-5

enum detect_rule {
    RULE_NORM_EPSILON,  /* of the backbone's norms; may be 0 where they are constant */
    RULE_PRE_NMS,       /* candidates of a level, */
    RULE_POST_NMS,      /* and proposals of a picture; a training has other ones */
    RULE_PROPOSAL_NMS,  /* IoU above which a proposal is dropped for a better one */
    RULE_PROPOSAL_SIDE, /* pixels */
    RULE_SCORE,         /* detections have to be above it */
    RULE_NMS,           /* as of proposals */
    RULE_SIDE,
    RULE_DETECTIONS, /* of a picture */
    DETECT_RULES
};

struct detect_rules {
    double value[DETECT_RULES];
};

/* "norm_epsilon", ... */
const char *detect_rule_name(enum detect_rule rule);

/* An error (EXIT_CODE_DATA) says that there is no rule NAME, or what its values are. */
int detect_rules_set(struct detect_rules *rules, const char *name, double value, struct error *err);

#endif
