/* A GPU that is described and not there (devices/): networks compile as for it, with the plans,
 * lanes and memory that they would have, and a step that runs counts what it would launch. Nothing
 * is computed: memory is addresses that nobody may follow, as many as the device has bytes, and
 * what is copied back is left as it was. One at a time, as launches are counted for all streams. */
#ifndef TRAINER_BACKEND_CUDA_SIMULATED_GPU_H
#define TRAINER_BACKEND_CUDA_SIMULATED_GPU_H

#include "trainer/backend/cuda/base/launches.h"
#include "trainer/backend/cuda/cuda.h"

/* PATH is cuDNN's description of a device as JSON. OPTIONS as for cuda_open; no plan is timed, and
 * where training would, all candidates' memory is planned for and the heuristics' first one bound.
 * A file that is none is an EXIT_CODE_CONFIG. */
int cuda_simulated_open(struct backend **ret, const char *path, const struct cuda_options *options,
                        struct error *err);

/* What was enqueued since it was opened. */
struct cuda_launches cuda_simulated_launches(const struct backend *backend);
/* The device's own name. */
const char *cuda_simulated_name(const struct backend *backend);

#endif
