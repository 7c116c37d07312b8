#include "common/trials/halving.h"

#include <math.h>

static bool is_better(const double *scores, bool smallest, size_t a, size_t b) {
    if (scores[a] == scores[b])
        return a < b;
    return smallest ? scores[a] < scores[b] : scores[a] > scores[b];
}

/* A few thousand at most: insertion keeps it simple and stable. */
size_t halving_order(const double *scores, size_t count, bool smallest, size_t *ret) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = used;
        if (isnan(scores[i]))
            continue;
        for (; at > 0 && is_better(scores, smallest, i, ret[at - 1]); at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
        used++;
    }
    return used;
}

size_t halving_keep(const double *scores, size_t count, int factor, bool smallest, size_t *ret) {
    const size_t good = halving_order(scores, count, smallest, ret);
    const size_t most = count / (size_t)factor > 0 ? count / (size_t)factor : 1;
    return good < most ? good : most;
}
