/* Simulated GPU, known only by its description (devices/): networks are compiled as for the real
 * one, with its plans, streams and memory, and a step that runs counts what it would launch.
 * Nothing is computed: memory consists of addresses that must not be accessed, as many as the
 * device has bytes, and copies back leave their target unchanged. Only one at a time, because
 * launches are counted for all streams. */
#ifndef TRAINER_BACKEND_CUDA_SIMULATED_GPU_H
#define TRAINER_BACKEND_CUDA_SIMULATED_GPU_H

#include "trainer/backend/cuda/base/launches.h"
#include "trainer/backend/cuda/cuda.h"

/* PATH is cuDNN's description of a device as JSON. OPTIONS as for cuda_open. No plan is timed:
 * where training would do that, memory is planned for all candidates and the heuristics' first one
 * is bound. A file that is not a description is EXIT_CODE_CONFIG. */
int cuda_simulated_open(struct backend **ret, const char *path, const struct cuda_options *options,
                        struct error *err);

/* Returns what was enqueued since it was opened. */
struct cuda_launches cuda_simulated_launches(const struct backend *backend);
/* Returns the device's own name. */
const char *cuda_simulated_name(const struct backend *backend);

#endif
