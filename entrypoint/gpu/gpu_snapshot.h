/* Snapshot of this host's GPUs for people: what each is, does and holds, which errors and limits it
 * has, and which processes use it.
 *
 * Only for a child process, as each call may hang with the driver. What the driver answered before
 * is printed by then, and so is which GPU was asked last. */
#ifndef ENTRYPOINT_GPU_GPU_SNAPSHOT_H
#define ENTRYPOINT_GPU_GPU_SNAPSHOT_H

#include "entrypoint/gpu/gpu_state.h"

#include <stdint.h>
#include <stdio.h>

/* Asks NVML, or else nvidia-smi as PATH in ENVIRONMENT finds it, for LIMIT (ns) at most, and prints
 * to OUT. Returns 0, or 1 if neither answers. */
int gpu_snapshot_print(char *const *environment, int64_t limit, FILE *out);

/* Prints the lines of one GPU. */
void gpu_snapshot_print_one(const struct gpu_state *g, FILE *out);

#endif
