/* The choice of a backend, and what this build has. */
#ifndef APP_DEVICE_H
#define APP_DEVICE_H

#include "app/options.h"
#include "backend/backend.h"
#include "comm/comm.h"
#include "comm/device_sum.h"
#include "common/error.h"
#include "graph/tensor.h"

#include <stdio.h>

/* The type of activations that CHOICE (enum option_dtype) names. */
enum dtype device_dtype(int choice);

/* Opens the backend that O asks for, with THREADS compute threads, for the rank LOCAL_RANK of this
 * host. What this build or host lacks is EXIT_CODE_DEVICE. */
int device_open(struct backend **ret, const struct options *o, int threads, int local_rank,
                struct error *err);

/* Sums over the ranks of COMM from device to device, where BACKEND's device and this build can and
 * CHOICE (enum option_comm) allows it; else *RET is NULL. */
int device_sum_open(struct device_sum **ret, int choice, struct comm *comm, struct backend *backend,
                    struct error *err);

/* "backend ref, cpu (oneDNN 3.2.0, avx512_core_amx)": a line for each, for `ringtrain version`. */
void device_print(FILE *out);

static inline void cleanup_backend_at(struct backend **backend) {
    backend_close(*backend);
}
#define cleanup_backend __attribute__((cleanup(cleanup_backend_at)))

#endif
