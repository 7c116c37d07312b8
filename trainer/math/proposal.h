/* Ranking score of proposals. */
#ifndef TRAINER_MATH_PROPOSAL_H
#define TRAINER_MATH_PROPOSAL_H

#include "trainer/math/box.h"

#include <math.h>

struct proposal_rule {
    float plus;     /* box.h */
    float min_side; /* in pixels */
    int exclusive;  /* sides must be longer than that, not just as long */
    int by_logit;   /* rank by the logit, else by its probability */
};

/* Returns the score of a candidate with this logit and clipped box: minus infinity if it is
 * excluded, as all are in a picture that is not VALID (IMAGE_SIZE_VALID). */
KERNEL float proposal_score(const struct proposal_rule *rule, int valid, float logit,
                            const float box[4]) {
    if (!valid || !(logit == logit) ||
        !box_is_large(box, rule->plus, rule->min_side, rule->exclusive))
        return -INFINITY;
    return rule->by_logit ? logit : exact_sigmoid(logit);
}

#endif
