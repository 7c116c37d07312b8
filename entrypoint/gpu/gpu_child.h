/* State of the GPUs, asked by a child for its supervisor.
 *
 * The child is `ringmaster examine gpus`, `memory` and `xids`. Each call may hang with the
 * driver. */
#ifndef ENTRYPOINT_GPU_GPU_CHILD_H
#define ENTRYPOINT_GPU_GPU_CHILD_H

#include "common/error.h"
#include "entrypoint/gpu/gpu_state.h"

#include <jansson.h>

/* How long nvidia-smi may take, in ms; and how long to wait until memory is free, in s: less than a
 * master waits for a host to be ready for the next attempt. */
enum { GPU_CHILD_SMI_MS = 3500, GPU_CHILD_MEMORY_SECONDS = 15 };

/* Memory in use below this is the driver's own, in MiB. */
enum { GPU_CHILD_FREE_MIB = 512 };

/* Reads the state of all GPUs, by NVML or else nvidia-smi. */
int gpu_child_read(char *const *environment, struct gpu_states *ret, struct error *err);

/* Returns what gpu_states_json() has, with `users` of GPUs in use (gpu_child_users), or {fault}. */
json_t *gpu_child_gpus(char *const *environment);

/* Waits until no GPU has more than GPU_CHILD_FREE_MIB in use, GPU_CHILD_MEMORY_SECONDS at most.
 * Returns {waited: ms, busy: [TEXT ...]}: a text for each GPU that is still in use, which names its
 * processes; or {fault}. */
json_t *gpu_child_memory(char *const *environment);

/* Prints each Xid as a line of the kernel's form, "NVRM: Xid (PCI:0000:41:00): 79", to FD, until
 * there can be no more. */
int gpu_child_xids(int fd, struct error *err);

/* Writes which processes use G, "pid 7 (python3) with 30000 MiB, pid 9 ..."; "processes that cannot
 * be seen from here" if there are none. */
void gpu_child_users(const struct gpu_state *g, char *ret, size_t size);

#endif
