/* The choice of a backend, and what this build has. */
#ifndef TRAINER_APP_DEVICE_DEVICE_H
#define TRAINER_APP_DEVICE_DEVICE_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/device_sum.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/tensor.h"

#include <stdio.h>

/* What `--backend auto` is: cuda where every rank has a GPU that answers, else cpu, or ref in a
 * build without it. O's backend becomes that. And what `--fusion auto` is on cuda: conv where every
 * rank's GPU is of a kind on which bench/results has a report, else all. All ranks together; what
 * was named stays. */
int device_settle(struct options *o, struct comm *comm, struct error *err);

/* The type of activations that CHOICE (enum option_dtype) names. */
enum dtype device_dtype(int choice);

/* How far O fuses operators: --fusion, and where that is `auto` what serves the backend best. O is
 * settled. */
enum fusion device_fusion(const struct options *o);

/* Moves this process beside the device that device_open will open (device/pin.h): before threads
 * are counted and buffers made. Where the kernel tells nothing of the device's place it stays. */
int device_place(const struct options *o, struct comm *comm, bool sums, struct error *err);

/* Opens the backend that O asks for, with THREADS compute threads, for this rank of COMM. What this
 * build or host lacks is EXIT_CODE_DEVICE. SUMS: the ranks will sum gradients, each on a GPU of its
 * own if over NCCL; else they may share. */
int device_open(struct backend **ret, const struct options *o, int threads, struct comm *comm,
                bool sums, struct error *err);

/* Sums over the ranks of COMM from device to device, of what lies in the BYTES of MEMORY
 * (backend_device.alloc_summed), where BACKEND's device, this build and O allow it; else *RET is
 * NULL, as for a single rank. */
int device_sum_open(struct device_sum **ret, const struct options *o, struct comm *comm,
                    struct backend *backend, void *memory, size_t bytes, struct error *err);

/* "backend ref, cpu (oneDNN 3.2.0, avx512_core_amx)": a line for each, for `ringtrain version`. */
void device_print(FILE *out);

static inline void cleanup_backend_at(struct backend **backend) {
    backend_close(*backend);
}
#define cleanup_backend __attribute__((cleanup(cleanup_backend_at)))

#endif
