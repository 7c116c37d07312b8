/* The gradient of a region proposal network's head on one level, for the pixels of sampled anchors
 * alone (OP_RPN_HEAD_GRAD). U pixels are sampled, each once however many of its anchors are, in the
 * order of their first slots: row u of everything here is one of them. U stays on the device: grids
 * are as large as all slots need, and blocks past it leave.
 *
 * Rows of x are read in place, so nothing is gathered first; gradients of x are added up pixel by
 * pixel in a fixed order. Products are f32, of 64 x 64 tiles: 4 * U * 9 * I * O operations in all,
 * 7 G of a batch of twelve pictures. */
#include "trainer/backend/cuda/kernels/detect/launch_rpn.h"
#include "trainer/backend/cuda/kernels/detect/rpn_samples.cuh"
#include "trainer/graph/backend.h"
#include "trainer/math/relu.h"

/* Eight launches: rows of pixels are cleared, pixels counted for each picture, numbered and graded,
 * then the predictors, all column sums, both products of the convolution, and the scatter into dx.
 * The sampled pixels are compact rows, far fewer than the maps have; a dense backward pass would
 * mostly multiply zeros.
 *
 * No sum depends on how blocks are scheduled: each result has one thread or block, which adds in
 * the order of rows. */

enum { TAPS = 9, TILE = 64, DEPTH = 16, SUB = 4 };

/* --- which pixels ----------------------------------------------------------------------------- */

/* The pixel of slot I, counted over the whole batch; -1 for a slot of another level, or of none.
 * Anchors of one pixel are consecutive numbers. */
static __device__ int pixel_of(const struct rpn_head_args &args, int i) {
    const struct anchor_level *level = &args.loss.rpn.grid.level[args.level];
    const int own = args.loss.index[i] - level->first;
    if (own < 0 || own >= anchor_level_count(level))
        return -1;
    return i / args.loss.samples * level->height * level->width + own / ANCHOR_SHAPES;
}

/* Returns true if slot I, of this level, is the first one of its pixel. Quadratic in the samples of
 * a picture, which the caches hold. */
static __device__ bool is_first(const struct rpn_head_args &args, int i) {
    const int pixel = pixel_of(args, i);
    for (int j = i / args.loss.samples * args.loss.samples; j < i && pixel >= 0; j++)
        if (pixel_of(args, j) == pixel)
            return false;
    return pixel >= 0;
}

/* One block per picture: counts its sampled pixels. Bytes moved: 4 per slot; the rest is in
 * the caches. */
static __global__ void head_count_kernel(const __grid_constant__ struct rpn_head_args args) {
    const int first = static_cast<int>(blockIdx.x) * args.loss.samples;
    double found = 0;
    for (int i = static_cast<int>(threadIdx.x); i < args.loss.samples; i += THREADS)
        found += is_first(args, first + i);
    found = sum_over_block(found);
    if (threadIdx.x == 0)
        args.counts[blockIdx.x] = static_cast<int32_t>(found);
}

/* The number of rows of the batch before picture END. */
static __device__ int rows_before(const struct rpn_head_args &args, int end) {
    int rows = 0;
    for (int n = 0; n < end; n++)
        rows += args.counts[n];
    return rows;
}

/* Writes the losses' gradients of the anchor in slot I to the row of its pixel. */
static __device__ void grade(const struct rpn_head_args &args, int i, double scale,
                             float *gradient) {
    const struct rpn_loss_args &loss = args.loss;
    const int shape = (loss.index[i] - loss.rpn.grid.level[args.level].first) % ANCHOR_SHAPES;
    const size_t row = loss_row(loss, i, args.level);
    gradient[shape] = static_cast<float>(scale * loss_logit_gradient(loss, i, row));
    for (int k = 0; k < 4; k++)
        gradient[ANCHOR_SHAPES + shape * 4 + k] =
            static_cast<float>(scale * loss_delta_gradient(loss, i, row, k));
}

/* One block per picture: row, pixel and gradient of each sampled pixel. The place of a first slot
 * among the others is counted, as there are few of them. Bytes moved: 4 per slot and 5 losses'
 * operands of one that is sampled, a row of gradients written per pixel. */
