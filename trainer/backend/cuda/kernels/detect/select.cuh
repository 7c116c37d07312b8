/* Selection of the greatest of many numbers by one block: a radix select from the highest byte
 * down, then a bitonic sort of those few. Keys are 64-bit ranks, distinct except for 0, which
 * stands for "none" (math/rank.h). The result therefore has one order, whichever thread finds
 * it. */
#ifndef CUDA_DETECT_SELECT_CUH
#define CUDA_DETECT_SELECT_CUH

#include <stdint.h>

/* Threads of a block that selects, and the most numbers it can select. */
enum { SELECT_THREADS = 1024, SELECT_MAX = 2048 };

enum { SELECT_DIGITS = 256 };

/* State of the search, shared by the block. */
struct select_border {
    uint64_t prefix; /* the bytes of the border that are known */
    int need;        /* of those with this prefix */
    int whole;       /* there are exactly so many: no further byte is needed */
};

/* Adds one to COUNTS[digit] for each lane, in one atomic operation for all lanes with the same
 * digit; SELECT_DIGITS stands for none. All threads of a warp must call it. */
static __device__ __forceinline__ void count_digit(unsigned *counts, unsigned digit) {
    unsigned same = __match_any_sync(~0u, digit);
    unsigned lane = threadIdx.x % 32;
    if (digit < SELECT_DIGITS && static_cast<unsigned>(__ffs(static_cast<int>(same)) - 1) == lane)
        atomicAdd(&counts[digit], static_cast<unsigned>(__popc(same)));
}

/* Turns counts[d] into the number of keys with digit d or a greater one. */
static __device__ __forceinline__ void sum_from_above(unsigned *counts) {
    for (unsigned step = 1; step < SELECT_DIGITS; step *= 2) {
        unsigned own = threadIdx.x, above = 0;
        if (own + step < SELECT_DIGITS)
            above = counts[own + step];
        __syncthreads();
        if (own + step < SELECT_DIGITS)
            counts[own] += above;
        __syncthreads();
    }
}

/* Returns the smallest key among the K greatest of key(0) to key(count - 1), or 1 if there are no
 * more than K. Every thread of the block calls it and gets the result. */
template <typename Key> static __device__ uint64_t select_border_key(Key key, int count, int k) {
    __shared__ unsigned counts[SELECT_DIGITS];
    __shared__ struct select_border border;
    __syncthreads();
    if (threadIdx.x == 0) {
        border.prefix = 0;
        border.need = k;
        border.whole = 0;
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
        __syncthreads();
        uint64_t prefix = border.prefix;
        int need = border.need;
        if (threadIdx.x < SELECT_DIGITS)
            counts[threadIdx.x] = 0;
        __syncthreads();
        for (int first = 0; first < count; first += static_cast<int>(blockDim.x)) {
            int i = first + static_cast<int>(threadIdx.x);
            uint64_t value = i < count ? key(i) : 0;
            bool counts_here = value != 0 && (shift == 56 || value >> (shift + 8) == prefix);
            count_digit(counts, counts_here ? static_cast<unsigned>(value >> shift & 0xff)
                                            : static_cast<unsigned>(SELECT_DIGITS));
        }
        __syncthreads();
        sum_from_above(counts);
        unsigned own = threadIdx.x, wanted = static_cast<unsigned>(need);
        if (shift == 56 && counts[0] <= wanted)
            return 1;
        unsigned behind = own + 1 < SELECT_DIGITS ? counts[own + 1] : 0;
        if (own < SELECT_DIGITS && counts[own] >= wanted && behind < wanted) {
            border.prefix = prefix << 8 | own;
            border.need = static_cast<int>(wanted - behind);
            border.whole = counts[own] - behind == wanted - behind;
        }
        __syncthreads();
        if (border.whole)
            return border.prefix << shift;
    }
    return border.prefix;
}

/* Sorts LIST, in shared memory, in falling order. Every thread of the block calls it. */
static __device__ void select_sort(uint64_t *list, int count) {
    int size = 2;
    while (size < count)
        size *= 2;
    for (int i = count + static_cast<int>(threadIdx.x); i < size; i += static_cast<int>(blockDim.x))
        list[i] = 0;
    __syncthreads();
    for (int run = 2; run <= size; run *= 2)
        for (int step = run / 2; step > 0; step /= 2) {
            for (int i = static_cast<int>(threadIdx.x); i < size / 2;
                 i += static_cast<int>(blockDim.x)) {
                int low = i / step * step * 2 + i % step, high = low + step;
                bool falling = (low & run) == 0;
                uint64_t a = list[low], b = list[high];
                if ((a < b) == falling) {
                    list[low] = b;
                    list[high] = a;
                }
            }
            __syncthreads();
        }
}

/* The K greatest of key(0) to key(count - 1), at most SELECT_MAX, in LIST in shared memory (room
 * for SELECT_MAX), in falling order; returns how many there are. Every thread of the block calls it
 * and gets the result. */
template <typename Key>
static __device__ int select_greatest(Key key, int count, int k, uint64_t *list) {
    __shared__ int found;
    uint64_t border = select_border_key(key, count, k);
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count && k > 0;
         i += static_cast<int>(blockDim.x)) {
        uint64_t value = key(i);
        if (value >= border)
            list[atomicAdd(&found, 1)] = value;
    }
    __syncthreads();
    int all = found;
    select_sort(list, all);
    return all;
}

#endif
