/* The instructions of trainer/backend/cuda/optional/kernels/tile_ptx.cuh for a build for the host
 * (on_host.hpp), written from the PTX ISA and not from tile.cuh, so that a wrong layout, operand
 * or number of an accumulator shows. What the device does some time between two instructions is
 * done at the worst moment: a load spoils its place at once and brings its data when it is waited
 * for, products and stores read shared memory when they are waited for. A wait for what never
 * comes ends the program. */
#ifndef TESTS_CUDA_TILE_ON_HOST_HPP
#define TESTS_CUDA_TILE_ON_HOST_HPP

#include "trainer/backend/cuda/optional/kernels/launch_backward.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace on_host {

constexpr size_t SHARED = 227 * 1024;
alignas(1024) inline unsigned char shared[SHARED];

[[noreturn]] inline void fault(const char *what) {
    std::fprintf(stderr, "tiles: %s\n", what);
    std::abort();
}

/* Bits 4 and up of an offset are turned over by those of its 128-byte line. */
inline size_t swizzle(size_t offset, unsigned bytes) {
    const size_t lines = offset / 128;
    return bytes == 128 ? offset ^ (lines % 8 * 16) : offset ^ (lines % 4 * 16);
}

/* --- the copy engine ----------------------------------------------------------------------------
 */

struct matrix {
    unsigned char *base;
    size_t rows, columns;
    unsigned tile_rows, tile_bytes;
};

struct transfer {
    struct matrix matrix;
    const uint64_t *barrier;
    size_t place; /* in shared memory */
    long column, row;

    size_t end() const {
        return place + matrix.tile_rows * matrix.tile_bytes;
    }
};

inline std::vector<transfer> loads, stores;

inline size_t place_of(const void *p) {
    const unsigned char *at = static_cast<const unsigned char *>(p);
    if (at < shared || at >= shared + SHARED)
        fault("an address outside shared memory");
    return static_cast<size_t>(at - shared);
}

inline transfer transfer_of(const struct tile_map *map, const uint64_t *barrier, const void *at,
                            int column, int row) {
    transfer t = {{}, barrier, place_of(at), column, row};
    std::memcpy(&t.matrix, map->bytes, sizeof(t.matrix));
    const struct matrix &m = t.matrix;
    if (t.place % 128 != 0 || t.place + m.tile_rows * m.tile_bytes > SHARED)
        fault("a tile has no place");
    return t;
}

/* Each 16-bit element of the tile, with its place in memory (null outside the matrix). */
template <typename Each> inline void walk(const transfer &t, Each each) {
    const struct matrix &m = t.matrix;
    const long columns = static_cast<long>(m.columns), rows = static_cast<long>(m.rows);
    for (unsigned r = 0; r < m.tile_rows; r++)
        for (unsigned c = 0; c < m.tile_bytes / 2; c++) {
            const long row = t.row + static_cast<long>(r), column = t.column + static_cast<long>(c);
            const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
            each(shared + swizzle(t.place + r * m.tile_bytes + 2 * c, m.tile_bytes),
                 inside ? m.base + 2 * (row * columns + column) : nullptr);
        }
}

/* A barrier in its eight bytes. */
struct tile_phase {
    uint32_t phase, expected;
};

inline tile_phase &phase_of(const uint64_t *barrier) {
    return *reinterpret_cast<tile_phase *>(shared + place_of(barrier));
}

/* Brings what was loaded for BARRIER; the bytes. */
inline size_t bring(const uint64_t *barrier) {
    size_t bytes = 0;
    std::vector<transfer> others;
    for (const transfer &t : loads) {
        if (t.barrier != barrier) {
            others.push_back(t);
            continue;
        }
        bytes += t.matrix.tile_rows * t.matrix.tile_bytes;
        walk(t, [](unsigned char *to, const unsigned char *from) {
            const unsigned char zeros[2] = {0, 0};
            std::memcpy(to, from != nullptr ? from : zeros, 2);
        });
    }
    loads = others;
    return bytes;
}

/* --- the tensor cores ---------------------------------------------------------------------------
 */

/* An operand as its descriptor says (PTX ISA, "Matrix Descriptor Format", "Strides"). */
struct operand {
    size_t start, leading, stride;
    unsigned bytes; /* of a row, by the swizzling mode */

    explicit operand(uint64_t d)
        : start((d & 0x3FFF) * 16), leading((d >> 16 & 0x3FFF) * 16),
          stride((d >> 32 & 0x3FFF) * 16), bytes(d >> 62 == 1 ? 128 : 64) {
        if (d >> 62 != 1 && d >> 62 != 2)
            fault("an operand of another swizzling mode");
        if ((d >> 49 & 7) != 0)
            fault("an operand with a base offset");
    }
    /* Number MN of the outer dimension and K of the inner one, stored along K or along MN. */
    size_t at(size_t mn, size_t k, bool along_mn) const {
        const size_t width = bytes / 2;
        const size_t offset =
            along_mn ? mn / width * leading + mn % width * 2 + k % 8 * bytes + k / 8 * stride
                     : mn % 8 * bytes + mn / 8 * stride + k * 2;
        return swizzle(start + offset, bytes);
    }
};

struct pending_product {
    float *d;
    int columns;
    bool transposed, add, bf16, committed;
    operand a, b;
};

inline std::vector<pending_product> products[THREADS_MAX];

inline float element(size_t at, bool bf16) {
    if (at + 2 > SHARED)
        fault("an operand outside shared memory");
    if (bf16) {
        __nv_bfloat16 v;
        std::memcpy(&v, shared + at, 2);
        return __bfloat162float(v);
    }
    __half v;
    std::memcpy(&v, shared + at, 2);
    return __half2float(v);
}

