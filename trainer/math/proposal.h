/* What proposals are ranked by, and when one proposal makes another one superfluous. */
#ifndef TRAINER_MATH_PROPOSAL_H
#define TRAINER_MATH_PROPOSAL_H

#include "trainer/math/box.h"

#include <math.h>

struct proposal_rule {
    float plus;     /* box.h */
    float min_side; /* in pixels */
    int exclusive;  /* sides have to be above it */
    int by_logit;   /* the logit ranks, else its probability */
};

/* The score of a candidate with this logit and clipped box: minus infinity if it is none, as all
 * are of a picture that is not VALID (IMAGE_SIZE_VALID). */
KERNEL float proposal_score(const struct proposal_rule *rule, int valid, float logit,
                            const float box[4]) {
    if (!valid || !(logit == logit) ||
        !box_is_large(box, rule->plus, rule->min_side, rule->exclusive))
        return -INFINITY;
    return rule->by_logit ? logit : exact_sigmoid(logit);
}

#endif
