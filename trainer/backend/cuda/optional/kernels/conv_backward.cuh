/* Steps of one block of conv_backward.cu. A block handles 64 of the convolution's input channels, a
 * slice, and iterates over tiles of 128 pixels. A tile's gradient after the convolution arrives in
 * chunks of 64 channels:
 *
 *     g, z --copy engine--> ring --registers--> dz, in g's place --tensor cores--> h += dz W
 *                                                                                  dw += dz^T y
 *     x ----copy engine--> relu(x * scale + bias) = y         (for the tile, before its chunks)
 *     h ----registers----> mask, sums over pixels, dx --copy engine--> memory
 *
 * If y is not the result of a norm, it is loaded as it is, together with what dx needs of the
 * slice: x and shortcut (launch_backward.h, enum conv_backward_form). A chunk's products run while
 * the next chunk is prepared. dw, 64 channels of the slice by all output channels, stays in
 * registers until the last tile.
 *
 * Tiles in shared memory: g, z, dz and W have rows of 64 channels, 128 bytes. Those of the slice
 * are two adjacent tiles with rows of 32 channels, 64 bytes: each of the two warpgroups multiplies
 * by one of them for dw, and computes 64 of the pixels of h. */
#ifndef CUDA_KERNELS_CONV_BACKWARD_CUH
#define CUDA_KERNELS_CONV_BACKWARD_CUH

#include "trainer/backend/cuda/kernels/norm.cuh"
#include "trainer/backend/cuda/optional/kernels/launch_backward.h"
#include "trainer/backend/cuda/optional/kernels/tile_ptx.cuh"

enum {
    SLICE = 64,      /* input channels of a block */
    CHUNK = 64,      /* output channels that arrive together */
    TILE_ROWS = 128, /* pixels */
    BACKWARD_THREADS = 2 * WARPGROUP,
    CHUNK_TILE = TILE_ROWS * CHUNK * 2, /* bytes */
    WEIGHT_TILE = CHUNK * SLICE * 2,
    SLICE_TILE = TILE_ROWS * SLICE * 2,
    HALF_TILE = SLICE_TILE / 2,
    COLUMN_SUMS = 4,         /* that a thread keeps: 2 * SLICE over the 32 lanes of a warp */
    SHARED_MOST = 227 * 1024 /* of a block, compute capability 9.0 */
};

/* The arguments of a launch, aligned to 64 bytes, as the copy engine requires of its maps. */
struct alignas(64) backward_held : conv_backward_args {};

/* Inputs that are loaded for a slice in addition to its chunks. */
enum { INPUT_X, INPUT_Y, INPUT_SHORTCUT };

/* Layout of shared memory for K output channels. The ring takes the rest, up to RING_MOST stages;
 * with fewer than two no copy could overlap the products. */
template <conv_backward_form FORM, int K> struct backward_layout {
    static constexpr int CHUNKS = K / CHUNK;
    /* Rows that a thread processes together, as registers allow. */
    static constexpr int FLIGHT = K > 256 ? 2 : 4;
    static constexpr int INPUTS = FORM == BACKWARD_JOIN ? 3 : 1;
    static constexpr int RING_MOST = 4;
    static constexpr int WEIGHTS = 0;
    static constexpr int INPUT = WEIGHTS + CHUNKS * WEIGHT_TILE; /* of two tiles of pixels */
    static constexpr int DX = INPUT + 2 * INPUTS * SLICE_TILE;   /* and y, where it is made here */
    static constexpr int RING = DX + SLICE_TILE;                 /* stages of g and z */
    static constexpr int SMALL = 3 * K * 4 + 5 * SLICE * 4 + (RING_MOST + 3) * 8;
    static constexpr int ROOM = (SHARED_MOST - RING - SMALL) / (2 * CHUNK_TILE);
    static constexpr int STAGES = ROOM < RING_MOST ? ROOM : RING_MOST;
    static constexpr bool FITS = STAGES >= 2;
    static constexpr int COEFFICIENTS = RING + STAGES * 2 * CHUNK_TILE; /* [3, K] */
    static constexpr int NORM = COEFFICIENTS + 3 * K * 4;               /* [5, SLICE] */
    static constexpr int BARRIERS = NORM + 5 * SLICE * 4;               /* ring, inputs, weights */
    static constexpr int BYTES = BARRIERS + (STAGES + 2 + 1) * 8;
    static_assert(BYTES <= SHARED_MOST, "a block has its memory");
};

