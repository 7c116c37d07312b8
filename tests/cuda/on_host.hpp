/* CUDA kernels on the CPU. Included in front of a .cu file that is compiled as plain C++, it stands
 * for the words of CUDA C++ that our kernels use, and runs a launch right away: block after
 * block, the threads of a block as coroutines that take turns at __syncthreads. Slow, exact in what
 * it computes, and enough to hold every kernel against the reference on a machine without a GPU. It
 * does not show races between threads, or what a device's own arithmetic rounds otherwise. */
#ifndef TESTS_CUDA_ON_HOST_HPP
#define TESTS_CUDA_ON_HOST_HPP

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <functional>
#include <math.h>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

#undef __shared__
#define __shared__ static
#undef __grid_constant__
#undef __launch_bounds__
#define __launch_bounds__(...)
#define __grid_constant__

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

/* A coroutine runs the bodies of block after block. It is begun by setcontext and switched by
 * _longjmp, which unlike swapcontext asks the system for nothing. */
struct thread {
    std::vector<char> stack;
    jmp_buf at;
    bool running;
};

inline std::vector<thread> threads(THREADS_MAX);
inline jmp_buf scheduler;
inline thread *current;
inline const std::function<void()> *body;

inline void yield() {
    if (_setjmp(current->at) == 0)
        _longjmp(scheduler, 1);
}

inline void enter() {
    for (;;) {
        (*body)();
        current->running = false;
        yield();
    }
}

inline void begin(thread &t) {
    ucontext_t context;
    t.stack.resize(STACK);
    getcontext(&context);
    context.uc_stack.ss_sp = t.stack.data();
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, enter, 0);
    setcontext(&context);
}

inline void resume(thread &t) {
    current = &t;
    if (_setjmp(scheduler) != 0)
        return;
    if (t.stack.empty())
        begin(t);
    _longjmp(t.at, 1);
}

/* Lets every thread of the block run to its next barrier, or its end, until all have ended. */
inline void run_block(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        threads[i].running = true;
    for (bool any = true; any;) {
        any = false;
        for (unsigned i = 0; i < count; i++) {
            if (!threads[i].running)
                continue;
            any = true;
            threadIdx =
                uint3{i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
            resume(threads[i]);
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
    uint3 mine = threadIdx;
    on_host::yield();
    threadIdx = mine;
}

template <typename... P, typename... A>
static inline void enqueue(void (*kernel)(P...), dim3 grid, dim3 block, cudaStream_t stream,
                           A... args) {
    (void)stream;
    std::function<void()> call = [=] { kernel(static_cast<P>(args)...); };
    on_host::body = &call;
    on_host::run_grid(grid, block);
}

#endif
