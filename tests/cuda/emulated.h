/* The CUDA backend's own kernels on the CPU: real steps and real launch arguments, with kernels
 * that run where they are launched (on_host.hpp). WHOLE: what cuDNN and cuBLASLt would do is done
 * by the reference, so that networks run; else those operators are not supported. */
#ifndef TESTS_CUDA_EMULATED_H
#define TESTS_CUDA_EMULATED_H

#include "tests/cuda/streams_emulated.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/row_prefix.h"

#include <stdbool.h>

/* Everything runs when it is enqueued. */
int emulated_open(struct backend **ret, bool whole, struct error *err);
/* A whole one with streams, on which things run in ORDER. */
int emulated_open_streams(struct backend **ret, enum streams_order order, uint64_t seed,
                          struct error *err);

/* From here on operators with rows compute the share of them that the device chooses
 * (cuda/optional/row_prefix.h): at once, as every step here runs like a recorded one. CHOSEN counts
 * how often each share was. */
void emulated_choose_rows(struct backend *backend, int chosen[ROW_PARTS]);

/* On a whole device, from here on: after each run of one of our own operators, TOLD gets its
 * distance from ref's result on the same inputs (cuda/shadow.h). Not for operators that update
 * their inputs. */
typedef void emulated_told(void *user, const struct op *op, double error);
void emulated_compare(struct backend *backend, emulated_told *told, void *user);

/* Whether it has the own backward pass of 1x1 convolutions; it has until then. */
void emulated_own_backward(struct backend *backend, bool own);

/* Launches of our own kernels so far; EARLY: of those that may begin while others end alone. */
unsigned long emulated_launches(bool early);

/* It has BYTES of memory. */
void emulated_limit(struct backend *backend, size_t bytes);
/* The wait number WAITS from now, counted from 1, finds a fault that stays. */
void emulated_fault(struct backend *backend, int waits);

#endif
