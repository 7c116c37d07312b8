/* CUDA kernels on the CPU. Included in front of a .cu file that is compiled as plain C++, it stands
 * for the words of CUDA C++ that our kernels use, and runs a launch right away: block after
 * block, the threads of a block as coroutines that take turns at barriers: a block's, and those of
 * a warp that its votes and exchanges are. Slow, exact in what it computes, and enough to hold
 * every kernel against the reference on a machine without a GPU. It does not show races between
 * threads, or what a device's own arithmetic rounds otherwise. */
#ifndef TESTS_CUDA_ON_HOST_HPP
#define TESTS_CUDA_ON_HOST_HPP

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <functional>
#include <math.h>
#include <type_traits>
#include <vector>

#undef __shared__
#define __shared__ static
#undef __grid_constant__
#undef __launch_bounds__
#define __launch_bounds__(...)
#define __grid_constant__

/* A conditional node's handle is where its value stands. */
static inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
    *reinterpret_cast<unsigned *>(handle) = value;
}

using std::isfinite;

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

/* A launch here has run when it returns, and cannot fail. */
#define cudaPeekAtLastError() cudaSuccess

static inline float rsqrtf(float x) {
    return 1.0f / std::sqrt(x);
}

namespace on_host {

constexpr size_t STACK = 64 * 1024;
constexpr unsigned THREADS_MAX = 1024;

/* A coroutine runs a block's threads one after the other until one of them waits; the next ones get
 * another coroutine. */
struct coroutine {
    std::vector<char> stack;
    void *at;   /* what was its top when it was left */
    bool waits; /* in the middle of a thread */
};

/* Leaves this stack, with the registers that a call keeps (System V ABI for x86-64), for another.
 */
__attribute__((naked, noinline)) inline void switch_stack(void **, void *) {
    asm("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov %rsi, %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}

constexpr unsigned WARP = 32;

/* Threads meet here: those of a block or a warp that have not ended. */
struct barrier {
    unsigned alive, arrived, round;
};

inline std::vector<coroutine> coroutines(THREADS_MAX);
inline void *scheduler;
inline coroutine *current;
inline const std::function<void()> *body;
inline unsigned threads, begun; /* of the block */
inline barrier block;
inline barrier warps[THREADS_MAX / WARP];
inline unsigned long long exchanged[THREADS_MAX];
inline bool waited[THREADS_MAX]; /* of a launch that may begin early */
inline unsigned long launches, early_launches;

inline void hand_back() {
    switch_stack(&current->at, scheduler);
}

/* Lets the others run. */
inline void yield() {
    uint3 mine = threadIdx;
    current->waits = true;
    hand_back();
    threadIdx = mine;
}

inline unsigned own_number() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

inline void meet(barrier &b) {
    unsigned round = b.round;
    b.arrived++;
    while (b.round == round) {
        if (b.arrived >= b.alive) {
            b.arrived = 0;
            b.round++;
        } else {
            yield();
        }
    }
}

/* Every lane gives VALUE, and then may read what all have given, in exchanged[]. */
template <typename Read> inline auto exchange(unsigned long long value, Read read) {
    unsigned own = own_number();
    exchanged[own] = value;
    meet(warps[own / WARP]);
    auto result = read(own / WARP * WARP, own % WARP);
    meet(warps[own / WARP]); /* before anybody gives the next one */
    return result;
}

inline void run_thread(unsigned own) {
    threadIdx =
        uint3{own % blockDim.x, own / blockDim.x % blockDim.y, own / blockDim.x / blockDim.y};
    (*body)();
    block.alive--;
    warps[own / WARP].alive--;
}

inline void enter() {
    for (;;) {
        while (begun < threads)
            run_thread(begun++);
        hand_back();
    }
}

/* Its first switch returns into enter, with a stack as a call leaves it. */
inline void begin(coroutine &t) {
    t.stack.resize(STACK);
    uintptr_t top = reinterpret_cast<uintptr_t>(t.stack.data() + STACK) & ~uintptr_t{15};
    void **at = reinterpret_cast<void **>(top) - 8; /* six registers, where to return, nobody's */
    at[6] = reinterpret_cast<void *>(enter);
    t.at = at;
}

inline void resume(coroutine &t) {
    current = &t;
    t.waits = false;
    if (t.stack.empty())
        begin(t);
    switch_stack(&scheduler, t.at);
}

/* Lets every thread of the block run to its next barrier, or its end, until all have ended. */
inline void run_block(unsigned count) {
    unsigned used = 0;
    threads = count;
    begun = 0;
    block = barrier{count, 0, 0};
    for (unsigned i = 0; i < count; i++) {
        waited[i] = false;
        unsigned rest = count - i / WARP * WARP;
        warps[i / WARP] = barrier{rest < WARP ? rest : WARP, 0, 0};
    }
    while (begun < count) {
        resume(coroutines[used]);
        used += coroutines[used].waits;
    }
    for (bool any = used > 0; any;) {
        any = false;
        for (unsigned i = 0; i < used; i++) {
            if (coroutines[i].waits)
                resume(coroutines[i]);
            any |= coroutines[i].waits;
        }
    }
}

inline void run_grid(dim3 grid, dim3 block) {
    unsigned count = block.x * block.y * block.z;
    if (count > THREADS_MAX) {
        std::fprintf(stderr, "a block of %u threads\n", count);
        std::abort();
    }
    gridDim = grid;
    blockDim = block;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = uint3{x, y, z};
                run_block(count);
            }
}

} // namespace on_host

static inline void __syncthreads() {
    on_host::meet(on_host::block);
}

/* --- a warp: all its lanes take part, whatever the mask says -------------------------------------
 */
static inline void __syncwarp(unsigned = ~0u) {
    on_host::meet(on_host::warps[on_host::own_number() / on_host::WARP]);
}

static inline unsigned __ballot_sync(unsigned, int vote) {
    return on_host::exchange(vote != 0, [](unsigned first, unsigned) {
        unsigned votes = 0;
        unsigned all = blockDim.x * blockDim.y * blockDim.z;
        for (unsigned i = 0; i < on_host::WARP && first + i < all; i++)
            votes |= static_cast<unsigned>(on_host::exchanged[first + i]) << i;
        return votes;
    });
}

static inline int __any_sync(unsigned mask, int vote) {
    return __ballot_sync(mask, vote) != 0;
}

static inline unsigned __match_any_sync(unsigned, unsigned long long value) {
    return on_host::exchange(value, [=](unsigned first, unsigned) {
        unsigned same = 0;
        unsigned all = blockDim.x * blockDim.y * blockDim.z;
        for (unsigned i = 0; i < on_host::WARP && first + i < all; i++)
            same |= static_cast<unsigned>(on_host::exchanged[first + i] == value) << i;
        return same;
    });
}

/* The lane that FROM says of each lane gives the value; its own outside the warp. */
template <typename T, typename From> static inline T on_host_shuffle(T value, From from) {
    static_assert(sizeof(T) <= sizeof(unsigned long long), "a lane gives eight bytes");
    unsigned long long bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    bits = on_host::exchange(bits, [=](unsigned first, unsigned lane) {
        unsigned other = from(lane);
        return on_host::exchanged[first + (other < on_host::WARP ? other : lane)];
    });
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

template <typename T> static inline T __shfl_sync(unsigned, T value, int lane) {
    return on_host_shuffle(value, [=](unsigned) { return static_cast<unsigned>(lane) % 32; });
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T value, int mask) {
    return on_host_shuffle(value,
                           [=](unsigned lane) { return lane ^ static_cast<unsigned>(mask); });
}
template <typename T> static inline T __shfl_down_sync(unsigned, T value, unsigned by) {
    return on_host_shuffle(value, [=](unsigned lane) { return lane + by; });
}
template <typename T> static inline T __shfl_up_sync(unsigned, T value, unsigned by) {
    return on_host_shuffle(value, [=](unsigned lane) { return lane - by; });
}

static inline int __popc(unsigned bits) {
    return __builtin_popcount(bits);
}
static inline int __popcll(unsigned long long bits) {
    return __builtin_popcountll(bits);
}
static inline int __ffs(int bits) {
    return __builtin_ffs(bits);
}

/* --- atomics: a thread runs until it waits ------------------------------------------------------
 */
static inline void __threadfence() {
}

template <typename T> static inline T atomicAdd(T *at, T value) {
    T before = *at;
    *at = before + value;
    return before;
}
template <typename T> static inline T atomicMax(T *at, T value) {
    T before = *at;
    *at = before < value ? value : before;
    return before;
}
template <typename T> static inline T atomicOr(T *at, T value) {
    T before = *at;
    *at = before | value;
    return before;
}

static inline bool is_counted(bool early); /* vec.cuh, behind this */

template <typename... P, typename... A>
static inline void enqueue(void (*kernel)(P...), dim3 grid, dim3 block, cudaStream_t stream,
                           A... args) {
    (void)stream;
    if (is_counted(false))
        return;
    std::function<void()> call = [=] { kernel(static_cast<P>(args)...); };
    on_host::body = &call;
    on_host::launches++;
    on_host::run_grid(grid, block);
}

/* An early one runs like any other; but each of its threads has waited for what was in front. */
static inline void wait_for_others() {
    on_host::waited[on_host::own_number()] = true;
}

template <typename... P, typename... A>
static inline void enqueue_early(void (*kernel)(P...), dim3 grid, dim3 block, cudaStream_t stream,
                                 A... args) {
    if (is_counted(true))
        return;
    enqueue(kernel, grid, block, stream, args...);
    on_host::early_launches++;
    for (unsigned i = 0; i < block.x * block.y * block.z; i++)
        if (!on_host::waited[i]) {
            std::fprintf(stderr, "a kernel that may begin early did not wait\n");
            std::abort();
        }
}

/* Of this program so far: launches of our own kernels, those that may begin early alone if EARLY.
 */
extern "C" __attribute__((used)) inline unsigned long emulated_launches(bool early) {
    return early ? on_host::early_launches : on_host::launches;
}

#include "tests/cuda/tile_on_host.hpp"

#endif