/* Rows of backward_layout::NORM. */
enum { NORM_ROW_SCALE, NORM_ROW_BIAS, NORM_ROW_MEAN, NORM_ROW_SLOPE, NORM_ROW_BETA };

template <typename T, conv_backward_form FORM, int K> struct backward_block {
    using at = backward_layout<FORM, K>;
    const struct backward_held &args;
    unsigned char *const memory;
    const int slices, slice, worker, warpgroup;
    int tiles, chunks; /* of this block */

    __device__ __forceinline__ explicit backward_block(const struct backward_held &a)
        : args(a), memory(tile_memory()), slices(a.in / SLICE),
          slice(static_cast<int>(blockIdx.x) % slices),
          worker(static_cast<int>(blockIdx.x) / slices),
          warpgroup(static_cast<int>(threadIdx.x) / WARPGROUP) {
        const int all = static_cast<int>((a.rows + TILE_ROWS - 1) / TILE_ROWS);
        tiles = worker < all ? (all - worker + a.workers - 1) / a.workers : 0;
        chunks = tiles * at::CHUNKS;
    }

    __device__ __forceinline__ int first_row(int tile) const {
        return (worker + tile * args.workers) * TILE_ROWS;
    }
    __device__ __forceinline__ uint64_t *barriers() const {
        return reinterpret_cast<uint64_t *>(memory + at::BARRIERS);
    }
    __device__ __forceinline__ uint64_t *input_barrier(int tile) const {
        return barriers() + at::STAGES + tile % 2;
    }
    __device__ __forceinline__ uint64_t *weight_barrier() const {
        return barriers() + at::STAGES + 2;
    }
    __device__ __forceinline__ unsigned char *stage(int chunk) const {
        return memory + at::RING + chunk % at::STAGES * (2 * CHUNK_TILE);
    }
    /* A form with a single input has it here. */
    __device__ __forceinline__ unsigned char *input(int tile, int which) const {
        return memory + at::INPUT + (tile % 2 * at::INPUTS + which % at::INPUTS) * SLICE_TILE;
    }
    __device__ __forceinline__ unsigned char *y_tile(int tile) const {
        return FORM == BACKWARD_NORM ? memory + at::DX : input(tile, INPUT_Y);
    }
    __device__ __forceinline__ float *coefficients() const {
        return reinterpret_cast<float *>(memory + at::COEFFICIENTS);
    }
    __device__ __forceinline__ float *norm_row(int row) const {
        return reinterpret_cast<float *>(memory + at::NORM) + row * SLICE;
    }

    /* --- copies that one thread starts ----------------------------------------------------------
     */

    __device__ __forceinline__ void load_chunk(int chunk) const {
        if (chunk >= chunks)
            return;
        uint64_t *barrier = barriers() + chunk % at::STAGES;
        const int column = chunk % at::CHUNKS * CHUNK, row = first_row(chunk / at::CHUNKS);
        tile_expect(barrier, 2 * CHUNK_TILE);
        tile_load(&args.g_map, barrier, stage(chunk), column, row);
        tile_load(&args.z_map, barrier, stage(chunk) + CHUNK_TILE, column, row);
    }
    __device__ __forceinline__ void load_input(int tile, int which,
                                               const struct tile_map &map) const {
        for (int half = 0; half < 2; half++)
            tile_load(&map, input_barrier(tile), input(tile, which) + half * HALF_TILE,
                      slice * SLICE + half * SLICE / 2, first_row(tile));
    }
    __device__ __forceinline__ void load_inputs(int tile) const {
        if (tile >= tiles)
            return;
        tile_expect(input_barrier(tile), at::INPUTS * SLICE_TILE);
        if (FORM != BACKWARD_PLAIN)
            load_input(tile, INPUT_X, args.x_map);
        if (FORM != BACKWARD_NORM)
            load_input(tile, INPUT_Y, args.y_map);
        if (FORM == BACKWARD_JOIN)
            load_input(tile, INPUT_SHORTCUT, args.shortcut_map);
    }
    __device__ __forceinline__ void load_weights() const {
        tile_expect(weight_barrier(), at::CHUNKS * WEIGHT_TILE);
        for (int chunk = 0; chunk < at::CHUNKS; chunk++)
            tile_load(&args.w_map, weight_barrier(), memory + at::WEIGHTS + chunk * WEIGHT_TILE,
                      slice * SLICE, chunk * CHUNK);
    }
    __device__ __forceinline__ void store_dx(int tile) const {
        for (int half = 0; half < 2; half++)
            tile_store(&args.dx_map, memory + at::DX + half * HALF_TILE,
                       slice * SLICE + half * SLICE / 2, first_row(tile));
        tile_store_commit();
    }

    /* --- work of all threads --------------------------------------------------------------------
     */

    __device__ __forceinline__ void open() const {
        const int thread = static_cast<int>(threadIdx.x), c = slice * SLICE + thread;
        if (thread == 0) {
            for (int i = 0; i < at::STAGES + 3; i++)
                tile_barrier_init(barriers() + i);
            tile_barriers_ready();
        }
        for (int i = thread; i < 3 * K; i += BACKWARD_THREADS)
            coefficients()[i] = args.coefficients[i];
        if (FORM != BACKWARD_PLAIN && thread < SLICE)
            norm_row(NORM_ROW_MEAN)[thread] = args.mean[c];
        if (FORM == BACKWARD_NORM && thread < SLICE) {
            norm_row(NORM_ROW_SCALE)[thread] = widen(static_cast<const T *>(args.scale)[c]);
            norm_row(NORM_ROW_BIAS)[thread] = widen(static_cast<const T *>(args.bias)[c]);
            norm_row(NORM_ROW_SLOPE)[thread] = args.gamma[c] * args.invstd[c];
            norm_row(NORM_ROW_BETA)[thread] = args.beta[c];
        }
        __syncthreads();
        if (thread == 0) {
            load_weights();
            load_inputs(0);
            for (int chunk = 0; chunk < at::STAGES; chunk++)
                load_chunk(chunk);
            load_inputs(1);
        }
    }

    /* Waits until the slice's inputs for the tile's products and mask have arrived, and until the
     * preceding tile's dx has been read, so that its memory is free. */
    __device__ __forceinline__ void begin_tile(int tile) const {
        if (threadIdx.x == 0)
            tile_store_read();
        __syncthreads();
        tile_wait(input_barrier(tile), tile / 2 % 2);
        if (FORM == BACKWARD_NORM)
            make_y(tile);
    }

    /* Writes y = relu(x * scale + bias) into the memory that dx uses later. Eight neighbouring
     * threads have the four units of two rows, a line of shared memory. */
    __device__ __forceinline__ void make_y(int tile) const {
        const int thread = static_cast<int>(threadIdx.x);
        const unsigned unit = thread % 4, half = thread / 8 % 2;
        const int channel = static_cast<int>(half * (SLICE / 2) + unit * 8);
        const affine<8> norm = {load_f32<8>(norm_row(NORM_ROW_SCALE) + channel),
                                load_f32<8>(norm_row(NORM_ROW_BIAS) + channel)};
#pragma unroll
        for (int i = 0; i < TILE_ROWS / 32; i++) {
            const unsigned row = thread / 16 * 2 + thread / 4 % 2 + i * 32;
            const unsigned place = half * HALF_TILE + tile_at<64>(row, unit);
            lane<8> v = load<T, 8>(reinterpret_cast<const T *>(input(tile, INPUT_X) + place));
#pragma unroll
            for (int k = 0; k < 8; k++)
                v.v[k] = relu_float(norm.at(k, v.v[k]));
            store<T, 8>(reinterpret_cast<T *>(y_tile(tile) + place), v);
        }
    }

    /* Writes dz = a g + b z + c over g. Rows past the last pixel become 0: the copy engine left
     * zeros there, but c is not 0. */
    __device__ __forceinline__ void make_dz(int chunk, int number) const {
        const int thread = static_cast<int>(threadIdx.x);
        const unsigned unit = thread % 8;
        grad_affine<8> norm;
        norm.set(coefficients(), K, number * CHUNK + static_cast<int>(unit) * 8);
        const size_t first = static_cast<size_t>(first_row(chunk / at::CHUNKS));
        unsigned char *const g = stage(chunk), *const z = g + CHUNK_TILE;
        tile_wait(barriers() + chunk % at::STAGES, chunk / at::STAGES % 2);
#pragma unroll(at::FLIGHT)
        for (int i = 0; i < TILE_ROWS / 32; i++) {
            const unsigned row = thread / 8 + i * 32, place = tile_at<128>(row, unit);
            const lane<8> gs = load<T, 8>(reinterpret_cast<const T *>(g + place));
            const lane<8> zs = load<T, 8>(reinterpret_cast<const T *>(z + place));
            lane<8> dz;
#pragma unroll
            for (int k = 0; k < 8; k++)
                dz.v[k] = first + row < args.rows ? norm.at(k, gs.v[k], zs.v[k]) : 0;
            store<T, 8>(reinterpret_cast<T *>(g + place), dz);
        }
    }

    /* Enqueues this warpgroup's part of h += dz W and dw += dz^T y, for chunk NUMBER of its
     * tile. */
    __device__ __forceinline__ void multiply(int tile, int chunk, int number, float (&h)[SLICE / 2],
                                             float (&dw)[SLICE / 4]) const {
        const uint32_t dz = tile_address(stage(chunk));
        const uint32_t w = tile_address(memory + at::WEIGHTS + number * WEIGHT_TILE);
        const uint32_t y = tile_address(y_tile(tile) + warpgroup * HALF_TILE);
#pragma unroll
        for (unsigned k = 0; k < CHUNK / 16; k++)
            product<T, SLICE, false>(
                h, tile_operand<128>(dz + warpgroup * (FRAGMENT_ROWS * 128) + k * 32),
                tile_operand<128>(w + k * (16 * 128)), number > 0 || k > 0);
#pragma unroll
        for (unsigned k = 0; k < TILE_ROWS / 16; k++)
            product<T, SLICE / 2, true>(dw, tile_operand<128>(dz + k * (16 * 128)),
                                        tile_operand<64>(y + k * (16 * 64)), true);
    }

    /* Computes dx of two neighbours, and adds it to the norm's sums, of dx and of dx times the
     * centred x. PLACE is their place in a tile of the slice. */
    __device__ __forceinline__ lane<2> dx_of(int tile, unsigned place, int column, const float *h,
                                             float *sum, float *centred) const {
        const auto at_place = [&](int which) {
            return load<T, 2>(reinterpret_cast<const T *>(input(tile, which) + place));
        };
        lane<2> x = {}, y = {}, shortcut = {}, dx = {};
        if (FORM != BACKWARD_PLAIN)
            x = at_place(INPUT_X);
        if (FORM == BACKWARD_JOIN) {
            y = at_place(INPUT_Y);
            shortcut = at_place(INPUT_SHORTCUT);
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            dx.v[k] = h[k];
            if (FORM == BACKWARD_PLAIN)
                continue;
            const float past = x.v[k] - norm_row(NORM_ROW_MEAN)[column + k];
            float before = y.v[k];
            if (FORM == BACKWARD_NORM)
                before = past * norm_row(NORM_ROW_SLOPE)[column + k] +
                         norm_row(NORM_ROW_BETA)[column + k];
            dx.v[k] = relu_passes_float(before) ? h[k] + shortcut.v[k] : 0;
            sum[k] += dx.v[k];
            centred[k] += dx.v[k] * past;
        }
        return dx;
    }

    /* Computes a tile's dx and adds it to SUM. Pixels outside the matrix have h = 0 and are loaded
     * as 0. */
    __device__ __forceinline__ void mask(int tile, const float (&h)[SLICE / 2],
                                         float (&sum)[COLUMN_SUMS]) const {
        const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
        for (int first = 0; first < SLICE / 2; first += SLICE / 4) {
            float found[2 * SLICE / 8] =
                {}; /* of half of the thread's columns: both sums of each */
#pragma unroll
            for (int i = first; i < first + SLICE / 4; i += 2) {
                const int row = warpgroup * FRAGMENT_ROWS + fragment_row(thread, i);
                const int column = fragment_column(thread, i), own = (i - first) / 4 * 2;
                const unsigned place = static_cast<unsigned>(column / 32 * HALF_TILE) +
                                       tile_at<64>(row, column % 32 / 8) + column % 8 * 2;
                store<T, 2>(
                    reinterpret_cast<T *>(memory + at::DX + place),
                    dx_of(tile, place, column, h + i, found + own, found + SLICE / 8 + own));
            }
            if (FORM != BACKWARD_PLAIN)
                spread_add(found, sum[first / (SLICE / 8)], sum[first / (SLICE / 8) + 1]);
        }
    }

    /* A lane and the one at a distance of OTHER exchange values: each keeps half of them, summed
     * over the rows of both. */
    template <int OTHER, int COUNT>
    __device__ __forceinline__ static void spread(float (&v)[2 * SLICE / 8]) {
        const bool upper = (threadIdx.x & OTHER) != 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const float kept = upper ? v[i + COUNT] : v[i];
            const float given = upper ? v[i] : v[i + COUNT];
            v[i] = kept + __shfl_xor_sync(~0u, given, OTHER);
        }
    }
    /* Lanes at a distance of 4 have the same columns. In the end each lane has two of the values,
     * summed over all rows of its warp. */
    __device__ __forceinline__ static void spread_add(float (&v)[2 * SLICE / 8], float &sum,
                                                      float &next) {
        spread<16, 8>(v);
        spread<8, 4>(v);
        spread<4, 2>(v);
        sum += v[0];
        next += v[1];
    }

    /* --- results, for the sums over all blocks
     * ---------------------------------------------- */

    /* Writes [workers, 2, in]: sums over the warps, in their order. */
    __device__ __forceinline__ void write_sums(const float (&sum)[COLUMN_SUMS]) const {
        constexpr int WARPS = BACKWARD_THREADS / 32;
        const int thread = static_cast<int>(threadIdx.x);
        float *const found = reinterpret_cast<float *>(memory + at::RING); /* [WARPS, 2, SLICE] */
#pragma unroll
        for (int i = 0; i < COLUMN_SUMS; i++) {
            const int column = i / 2 * (SLICE / 2) + thread / 4 % 4 / 2 * 16 + thread / 4 % 2 * 8 +
                               thread % 4 * 2 + i % 2;
            found[(thread / 32 * 2 + thread / 16 % 2) * SLICE + column] = sum[i];
        }
        __syncthreads();
        if (thread >= 2 * SLICE)
            return;
        float all = 0;
        for (int warp = 0; warp < WARPS; warp++)
            all += found[warp * 2 * SLICE + thread];
        args.partial[(static_cast<size_t>(worker) * 2 + thread / SLICE) * args.in + slice * SLICE +
                     thread % SLICE] = all;
    }

    /* Writes [workers, out, in], after the norm's partial sums. */
    __device__ __forceinline__ void write_dw(const float (&dw)[at::CHUNKS][SLICE / 4]) const {
        const int thread = static_cast<int>(threadIdx.x);
        const size_t in = static_cast<size_t>(args.in);
        float *const to = args.partial + static_cast<size_t>(args.workers) * 2 * in +
                          static_cast<size_t>(worker) * K * in + slice * SLICE +
                          warpgroup * (SLICE / 2);
#pragma unroll
        for (int chunk = 0; chunk < at::CHUNKS; chunk++)
#pragma unroll
            for (int i = 0; i < SLICE / 4; i += 2) {
                const size_t row = static_cast<size_t>(chunk * CHUNK + fragment_row(thread, i));
                *reinterpret_cast<packet<float, 2> *>(to + row * in +
                                                      fragment_column(thread, i)) = {
                    {dw[chunk][i], dw[chunk][i + 1]}};
            }
    }
};

#endif
