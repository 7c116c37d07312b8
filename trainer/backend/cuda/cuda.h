/* Backend for NVIDIA GPUs by CUDA: cuDNN for convolutions, cuBLASLt for linear layers, own kernels
 * for the rest. A step is enqueued on two streams, its input on a third; nothing in it waits for
 * the device. Open it on the thread that will run it. */
#ifndef TRAINER_BACKEND_CUDA_CUDA_H
#define TRAINER_BACKEND_CUDA_CUDA_H

#include "trainer/backend/cuda/base/architectures.h"
#include "trainer/backend/cuda/base/options.h"
#include "trainer/graph/backend.h"

#include <stdbool.h>

enum { CUDA_NAME_SIZE = 256 };

/* Fails with EXIT_CODE_DEVICE and one line that says why this host cannot (base/device.h). */
int cuda_open(struct backend **ret, const struct cuda_options *options, struct error *err);

/* Returns the PCI bus address of the GPU that these options select, "0000:0A:00.0". Does not open
 * the GPU, so that the process can first move to nearby cores. */
int cuda_address(const struct cuda_options *options, char address[16], struct error *err);

/* Returns how many GPUs answer if this build can train on all of them, with the first one's name;
 * else 0 with the reason in WHY. Does not open them. */
int cuda_probe(char name[CUDA_NAME_SIZE], struct error *why);
/* Returns true if bench/results had a report on such a GPU when this was built. */
bool cuda_is_measured(const char *name);
/* The same for the file names in RESULTS, "resnet50-NVIDIA-H200.md:...". */
bool cuda_results_hold(const char *results, const char *name);

/* Returns "CUDA 13.0, cuDNN 9.19.0", the versions this build was made with; needs no GPU. */
const char *cuda_build_text(void);

#endif
