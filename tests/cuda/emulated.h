/* The CUDA backend's own kernels on the CPU: real steps and real launch arguments, with kernels
 * that run where they are launched (on_host.hpp). WHOLE: what cuDNN and cuBLASLt would do is done
 * by the reference, so that networks run; else those operators are not supported. */
#ifndef TESTS_CUDA_EMULATED_H
#define TESTS_CUDA_EMULATED_H

#include "backend/backend.h"
#include "cuda/lanes_emulated.h"
#include "graph/row_part.h"

#include <stdbool.h>

/* Everything runs when it is enqueued. */
int emulated_open(struct backend **ret, bool whole, struct error *err);
/* A whole one with lanes, on which things run in ORDER. */
int emulated_open_lanes(struct backend **ret, enum lanes_order order, uint64_t seed,
                        struct error *err);

/* From here on operators with rows compute the share of them that the device chooses (cuda/rows.h):
 * at once, as every step here runs like a recorded one. CHOSEN counts how often each share was. */
void emulated_choose_rows(struct backend *backend, int chosen[ROW_PARTS]);

/* It has BYTES of memory. */
void emulated_limit(struct backend *backend, size_t bytes);
/* The wait number WAITS from now, counted from 1, finds a fault that stays. */
void emulated_fault(struct backend *backend, int waits);

#endif
