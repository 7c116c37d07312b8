/* Fills memory with numbers for the timing of kernels.
 *
 * Infinite numbers, NaN and denormals are left out, as operators may take another path for them. */
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/vec.cuh"

/* Words of two f16 from 0.25 to 0.5 with either sign; as f32 and bf16 they are small
 * numbers, none of them infinite or NaN. */
static __device__ uint32_t word_of_numbers(uint32_t i) {
    uint32_t h = i * 2654435761u; /* a multiplicative hash (Knuth, volume 3, section 6.4) */
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    return (h & 0x83ff83ffu) | 0x34003400u;
}

/* Bytes moved: 4 per word. */
static __global__ void numbers_kernel(uint32_t *words, size_t count) {
    FOR_EACH_ITEM(i, count)
    words[i] = word_of_numbers(static_cast<uint32_t>(i));
}

/* A word depends on its index alone: the same memory gets the same numbers in each run, and no
 * generator keeps a state. Bytes after the last whole word stay as they are. */
cudaError_t launch_numbers(cudaStream_t stream, void *memory, size_t bytes) {
    size_t count = bytes / sizeof(uint32_t);
    enqueue(numbers_kernel, blocks_for(count), THREADS, stream, static_cast<uint32_t *>(memory),
            count);
    return launch_status();
}
