/* Contents of a store as named arrays of a safetensors file, with torchvision's names and order of
 * axes. The arrays point into the store; writers read from them, readers fill them. */
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
    WEIGHTS_MODEL = 1,    /* parameters and running statistics */
    WEIGHTS_MOMENTUM = 2, /* optimizer.momentum.NAME */
    WEIGHTS_BATCHES = 4,  /* PREFIX.num_batches_tracked of each norm, I64 */
};

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
/* Fills all arrays, and so the store, from FILE. */
int weights_read(const struct weights *w, const struct safetensors *file, struct error *err);

/* Rank 0's parameters, statistics and constants for all, and where MOMENTUM is true what the
 * optimizer keeps of them; all ranks together. */
int weights_spread(struct store *store, struct comm *comm, bool momentum, struct error *err);

#define cleanup_weights __attribute__((cleanup(weights_done)))

#endif
