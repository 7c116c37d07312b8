/* The CUDA backend: cuDNN for convolutions, cuBLASLt for the classifier, own kernels for the
 * rest. A step is enqueued on two streams, its input on a third; nothing in it waits for the
 * device. Open it on the thread that will run it. */
#ifndef TRAINER_BACKEND_CUDA_CUDA_H
#define TRAINER_BACKEND_CUDA_CUDA_H

#include "trainer/backend/cuda/base/architectures.h"
#include "trainer/backend/cuda/base/options.h"
#include "trainer/graph/backend.h"

#include <stdbool.h>

enum { CUDA_NAME_SIZE = 256 };

/* Fails with EXIT_CODE_DEVICE and one line that says why this host cannot (base/device.h). */
int cuda_open(struct backend **ret, const struct cuda_options *options, struct error *err);

/* Where the GPU that these options lead to stands on the PCI bus, "0000:0A:00.0". Opens nothing on
 * it, so that the process can move beside it first. */
int cuda_address(const struct cuda_options *options, char address[16], struct error *err);

/* How many GPUs answer, where this build can train on all of them, and the first one's name; 0 with
 * the reason in WHY. Opens nothing on them. */
int cuda_probe(char name[CUDA_NAME_SIZE], struct error *why);
/* Whether bench/results held a report on such a GPU when this was built. */
bool cuda_is_measured(const char *name);
/* The same of the names of files in RESULTS, "resnet50-NVIDIA-H200.md:...". */
bool cuda_results_hold(const char *results, const char *name);

/* "CUDA 13.0, cuDNN 9.19.0", what this build was made with; needs no GPU. */
const char *cuda_build_text(void);

#endif
