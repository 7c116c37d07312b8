/* The convolutions of the CUDA backend, with cuDNN behind them: all that a build without cuDNN does
 * not have. There the backend opens and lists itself all the same, and a network with convolutions
 * is refused when it is compiled, with an error that says why (no_cudnn.c). */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONVS_H
#define TRAINER_BACKEND_CUDA_DNN_CONVS_H

#include "common/error.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

struct cuda;
struct convs;

/* Opens what CUDA->convs is then; NAME is the GPU's. CUDA's stream must be there. */
int convs_open(struct cuda *cuda, const char *name, struct error *err);
/* The same for a device by its description in the file PATH (cuda/simulated_gpu.h). */
int convs_describe(struct cuda *cuda, const char *path, struct error *err);
/* Convolutions run on CUDA's stream as it is now, from here on. */
int convs_stream(struct cuda *cuda, struct error *err);
/* NULL is fine. */
void convs_close(struct convs *convs);
/* Whether the convolution OP runs here: a plain one always counts as such, a fused one if a plan
 * for it is found, and cuda_options.decide does not find it the slower form. True for what is no
 * convolution. */
bool convs_support(struct cuda *cuda, const struct graph *graph, const struct op *op);

/* "cuDNN 9.19.0", what this build was made with, and NULL or the version that is loaded. */
const char *convs_text(void);
const char *convs_loaded(void);

#endif
