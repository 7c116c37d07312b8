/* Contents of a store as named arrays of a safetensors file. They have torchvision's names and
 * order of axes. The arrays point into the store; writers read from them, readers fill them. */
#ifndef TRAINER_APP_WEIGHTS_WEIGHTS_H
#define TRAINER_APP_WEIGHTS_WEIGHTS_H

#include "common/error.h"
#include "trainer/checkpoint/array.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/comm/comm.h"
#include "trainer/graph/program/store.h"

#include <stdbool.h>
#include <stddef.h>

/* What to list; bits. */
enum {
    WEIGHTS_MODEL = 1,     /* parameters and running statistics */
    WEIGHTS_OPTIMIZER = 2, /* what the optimizer keeps: optimizer.momentum.NAME,
                            * optimizer.second.NAME */
    WEIGHTS_BATCHES = 4,   /* PREFIX.num_batches_tracked of each norm, I64 */
    WEIGHTS_AVERAGE = 8,   /* the moving average: ema.NAME */
    /* With WEIGHTS_MODEL, the parameters' values or names are those of the average: */
    WEIGHTS_PUBLISHED = 16,    /* the average under the plain names; the parameters without one */
    WEIGHTS_FROM_AVERAGE = 32, /* the parameters as ema.NAME */
};

#define WEIGHTS_AVERAGE_PREFIX "ema."

struct weights {
    struct store *store; /* borrowed */
    unsigned what;
    struct array *arrays; /* owned */
    size_t count;
    char *names; /* owned; ARRAY_NAME_MAX bytes for each array */
    int64_t batches;
};

void weights_done(struct weights *w);
/* BATCHES is the value of every num_batches_tracked. W must not move. */
int weights_list(struct weights *w, struct store *store, unsigned what, int64_t batches,
                 struct error *err);
/* Returns true if FILE has an array of each name. */
bool weights_are_in(const struct weights *w, const struct safetensors *file);
/* Fills all arrays, and so the store, from FILE. */
int weights_read(const struct weights *w, const struct safetensors *file, struct error *err);

/* Rank 0's parameters, statistics and constants for all, and where KEPT is true what the
 * optimizer keeps of them; all ranks together. */
int weights_spread(struct store *store, struct comm *comm, bool kept, struct error *err);

#define cleanup_weights __attribute__((cleanup(weights_done)))

#endif