static __global__ void head_rows_kernel(const __grid_constant__ struct rpn_head_args args) {
    const int first = static_cast<int>(blockIdx.x) * args.loss.samples;
    const int end = first + args.loss.samples;
    const double scale = loss_scale_of(args.loss, args.gradient_scale, args.loss_scale);
    const int before = rows_before(args, static_cast<int>(blockIdx.x));
    for (int i = first + static_cast<int>(threadIdx.x); i < end; i += THREADS)
        args.first[i] = is_first(args, i);
    __syncthreads();
    for (int i = first + static_cast<int>(threadIdx.x); i < end; i += THREADS) {
        if (!args.first[i])
            continue;
        int u = before;
        for (int j = first; j < i; j++)
            u += args.first[j];
        const int pixel = pixel_of(args, i);
        float *gradient = args.gradient + static_cast<size_t>(u) * HEAD_WIDTH;
        for (int k = 0; k < HEAD_WIDTH; k++)
            gradient[k] = 0;
        for (int j = i; j < end; j++)
            if (pixel_of(args, j) == pixel)
                grade(args, j, scale, gradient);
        args.pixel[u] = pixel;
        args.row[pixel] = u;
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
        *args.total = before + args.counts[blockIdx.x];
}

/* Bytes moved: 4 per pixel. */
static __global__ void head_clear_kernel(const __grid_constant__ struct rpn_head_args args,
                                         size_t pixels) {
    FOR_EACH_ITEM(i, pixels)
    args.row[i] = -1;
}

/* --- through the predictors ------------------------------------------------------------------- */

/* Weight k of an output channel, over both predictors. */
static __device__ __forceinline__ float predictor(const struct rpn_head_args &args, int k, int o) {
    return k < ANCHOR_SHAPES ? args.w_cls[k * args.out + o]
                             : args.w_box[(k - ANCHOR_SHAPES) * args.out + o];
}

/* dt = the gradient of t before its ReLU. Bytes moved: t and 4 per value of its row, 4 per value
 * written. */
template <typename T>
static __global__ void head_through_kernel(const __grid_constant__ struct rpn_head_args args) {
    const size_t out = static_cast<size_t>(args.out);
    const size_t count = static_cast<size_t>(*args.total) * out;
    FOR_EACH_ITEM(i, count) {
        const size_t u = i / out;
        const int o = static_cast<int>(i - u * out);
        const float t =
            widen(static_cast<const T *>(args.t)[static_cast<size_t>(args.pixel[u]) * out + o]);
        float sum = 0;
        for (int k = 0; k < HEAD_WIDTH; k++)
            sum += args.gradient[u * HEAD_WIDTH + k] * predictor(args, k, o);
        args.dt[i] = relu_passes_float(t) ? sum : 0;
    }
}

/* Columns of a block of head_column_kernel, and rows that it takes at a time. */
enum { COLUMNS = 64, ROWS = THREADS / COLUMNS };

/* Returns the address for the sum over rows of gradient k times channel o. o == out stands for the
 * bias, k == HEAD_WIDTH for dt itself. */
static __device__ float *sum_place(const struct rpn_head_args &args, int k, int o) {
    if (k == HEAD_WIDTH)
        return o < args.out ? args.db_conv + o : nullptr;
    float *w = k < ANCHOR_SHAPES ? args.dw_cls : args.dw_box;
    float *b = k < ANCHOR_SHAPES ? args.db_cls : args.db_box;
    const int row = k < ANCHOR_SHAPES ? k : k - ANCHOR_SHAPES;
    return o < args.out ? w + row * args.out + o : b + row;
}

/* Sums over all rows: gradients of the predictors and of all biases. blockIdx.y is k. Bytes moved:
 * t or dt once for each of the predictors' channels, of which L2 serves most. */
template <typename T>
static __global__ void head_column_kernel(const __grid_constant__ struct rpn_head_args args) {
    __shared__ double sums[ROWS][COLUMNS];
    const size_t out = static_cast<size_t>(args.out);
    const int k = static_cast<int>(blockIdx.y), column = static_cast<int>(threadIdx.x) % COLUMNS;
    const int o = static_cast<int>(blockIdx.x) * COLUMNS + column, total = *args.total;
    const unsigned own = threadIdx.x / COLUMNS;
    double sum = 0;
    for (int u = static_cast<int>(own); u < total && o <= args.out; u += ROWS) {
        const size_t at = static_cast<size_t>(u);
        float value = 1;
        if (k == HEAD_WIDTH)
            value = o < args.out ? args.dt[at * out + o] : 0;
        else if (o < args.out)
            value =
                widen(static_cast<const T *>(args.t)[static_cast<size_t>(args.pixel[u]) * out + o]);
        sum += static_cast<double>(k == HEAD_WIDTH ? value
                                                   : value * args.gradient[at * HEAD_WIDTH + k]);
    }
    __syncthreads();
    sums[own][column] = sum;
    __syncthreads();
    if (own > 0 || o > args.out)
        return;
    for (int i = 1; i < ROWS; i++)
        sum += sums[i][column];
    float *place = sum_place(args, k, o);
    if (place != nullptr)
        *place = static_cast<float>(sum);
}

/* --- through the convolution ------------------------------------------------------------------ */

/* Returns the pixel of x that TAP of PIXEL reads, or -1 if it is outside the map. */
static __device__ __forceinline__ int neighbour(const struct rpn_head_args &args, int pixel,
                                                int tap) {
    const struct anchor_level *level = &args.loss.rpn.grid.level[args.level];
    const int x = pixel % level->width + tap % 3 - 1;
    const int y = pixel / level->width % level->height + tap / 3 - 1;
    if (x < 0 || x >= level->width || y < 0 || y >= level->height)
        return -1;
    return pixel + (tap / 3 - 1) * level->width + tap % 3 - 1;
}

/* Element (u, column) of the rows of x that the pixels read: columns are a tap's channels each. */
template <typename T>
static __device__ __forceinline__ float patch(const struct rpn_head_args &args, int u, int column) {
    const int tap = column / args.in, from = neighbour(args, args.pixel[u], tap);
    if (from < 0)
        return 0;
    return widen(static_cast<const T *>(
        args.x)[static_cast<size_t>(from) * args.in + column - tap * args.in]);
}

/* The tile of C = A B that this block has, A [rows, inner] and B [inner, columns] given element by
 * element: A(row, k), B(k, column). What is outside is 0. */
template <typename A, typename B>
static __device__ void product(float *c, int rows, int columns, int inner, A a, B b) {
    __shared__ float of_a[DEPTH][TILE + SUB], of_b[DEPTH][TILE + SUB];
    const int row = static_cast<int>(blockIdx.y) * TILE;
    const int column = static_cast<int>(blockIdx.x) * TILE;
    const int thread = static_cast<int>(threadIdx.x), x = thread % (TILE / SUB) * SUB;
    const int y = thread / (TILE / SUB) * SUB;
    float sum[SUB][SUB] = {};
    for (int k = 0; k < inner; k += DEPTH) {
        for (int i = thread; i < DEPTH * TILE; i += THREADS) {
            const int depth = i / TILE, at = i % TILE;
            const bool inside = k + depth < inner;
            of_a[depth][at] = inside && row + at < rows ? a(row + at, k + depth) : 0.0f;
            of_b[depth][at] = inside && column + at < columns ? b(k + depth, column + at) : 0.0f;
        }
        __syncthreads();
        for (int depth = 0; depth < DEPTH; depth++)
#pragma unroll
            for (int i = 0; i < SUB; i++)
#pragma unroll
                for (int j = 0; j < SUB; j++)
                    sum[i][j] += of_a[depth][y + i] * of_b[depth][x + j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SUB; i++)
#pragma unroll
        for (int j = 0; j < SUB; j++)
            if (row + y + i < rows && column + x + j < columns)
                c[static_cast<size_t>(row + y + i) * columns + column + x + j] = sum[i][j];
}

/* dw [out, 9 in] = dt^T patch. Bytes moved: dt once for each tile of columns and the rows of x once
 * for each tile of outputs, and dw. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    head_weight_kernel(const __grid_constant__ struct rpn_head_args args) {
    product(
        args.dw_conv, args.out, TAPS * args.in, *args.total,
        [&](int o, int u) { return args.dt[static_cast<size_t>(u) * args.out + o]; },
        [&](int u, int column) { return patch<T>(args, u, column); });
}

/* dpatch [U, 9 in] = dt w. Bytes moved: dt and the weights once for each tile of the other, 36 per
 * input channel of a sampled pixel written. */
static __global__ void __launch_bounds__(THREADS)
    head_data_kernel(const __grid_constant__ struct rpn_head_args args) {
    if (static_cast<int>(blockIdx.y) * TILE >= *args.total)
        return;
    product(
        args.dpatch, *args.total, TAPS * args.in, args.out,
        [&](int u, int o) { return args.dt[static_cast<size_t>(u) * args.out + o]; },
        [&](int o, int column) {
            return args.w_conv[static_cast<size_t>(o) * TAPS * args.in + column];
        });
}

/* One warp per pixel of x: the sum of the contributions of sampled pixels around it, or 0. Bytes
 * moved: 4 per pixel, 36 per input channel of a sampled pixel, and dx. */
template <typename T>
static __global__ void head_scatter_kernel(const __grid_constant__ struct rpn_head_args args,
                                           size_t pixels) {
    enum { WARP = 32 };
    const size_t warps = static_cast<size_t>(gridDim.x) * (THREADS / WARP);
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    for (size_t at = blockIdx.x * static_cast<size_t>(THREADS / WARP) + threadIdx.x / WARP;
         at < pixels; at += warps) {
        /* The pixel that TAP of a sampled one reads is this one: the sampled one is the neighbour
         * on the other side. */
        int row[TAPS];
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            const int from = neighbour(args, static_cast<int>(at), TAPS - 1 - tap);
            row[tap] = from < 0 ? -1 : args.row[from];
        }
        T *to = static_cast<T *>(args.dx) + at * static_cast<size_t>(args.in);
        for (int c = lane; c < args.in; c += WARP) {
            float sum = 0;
#pragma unroll
            for (int tap = 0; tap < TAPS; tap++)
                if (row[tap] >= 0)
                    sum += args.dpatch[(static_cast<size_t>(row[tap]) * TAPS + tap) * args.in + c];
            to[c] = narrow<T>(sum);
        }
    }
}

/* Pixels of the level's map, over all pictures. */
static size_t pixels_of(const struct rpn_head_args *args) {
    const struct anchor_level *level = &args->loss.rpn.grid.level[args->level];
    return static_cast<size_t>(level->height) * level->width * args->loss.rpn.pictures;
}

/* An upper bound for U, as each slot may be another pixel. */
static size_t slots_of(const struct rpn_head_args *args) {
    return static_cast<size_t>(args->loss.samples) * args->loss.rpn.pictures;
}

/* Sets *PART and moves USED past it. */
template <typename T> static void take(T **part, void *memory, size_t *used, size_t count) {
    *part =
        memory == nullptr ? nullptr : reinterpret_cast<T *>(static_cast<char *>(memory) + *used);
    *used += backend_aligned(count * sizeof(T));
}

/* Without MEMORY the addresses become NULL and only the size is returned. */
size_t launch_rpn_head_scratch(struct rpn_head_args *args, void *memory) {
    const size_t slots = slots_of(args);
    size_t used = 0;
    take(&args->counts, memory, &used, static_cast<size_t>(args->loss.rpn.pictures));
    take(&args->total, memory, &used, 1);
    take(&args->first, memory, &used, slots);
    take(&args->pixel, memory, &used, slots);
    take(&args->row, memory, &used, pixels_of(args));
    take(&args->gradient, memory, &used, slots * HEAD_WIDTH);
    take(&args->dt, memory, &used, slots * args->out);
    take(&args->dpatch, memory, &used, slots * TAPS * args->in);
    return used;
}

/* Grids are as large as all slots would need, since U is known on the device alone. */
cudaError_t launch_rpn_head_grad(cudaStream_t stream, enum dtype type,
                                 const struct rpn_head_args *args) {
    const unsigned pictures = static_cast<unsigned>(args->loss.rpn.pictures);
    const size_t pixels = pixels_of(args), slots = slots_of(args);
    const unsigned taps = (static_cast<unsigned>(TAPS * args->in) + TILE - 1) / TILE;
    const unsigned outs = (static_cast<unsigned>(args->out) + TILE - 1) / TILE;
    const unsigned columns = static_cast<unsigned>(args->out) / COLUMNS + 1;
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(head_clear_kernel, blocks_for(pixels), THREADS, stream, *args, pixels);
        enqueue(head_count_kernel, pictures, THREADS, stream, *args);
        enqueue(head_rows_kernel, pictures, THREADS, stream, *args);
        enqueue(head_through_kernel<T>, blocks_for(slots * args->out), THREADS, stream, *args);
        enqueue(head_column_kernel<T>, dim3(columns, HEAD_WIDTH + 1), THREADS, stream, *args);
        enqueue(head_weight_kernel<T>, dim3(taps, outs), THREADS, stream, *args);
        enqueue(head_data_kernel, dim3(taps, static_cast<unsigned>((slots + TILE - 1) / TILE)),
                THREADS, stream, *args);
        enqueue(head_scatter_kernel<T>, blocks_for(pixels * 32), THREADS, stream, *args, pixels);
        return launch_status();
    });
}