/* This thread's accumulators of one product of 64 x columns x 16 (PTX ISA, "Register Fragments and
 * Shared Memory Matrix Layouts"). */
inline void multiply(const pending_product &p, unsigned thread) {
    constexpr size_t INNER = 16;
    const size_t warp = thread % 128 / 32, lane = thread % 32;
    float a[2][INNER];
    for (size_t r = 0; r < 2; r++)
        for (size_t k = 0; k < INNER; k++)
            a[r][k] = element(p.a.at(16 * warp + lane / 4 + 8 * r, k, p.transposed), p.bf16);
    for (int group = 0; group < p.columns / 8; group++)
        for (size_t c = 0; c < 2; c++) {
            const size_t column = static_cast<size_t>(group) * 8 + lane % 4 * 2 + c;
            float b[INNER];
            for (size_t k = 0; k < INNER; k++)
                b[k] = element(p.b.at(column, k, true), p.bf16);
            for (size_t r = 0; r < 2; r++) {
                float &d = p.d[group * 4 + static_cast<int>(r * 2 + c)];
                float sum = p.add ? d : 0;
                for (size_t k = 0; k < INNER; k++)
                    sum += a[r][k] * b[k];
                d = sum;
            }
        }
}

} // namespace on_host

static inline cudaError_t tile_map_make(struct tile_map *map, bool bf16, const void *base,
                                        size_t rows, size_t columns, unsigned tile_rows,
                                        unsigned tile_bytes) {
    (void)bf16;
    const on_host::matrix m = {static_cast<unsigned char *>(const_cast<void *>(base)), rows,
                               columns, tile_rows, tile_bytes};
    /* What the driver refuses. */
    if (reinterpret_cast<uintptr_t>(base) % 16 != 0 || columns * 2 % 16 != 0 || tile_rows > 256 ||
        (tile_bytes != 64 && tile_bytes != 128))
        return cudaErrorInvalidValue;
    std::memcpy(map->bytes, &m, sizeof(m));
    return cudaSuccess;
}

static inline uint32_t tile_address(const void *at) {
    return static_cast<uint32_t>(on_host::place_of(at));
}
static inline unsigned char *tile_memory() {
    return on_host::shared;
}

static inline void tile_barrier_init(uint64_t *barrier) {
    on_host::phase_of(barrier) = {0, 0};
}
static inline void tile_barriers_ready() {
}
static inline void tile_expect(uint64_t *barrier, unsigned bytes) {
    on_host::tile_phase &p = on_host::phase_of(barrier);
    if (p.expected != 0)
        on_host::fault("a barrier is used again before its phase has ended");
    p.expected = bytes;
}
static inline void tile_wait(uint64_t *barrier, unsigned parity) {
    for (unsigned tries = 0; on_host::phase_of(barrier).phase % 2 == parity; tries++) {
        on_host::tile_phase &p = on_host::phase_of(barrier);
        if (p.expected == 0) {
            if (tries > 10000)
                on_host::fault("a wait for what nobody loads");
            on_host::yield();
            continue;
        }
        if (on_host::bring(barrier) != p.expected)
            on_host::fault("a wait for other bytes than were loaded");
        p = {p.phase + 1, 0};
    }
}

static inline void tile_load(const struct tile_map *map, uint64_t *barrier, void *to, int column,
                             int row) {
    const on_host::transfer load = on_host::transfer_of(map, barrier, to, column, row);
    for (const on_host::transfer &other : on_host::loads)
        if (load.place < other.end() && other.place < load.end())
            on_host::fault("two loads under way into one place");
    on_host::loads.push_back(load);
    on_host::walk(on_host::loads.back(),
                  [](unsigned char *at, const unsigned char *) { std::memset(at, 0xFF, 2); });
}
static inline void tile_store(const struct tile_map *map, const void *from, int column, int row) {
    on_host::stores.push_back(on_host::transfer_of(map, nullptr, from, column, row));
}
static inline void tile_store_commit() {
}
static inline void tile_store_read() {
    for (const on_host::transfer &t : on_host::stores)
        on_host::walk(t, [](const unsigned char *from, unsigned char *to) {
            if (to != nullptr)
                std::memcpy(to, from, 2);
        });
    on_host::stores.clear();
}
static inline void tile_store_done() {
    tile_store_read();
}
static inline void tile_written() {
}

static inline void product_begin() {
}
static inline void product_commit() {
    for (on_host::pending_product &p : on_host::products[on_host::own_number()])
        p.committed = true;
}
static inline void product_wait() {
    const unsigned thread = on_host::own_number();
    for (const on_host::pending_product &p : on_host::products[thread])
        if (p.committed)
            on_host::multiply(p, thread);
        else
            on_host::fault("a wait for products that were not committed");
    on_host::products[thread].clear();
}
template <int N> static inline void product_settle(float (&)[N]) {
}
template <typename T, int N, bool TRANSPOSED>
static inline void product(float (&d)[N / 2], uint64_t a, uint64_t b, bool add) {
    on_host::products[on_host::own_number()].push_back(
        {d, N, TRANSPOSED, add, std::is_same<T, __nv_bfloat16>::value, false, on_host::operand(a),
         on_host::operand(b)});
}

/* Dynamic shared memory begins as NaN. */
template <typename... P, typename... A>
static inline cudaError_t enqueue_shared(void (*kernel)(P...), dim3 grid, dim3 block, int bytes,
                                         cudaStream_t stream, A... args) {
    if (bytes < 0 || static_cast<size_t>(bytes) > on_host::SHARED)
        return cudaErrorInvalidValue;
    std::memset(on_host::shared, 0xFF, on_host::SHARED);
    enqueue(kernel, grid, block, stream, args...);
    return cudaSuccess;
}

#endif
