/* Convolutions of the CUDA backend, based on cuDNN: everything that a build without cuDNN lacks.
 * Such a build still opens the backend and lists itself, but refuses to compile a network with
 * convolutions, with an error that says why (no_cudnn.c). */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONVS_H
#define TRAINER_BACKEND_CUDA_DNN_CONVS_H

#include "common/error.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

struct cuda;
struct convs;

/* Opens CUDA->convs; NAME is the GPU's. CUDA's stream must exist. */
int convs_open(struct cuda *cuda, const char *name, struct error *err);
/* The same for a simulated device described in the file PATH (cuda/simulated_gpu.h). */
int convs_describe(struct cuda *cuda, const char *path, struct error *err);
/* Makes convolutions use CUDA's present stream from here on. */
int convs_stream(struct cuda *cuda, struct error *err);
/* NULL is fine. */
void convs_close(struct convs *convs);
/* Returns true if the convolution OP is supported: a plain one always, a fused one if a plan is
 * found and cuda_options.decide does not find it slower. True for other operators. */
bool convs_support(struct cuda *cuda, const struct graph *graph, const struct op *op);

/* Returns "cuDNN 9.19.0", the version this build was made with, and NULL or the version that is
 * loaded. */
const char *convs_text(void);
const char *convs_loaded(void);

#endif
