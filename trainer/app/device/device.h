/* Choice of a backend and its device. It also lists the backends that this build has. */
#ifndef TRAINER_APP_DEVICE_DEVICE_H
#define TRAINER_APP_DEVICE_DEVICE_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/device_sum.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/tensor.h"

#include <stdbool.h>
#include <stdio.h>

/* Collective. Resolves `--backend auto` in O: cuda if every rank has a GPU that answers, else cpu,
 * or ref in a build without it. Resolves `--fusion auto` for cuda: conv if bench/results has a
 * report on every rank's kind of GPU, else all. Explicit choices are kept. */
int device_settle(struct options *o, struct comm *comm, struct error *err);

/* Returns the type of activations for CHOICE (enum option_dtype). */
enum dtype device_dtype(int choice);

/* Returns how far O fuses operators: --fusion, or for `auto` the best level for the backend. O
 * must be settled. */
enum fusion device_fusion(const struct options *o);

/* Moves this process to the cores near the device that device_open will open (device/pin.h). Call
 * it before threads are counted and buffers allocated. If the kernel does not know the device's
 * location the process stays. */
int device_place(const struct options *o, struct comm *comm, bool sums, struct error *err);

/* Opens the backend that O asks for, with THREADS compute threads, for this rank of COMM. Anything
 * that this build or host lacks is EXIT_CODE_DEVICE. SUMS: the ranks will all-reduce gradients,
 * which needs one GPU per rank with NCCL; else ranks may share a GPU. */
int device_open(struct backend **ret, const struct options *o, int threads, struct comm *comm,
                bool sums, struct error *err);

/* Opens an all-reduce from device to device over the ranks of COMM, for gradients in the BYTES of
 * MEMORY (backend_device.alloc_summed), if BACKEND's device, this build and O allow it. Otherwise,
 * and with a single rank, *RET is NULL. */
int device_sum_open(struct device_sum **ret, const struct options *o, struct comm *comm,
                    struct backend *backend, void *memory, size_t bytes, struct error *err);

/* Returns true if this build can use GPUs. */
bool device_has_cuda(void);

/* Prints "backend ref, cpu (oneDNN 3.2.0, avx512_core_amx)": a line for each, for `ringtrain
 * version`. */
void device_print(FILE *out);

static inline void cleanup_backend_at(struct backend **backend) {
    backend_close(*backend);
}
#define cleanup_backend __attribute__((cleanup(cleanup_backend_at)))

#endif
