/* Layout of tiles in shared memory. The tensor cores of compute capability 9.0 read them so, and
 * the copy engine writes them so (PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory
 * Layout", "Swizzling Modes"). The instructions are in tile_ptx.cuh; a build for the host has its
 * own. */
#ifndef CUDA_KERNELS_TILE_CUH
#define CUDA_KERNELS_TILE_CUH

#include <stdint.h>

/* A tile has rows of BYTES, 64 or 128, one after another. 16-byte units are permuted within them
 * depending on the row, so that neither rows nor columns meet in one bank: the number of the
 * 128-byte line is added, without carry, to that of the unit in it. A tile begins at a multiple of
 * TILE_ALIGNMENT. */
enum { TILE_ALIGNMENT = 1024 };

template <int BYTES> static __host__ __device__ constexpr unsigned tile_swizzled(unsigned offset) {
    static_assert(BYTES == 64 || BYTES == 128, "rows of half a line or a line");
    return offset ^ ((offset >> 7) % (BYTES / 16) << 4);
}

/* Returns the offset of 16-byte unit UNIT of row ROW. */
template <int BYTES>
static __host__ __device__ constexpr unsigned tile_at(unsigned row, unsigned unit) {
    return tile_swizzled<BYTES>(row * BYTES + unit * 16);
}

/* A tile's descriptor for the tensor cores: its address in shared memory, and the distance in bytes
 * between groups of eight rows. The leading dimension is not used, as no operand is wider than a
 * row. */
template <int BYTES> static __host__ __device__ constexpr uint64_t tile_operand(uint32_t address) {
    constexpr uint64_t mode = BYTES == 128 ? 1 : 2;
    return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | static_cast<uint64_t>(1) << 16 |
           static_cast<uint64_t>(8 * BYTES >> 4) << 32 | mode << 62;
}

/* The accumulators of a warpgroup for 64 rows and N columns: each thread has N / 2, and these
 * functions return row and column of number I. An even I and the next one are neighbours in a
 * row. */
enum { WARPGROUP = 128, FRAGMENT_ROWS = 64 };

static __device__ __forceinline__ int fragment_row(int thread, int i) {
    return thread % WARPGROUP / 32 * 16 + thread % 32 / 4 + (i / 2 % 2) * 8;
}
static __device__ __forceinline__ int fragment_column(int thread, int i) {
    return i / 4 * 8 + thread % 4 * 2 + i % 2;
}

#endif
