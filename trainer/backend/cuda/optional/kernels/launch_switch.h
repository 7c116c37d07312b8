/* Choice of one of several bodies on the device. It depends on a count that is computed on the
 * device. */
#ifndef TRAINER_BACKEND_CUDA_OPTIONAL_KERNELS_LAUNCH_SWITCH_H
#define TRAINER_BACKEND_CUDA_OPTIONAL_KERNELS_LAUNCH_SWITCH_H

#include "trainer/graph/row_prefix.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Body b is for counts of up to rows[b]; these grow, and the last body is for all other counts. */
struct switch_choice {
    const int32_t *count; /* device memory, i32 [1] */
    int32_t rows[ROW_PARTS];
};

/* switch.cu: sets HANDLE, of a conditional node enqueued after it, to the body that *count selects.
 */
cudaError_t launch_switch(cudaStream_t stream, cudaGraphConditionalHandle handle,
                          const struct switch_choice *choice);

#ifdef __cplusplus
}
#endif

#endif
