/* Device memory for the norms of all trained tensors: which elements belong to which, and room for
 * the sums (struct backend_norms). For optimizers that adapt their rate to each tensor. */
#ifndef TRAINER_APP_STEP_TENSOR_NORMS_H
#define TRAINER_APP_STEP_TENSOR_NORMS_H

#include "common/error.h"
#include "trainer/graph/program/store.h"

struct tensor_norms {
    struct backend *backend; /* borrowed */
    struct backend_norms norms;
    size_t groups; /* of STORE_ALIGNMENT bytes */
};

/* Fills TN for the trained parameters of STORE. */
int tensor_norms_open(struct tensor_norms *tn, const struct store *store, struct error *err);
void tensor_norms_done(struct tensor_norms *tn);

#endif
