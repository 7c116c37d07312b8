/* NVIDIA's management library, NVML, opened at run time: no build needs it, and values that the
 * installed version does not offer are unknown.
 *
 * Its calls ask the driver and may hang or crash with it: only for a child process, never for the
 * one that leads a job. A static program cannot open it.
 *
 * Source: nvml.h of CUDA 13; functions and structures keep their form from version to version. */
#ifndef ENTRYPOINT_GPU_NVML_H
#define ENTRYPOINT_GPU_NVML_H

#include "common/error.h"
#include "entrypoint/gpu/gpu_state.h"

#include <stdbool.h>
#include <stdint.h>

struct nvml; /* owned by the caller of nvml_open() */

/* Opens "libnvidia-ml.so.1" as the loader finds it. NULL: it is not there, lacks a function that
 * is always needed, or does not answer; the error says which. */
struct nvml *nvml_open(struct error *err);
void nvml_close(struct nvml *n);

/* Counts the GPUs, at most GPU_STATE_MAX of them. */
int nvml_count(const struct nvml *n, size_t *ret, struct error *err);
/* Reads the state of the GPU of that number, from 0. One that does not answer has a fault. */
void nvml_read_one(const struct nvml *n, size_t number, struct gpu_state *g);
/* Reads the state of all GPUs. */
int nvml_read(const struct nvml *n, struct gpu_states *ret, struct error *err);

/* --- Xids ------------------------------------------------------------------------------------ */

/* Begins to listen for Xids of all GPUs. */
int nvml_listen(struct nvml *n, struct error *err);

/* Waits for the next one, MS at most. Returns 1 with its number and the GPU's bus address, 0 if
 * none came, -1 if no more can come. */
int nvml_next_xid(const struct nvml *n, unsigned ms, uint64_t *ret_number,
                  char ret_bus[GPU_STATE_BUS_SIZE], struct error *err);

#endif
