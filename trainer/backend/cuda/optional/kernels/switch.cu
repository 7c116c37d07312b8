/* Selection of a conditional node's body. */
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/backend/cuda/optional/kernels/launch_switch.h"

/* Bytes moved: a few numbers. */
static __global__ void switch_kernel(cudaGraphConditionalHandle handle,
                                     const __grid_constant__ struct switch_choice choice) {
    unsigned body = 0;
    while (body < ROW_PARTS - 1 && choice.rows[body] < *choice.count)
        body++;
    cudaGraphSetConditional(handle, body);
}

cudaError_t launch_switch(cudaStream_t stream, cudaGraphConditionalHandle handle,
                          const struct switch_choice *choice) {
    enqueue(switch_kernel, 1, 1, stream, handle, *choice);
    return launch_status();
}
