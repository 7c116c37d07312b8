/* Elements on the device: f16, bf16 and f32 activations are read 16 bytes at a time and computed
 * in f32. A width of 1 serves channel counts that 16 bytes do not divide. */
#ifndef CUDA_KERNELS_VEC_CUH
#define CUDA_KERNELS_VEC_CUH

#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/graph/tensor.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

/* Conversions between the activation's type and f32; both half-precision types widen exactly and
 * are rounded to nearest, ties to even. */
static __device__ __forceinline__ float widen(float v) {
    return v;
}
static __device__ __forceinline__ float widen(__half v) {
    return __half2float(v);
}
static __device__ __forceinline__ float widen(__nv_bfloat16 v) {
    return __bfloat162float(v);
}

template <typename T> __device__ __forceinline__ T narrow(float v);
template <> __device__ __forceinline__ float narrow<float>(float v) {
    return v;
}
template <> __device__ __forceinline__ __half narrow<__half>(float v) {
    return __float2half_rn(v);
}
template <> __device__ __forceinline__ __nv_bfloat16 narrow<__nv_bfloat16>(float v) {
    return __float2bfloat16_rn(v);
}

/* W neighbouring elements in f32. */
template <int W> struct lane { float v[W]; };

/* W elements as they are in memory; its alignment makes a load or store of it one instruction. */
template <typename T, int W> struct alignas(W * sizeof(T)) packet { T v[W]; };

template <typename T, int W> __device__ __forceinline__ lane<W> load(const T *p) {
    packet<T, W> raw = *reinterpret_cast<const packet<T, W> *>(p);
    lane<W> out;
#pragma unroll
    for (int i = 0; i < W; i++)
        out.v[i] = widen(raw.v[i]);
    return out;
}

template <typename T, int W> __device__ __forceinline__ void store(T *p, const lane<W> &in) {
    packet<T, W> raw;
#pragma unroll
    for (int i = 0; i < W; i++)
        raw.v[i] = narrow<T>(in.v[i]);
    *reinterpret_cast<packet<T, W> *>(p) = raw;
}

/* Elements of T in 16 bytes. */
template <typename T> struct full_width {
    static constexpr int value = 16 / static_cast<int>(sizeof(T));
};

/* Carries a type as a value, for generic lambdas in C++17. */
template <typename T> struct type_tag { using type = T; };

/* Calls BODY with the tag of the activation's type: one list of types for all launchers. */
template <typename Body> static cudaError_t with_type(enum dtype type, Body body) {
    switch (type) {
    case DTYPE_F16:
        return body(type_tag<__half>{});
    case DTYPE_BF16:
        return body(type_tag<__nv_bfloat16>{});
    case DTYPE_F32:
        return body(type_tag<float>{});
    default:
        return cudaErrorInvalidValue;
    }
}

/* The same for a width. */
template <int W> struct width_tag { static constexpr int value = W; };

/* Calls BODY with the tags of the activation's type and of the packet's width: 16 bytes where they
 * divide COUNT neighbouring elements, else one element. */
template <typename Body> static cudaError_t with_packets(enum dtype type, size_t count, Body body) {
    return with_type(type, [=](auto tag) {
        constexpr int W = full_width<typename decltype(tag)::type>::value;
        return count % W == 0 ? body(tag, width_tag<W>{}) : body(tag, width_tag<1>{});
    });
}

/* --- launches ----------------------------------------------------------------------------------
 * A small kernel costs what it takes to begin. Where launch_overlap has asked for it
 * (launch.h), one that enqueue_early puts on a stream begins while the preceding one ends
 * ("Programmatic Dependent Launch" of the CUDA Programming Guide; compute capability 9.0). Its
 * first word is wait_for_others(): until then nothing that was enqueued before has to be there. */
inline bool launches_overlap = false;

/* If it is set, launches are counted there and not made (launch_count_in of launch.h). */
inline struct launch_count *launches_counted = nullptr;

/* Returns true if the launch is to be left out. */
static inline bool is_counted(bool early) {
    if (launches_counted == nullptr)
        return false;
    launches_counted->all++;
    launches_counted->early += early;
    return true;
}

/* Returns the status of the launches so far, for launchers to return. */
static inline cudaError_t launch_status() {
    return launches_counted != nullptr ? cudaSuccess : cudaPeekAtLastError();
}

/* Enqueues KERNEL on STREAM; all launches go through here. A build of these files for the host has
 * its own functions (tests/cuda/on_host.hpp) and runs the same kernels there. */
#ifdef __CUDACC__
template <typename... P, typename... A>
static inline void enqueue(void (*kernel)(P...), dim3 grid, dim3 block, cudaStream_t stream,
                           A... args) {
    if (!is_counted(false))
        kernel<<<grid, block, 0, stream>>>(static_cast<P>(args)...);
}

template <typename... P, typename... A>
static inline void enqueue_early(void (*kernel)(P...), dim3 grid, dim3 block, cudaStream_t stream,
                                 A... args) {
    if (is_counted(true))
        return;
    if (!launches_overlap) {
        enqueue(kernel, grid, block, stream, args...);
        return;
    }
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    (void)cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...); /* the caller peeks */
}

/* Waits until all that was enqueued before has ended and can be read. Then the next kernel may
 * begin, which waits for this one, and so for all before it. */
static __device__ __forceinline__ void wait_for_others() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* The same with BYTES of dynamic shared memory. More than 48 KiB a block must be enabled by an
 * attribute first. */
template <typename... P, typename... A>
static inline cudaError_t enqueue_shared(void (*kernel)(P...), dim3 grid, dim3 block, int bytes,
                                         cudaStream_t stream, A... args) {
    if (is_counted(false))
        return cudaSuccess;
    cudaError_t status = cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                              cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess)
        return status;
    kernel<<<grid, block, bytes, stream>>>(static_cast<P>(args)...);
    return cudaPeekAtLastError();
}
#endif

enum { THREADS = 256 };

/* Blocks of THREADS for WORK items; kernels stride over what a grid does not cover. The ceiling
 * keeps grids within 32 bits of threads per dimension. */
static inline unsigned blocks_for(size_t work) {
    const size_t most = 65535u * 32u;
    size_t blocks = (work + THREADS - 1) / THREADS;
    return static_cast<unsigned>(blocks < most ? blocks : most);
}

/* This thread's first item and the distance to its next. */
#define FOR_EACH_ITEM(i, count)                                                                    \
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < (count);       \
         i += static_cast<size_t>(gridDim.x) * blockDim.x)

#endif
