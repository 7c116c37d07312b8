/* Instructions of compute capability 9.0 that move and multiply tiles (tile.cuh). There is no
 * arithmetic and no addressing here. Those of a build for the host do the same on memory
 * (tests/cuda/tile_on_host.hpp). */
#ifndef CUDA_KERNELS_TILE_PTX_CUH
#define CUDA_KERNELS_TILE_PTX_CUH

#include "trainer/backend/cuda/optional/kernels/launch_backward.h"
#include "trainer/backend/cuda/optional/kernels/tile.cuh"

#ifdef __CUDACC__

#include <cstring>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

/* --- on the host: maps ------------------------------------------------------------------------ */

/* The map of a matrix [ROWS, COLUMNS] of 16-bit elements at BASE, from which tiles of TILE_ROWS by
 * TILE_BYTES are taken. The driver's encoder is looked up by name, since nothing links the driver.
 * The map holds the address, so it is made anew for other memory. */
static inline cudaError_t tile_map_make(struct tile_map *map, bool bf16, const void *base,
                                        size_t rows, size_t columns, unsigned tile_rows,
                                        unsigned tile_bytes) {
    static_assert(sizeof(CUtensorMap) == sizeof(map->bytes), "a map has room");
    CUtensorMap made; /* aligned as the encoder requires it */
    void *found = nullptr;
    enum cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                          cudaEnableDefault, &result);
#else
    cudaError_t status =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    if (status != cudaSuccess || result != cudaDriverEntryPointSuccess)
        return status != cudaSuccess ? status : cudaErrorNotSupported;
    const cuuint64_t size[2] = {columns, rows}, pitch[1] = {2 * columns};
    const cuuint32_t box[2] = {tile_bytes / 2, tile_rows}, step[2] = {1, 1};
    const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    CUresult result_of =
        encode(&made, bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2,
               const_cast<void *>(base), size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
               tile_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    std::memcpy(map->bytes, &made, sizeof(made));
    return result_of == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

/* --- the copy engine ----------------------------------------------------------------------------
 */

/* PTX takes addresses of shared memory as 32-bit offsets. */
static __device__ __forceinline__ uint32_t tile_address(const void *shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

/* All of the block's dynamic shared memory; it begins at a multiple of TILE_ALIGNMENT. */
static __device__ __forceinline__ unsigned char *tile_memory() {
    extern __shared__ __align__(1024) unsigned char memory[];
    return memory;
}

/* BARRIER counts arrivals, here one, and bytes. */
static __device__ __forceinline__ void tile_barrier_init(uint64_t *barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(tile_address(barrier)) : "memory");
}
/* Called after all inits, in the thread that made them; a barrier of the block must follow. */
static __device__ __forceinline__ void tile_barriers_ready() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/* The phase's one arrival; it ends when BYTES have been copied. */
static __device__ __forceinline__ void tile_expect(uint64_t *barrier, unsigned bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tile_address(barrier)),
        "r"(bytes)
        : "memory");
}
/* Waits until the phase of this parity has ended. A phase that takes seconds is a fault, and the
 * kernel traps instead of hanging. */
static __device__ __forceinline__ void tile_wait(uint64_t *barrier, unsigned parity) {
    constexpr unsigned TRIES = 1u << 24;
    for (unsigned i = 0; i < TRIES; i++) {
        uint32_t done;
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(tile_address(barrier)), "r"(parity)
                     : "memory");
        if (done != 0)
            return;
    }
    __trap();
}

/* Loads a tile from the matrix at COLUMN and ROW. Elements outside it become zeros, and their bytes
 * count for the barrier. */
static __device__ __forceinline__ void tile_load(const struct tile_map *map, uint64_t *barrier,
                                                 void *to, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(tile_address(to)),
                 "l"(map), "r"(tile_address(barrier)), "r"(column), "r"(row)
                 : "memory");
}
/* Stores a tile to the matrix; elements outside it are not written. */
static __device__ __forceinline__ void tile_store(const struct tile_map *map, const void *from,
                                                  int column, int row) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
            map),
        "r"(tile_address(from)), "r"(column), "r"(row)
        : "memory");
}
/* Closes the group of stores that the waits below refer to. */
static __device__ __forceinline__ void tile_store_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/* Wait until this thread's stores have read shared memory, and until they are complete. */
static __device__ __forceinline__ void tile_store_read() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
static __device__ __forceinline__ void tile_store_done() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/* Makes this thread's writes to shared memory visible to tensor cores and the copy engine. A
 * barrier must follow if another thread starts these. */
static __device__ __forceinline__ void tile_written() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* --- the tensor cores ---------------------------------------------------------------------------
 */

/* For use before the first product, after it, and to wait until all products of this warpgroup are
 * complete. */
static __device__ __forceinline__ void product_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void product_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void product_wait() {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
/* For use after a wait, before the first use of D: the compiler does not know what was waited for.
 */
template <int N> static __device__ __forceinline__ void product_settle(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

#define PRODUCT_8(d, i)                                                                            \
    "+f"((d)[i]), "+f"((d)[i + 1]), "+f"((d)[i + 2]), "+f"((d)[i + 3]), "+f"((d)[i + 4]),          \
        "+f"((d)[i + 5]), "+f"((d)[i + 6]), "+f"((d)[i + 7])
#define PRODUCT_32(TYPE, TRANSPOSED)                                                               \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"                                      \
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32." TYPE "." TYPE                       \
                 " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "       \
                 "%16, %17, p, 1, 1, " TRANSPOSED ", 1;\n}"                                        \
                 : PRODUCT_8(d, 0), PRODUCT_8(d, 8)                                                \
                 : "l"(a), "l"(b), "r"(static_cast<int>(add))                                      \
                 : "memory")
#define PRODUCT_64(TYPE, TRANSPOSED)                                                               \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                      \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE                       \
                 " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "        \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "     \
                 "%31}, %32, %33, p, 1, 1, " TRANSPOSED ", 1;\n}"                                  \
                 : PRODUCT_8(d, 0), PRODUCT_8(d, 8), PRODUCT_8(d, 16), PRODUCT_8(d, 24)            \
                 : "l"(a), "l"(b), "r"(static_cast<int>(add))                                      \
                 : "memory")

/* D (+)= A B over 16 of the inner dimension, 64 rows and N columns. A's rows are the tile's rows,
 * or its columns where it is TRANSPOSED; B's rows are the tile's rows. */
template <typename T, int N, bool TRANSPOSED>
static __device__ __forceinline__ void product(float (&d)[N / 2], uint64_t a, uint64_t b,
                                               bool add) {
    static_assert(N == 32 || N == 64, "columns of a product");
    constexpr bool HALF = std::is_same<T, __half>::value;
    if constexpr (N == 32 && TRANSPOSED && HALF)
        PRODUCT_32("f16", "1");
    else if constexpr (N == 32 && TRANSPOSED)
        PRODUCT_32("bf16", "1");
    else if constexpr (N == 64 && !TRANSPOSED && HALF)
        PRODUCT_64("f16", "0");
    else if constexpr (N == 64 && !TRANSPOSED)
        PRODUCT_64("bf16", "0");
    else
        static_assert(N == 0, "a product that nobody has asked for");
}

#endif
#endif
