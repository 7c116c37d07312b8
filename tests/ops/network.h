/* Whole networks on a backend against the reference: loss, every gradient, the running statistics,
 * and how training goes on. Everything asserts (CUnit). */
#ifndef TESTS_OPS_NETWORK_H
#define TESTS_OPS_NETWORK_H

#include "trainer/graph/backend.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/tensor.h"

/* A fresh backend for each network. */
typedef struct backend *(*network_opener)(void);

struct network_row {
    const char *model; /* of net_config */
    int size;          /* so that the last norms still see tens of values a channel */
    enum dtype dtype;
    enum fusion least, most; /* levels that are run */
    double scale;            /* of the backend's gradients: its loss scale */
    double bound;            /* of ||a - ref|| / ||ref||, over each parameter's gradient */
    double best;             /* the same, each with the best of a few batches; 0: any */
};

/* Each level against the reference in f32. Values that round to the other side of a ReLU's edge are
 * there in some batches and not in others, wrong terms in all: so one batch has to come much
 * closer.
 */
void network_check_gradients(network_opener open, const struct network_row *rows, size_t count);
/* Each level above the first against the first, on the same backend. */
void network_check_levels(network_opener open, const struct network_row *rows, size_t count);
/* Ten steps of ResNet-20 on noise: losses within BOUND times the first one, and within BEST times
 * it on the best of a few batches; 0: any. */
void network_check_ten_steps(network_opener open, enum dtype dtype, enum fusion fusion,
                             double scale, double bound, double best);
/* Thirty steps bring the loss below a fifth of what it was. */
void network_check_learning(network_opener open, enum dtype dtype, enum fusion fusion,
                            double scale);

#endif
