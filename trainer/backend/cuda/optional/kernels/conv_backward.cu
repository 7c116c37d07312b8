/* The backward pass of a 1x1 convolution that precedes a norm (launch_backward.h), for compute
 * capability 9.0 alone: built for sm_90a, launched nowhere else (optional/backward.c). */
#include "trainer/backend/cuda/optional/kernels/conv_backward.cuh"

#include <climits>

/* Three launches. The main kernel has a block for each pair of a worker and a slice of 64 input
 * channels; a worker takes tiles of 128 pixels in turns. It writes dx, and partial sums of dw and
 * of the norm's reductions, which the two others add in the order of workers. So the number of
 * workers decides the bits, and it follows from the device and the sizes
 * (launch_conv_backward_workers).
 *
 * In a block, one chunk of 64 output channels is multiplied by the tensor cores while registers
 * make the next one's dz and the copy engine loads those after it. The steps are those of
 * conv_backward.cuh; this file orders them and has the barriers between them. */

/* The kernel's name contains BYTES of shared memory, so that the report of kernels shows them: the
 * assembler does not know the size of dynamic shared memory. Bytes moved: g, z, dx and the
 * preceding activation once, the weights once per block, 4 per weight and block. The accumulators
 * of dw stay in registers over all tiles, so K output channels take K / 64 * 16 of them per
 * thread. */
template <typename T, conv_backward_form FORM, int K, int BYTES>
static __global__ void __launch_bounds__(BACKWARD_THREADS, 1)
    conv_backward_kernel(const __grid_constant__ struct backward_held args) {
    using layout = backward_layout<FORM, K>;
    constexpr int CHUNKS = layout::CHUNKS, STAGES = layout::STAGES;
    const backward_block<T, FORM, K> block(args);
    float dw[CHUNKS][SLICE / 4] = {}, sum[COLUMN_SUMS] = {};
    block.open();
    tile_wait(block.weight_barrier(), 0);
    for (int tile = 0; tile < block.tiles; tile++) {
        float h[SLICE / 2];
#pragma unroll
        for (int number = 0; number < CHUNKS; number++) {
            const int chunk = tile * CHUNKS + number;
            block.make_dz(chunk, number);
            if (number == 0)
                block.begin_tile(tile);
            product_wait(); /* of the chunk before: its stage is free when all are here */
            tile_written();
            __syncthreads();
            if (threadIdx.x == 0 && chunk > 0)
                block.load_chunk(chunk - 1 + STAGES);
            product_begin();
            block.multiply(tile, chunk, number, h, dw[number]);
            product_commit();
        }
        product_wait();
        product_settle(h);
        __syncthreads(); /* no product reads y any more */
        block.mask(tile, h, sum);
        tile_written();
        __syncthreads();
        if (threadIdx.x == 0) {
            block.load_inputs(tile + 2);
            block.store_dx(tile);
        }
    }
#pragma unroll
    for (int number = 0; number < CHUNKS; number++)
        product_settle(dw[number]);
    if (FORM != BACKWARD_PLAIN)
        block.write_sums(sum);
    block.write_dw(dw);
    if (threadIdx.x == 0)
        tile_store_done();
}

/* Bytes moved: 8 per channel and block that had some of the rows. The result is what
 * norm_backward.cu makes for a norm without this fusion. */
static __global__ void __launch_bounds__(CHUNK_CHANNELS *CHUNK_ROWS, 1)
    conv_backward_norm_kernel(const __grid_constant__ struct conv_backward_args args) {
    wait_for_others();
    const chunk_sums<2> sums = add_chunks<2>(args.partial, args.workers, args.in);
    const int c = static_cast<int>(blockIdx.x * CHUNK_CHANNELS + threadIdx.x);
    if (threadIdx.y != 0 || c >= args.in)
        return;
    struct norm_args norm = {};
    norm.gamma = args.gamma;
    norm.mean = const_cast<float *>(args.mean);
    norm.invstd = const_cast<float *>(args.invstd);
    finish_norm(norm, args.dgamma, args.dbeta, args.dx_coefficients, args.rows, args.in, c,
                sums.v[0], sums.v[1]);
}

/* Bytes moved: 4 per weight and block that had some of the rows, and dw once. Partial sums of
 * weights follow those of the norm, in the order of write_dw(). */
template <typename T>
static __global__ void __launch_bounds__(CHUNK_CHANNELS *CHUNK_ROWS, 1)
    conv_backward_weight_kernel(const __grid_constant__ struct conv_backward_args args) {
    wait_for_others();
    const int count = args.in * args.out;
    const chunk_sums<1> sums = add_chunks<1>(
        args.partial + static_cast<size_t>(args.workers) * 2 * args.in, args.workers, count);
    const int i = static_cast<int>(blockIdx.x * CHUNK_CHANNELS + threadIdx.x);
    if (threadIdx.y == 0 && i < count)
        static_cast<T *>(args.dw)[i] = narrow<T>(static_cast<float>(sums.v[0]));
}

/* Carries both constants as a type, for generic lambdas. */
template <conv_backward_form FORM, int K> struct form_tag {
    static constexpr conv_backward_form form = FORM;
    static constexpr int out = K;
};

/* Combinations that exceed shared memory are not compiled at all, so no kernel exists that could
 * not be launched. */
template <conv_backward_form FORM, int K, typename Body> static cudaError_t if_it_fits(Body body) {
    if constexpr (backward_layout<FORM, K>::FITS)
        return body(form_tag<FORM, K>{});
    else
        return cudaErrorInvalidValue;
}

/* Calls BODY with the tags of the form and of the number of output channels, if there is such a
 * kernel. This is the only list of them. */
template <conv_backward_form FORM, typename Body> static cudaError_t with_out(int out, Body body) {
    switch (out) {
    case 64:
        return if_it_fits<FORM, 64>(body);
    case 128:
        return if_it_fits<FORM, 128>(body);
    case 256:
        return if_it_fits<FORM, 256>(body);
    case 512:
        return if_it_fits<FORM, 512>(body);
    default:
        return cudaErrorInvalidValue;
    }
}
/* From numbers known at run time to constants. */
template <typename Body> static cudaError_t with_form(conv_backward_form form, int out, Body body) {
    switch (form) {
    case BACKWARD_PLAIN:
        return with_out<BACKWARD_PLAIN>(out, body);
    case BACKWARD_NORM:
        return with_out<BACKWARD_NORM>(out, body);
    case BACKWARD_JOIN:
        return with_out<BACKWARD_JOIN>(out, body);
    }
    return cudaErrorInvalidValue;
}

/* The main kernel multiplies 16-bit types alone. Input channels are whole slices, at most 512. */
bool launch_conv_backward_has(enum dtype type, enum conv_backward_form form, int in, int out) {
    return (type == DTYPE_F16 || type == DTYPE_BF16) && in > 0 && in % SLICE == 0 && in <= 512 &&
           with_form(form, out, [](auto) { return cudaSuccess; }) == cudaSuccess;
}

/* One block for each multiprocessor: a block takes most of its shared memory. There are never more
 * workers than tiles, and always one. */
int launch_conv_backward_workers(size_t rows, int in, int multiprocessors) {
    const size_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    const size_t most = static_cast<size_t>(multiprocessors / (in / SLICE));
    return static_cast<int>(most == 0 ? 1 : most < tiles ? most : tiles);
}

/* For each worker two sums and a row of dw per input channel, in f32. */
size_t launch_conv_backward_bytes(int in, int out, int workers) {
    return static_cast<size_t>(workers) * static_cast<size_t>(in) * (2 + static_cast<size_t>(out)) *
           sizeof(float);
}

/* Row numbers of tiles are int, hence the limit. Maps of tensors that a form lacks are left as they
 * are; the kernel does not touch them. The tile's width in bytes selects the swizzle (tile.cuh). */
cudaError_t launch_conv_backward_maps(enum dtype type, struct conv_backward_args *args) {
    if (args->rows > INT_MAX - TILE_ROWS)
        return cudaErrorInvalidValue;
    const bool bf16 = type == DTYPE_BF16;
    const size_t in = static_cast<size_t>(args->in), out = static_cast<size_t>(args->out);
    const struct {
        struct tile_map *map;
        const void *base;
        size_t rows, columns;
        unsigned tile_rows, tile_bytes;
    } maps[] = {
        {&args->g_map, args->g, args->rows, out, TILE_ROWS, 128},
        {&args->z_map, args->z, args->rows, out, TILE_ROWS, 128},
        {&args->w_map, args->w, out, in, CHUNK, 128},
        {&args->x_map, args->x, args->rows, in, TILE_ROWS, 64},
        {&args->y_map, args->y, args->rows, in, TILE_ROWS, 64},
        {&args->shortcut_map, args->shortcut, args->rows, in, TILE_ROWS, 64},
        {&args->dx_map, args->dx, args->rows, in, TILE_ROWS, 64},
    };
    for (const auto &m : maps) {
        if (m.base == nullptr)
            continue;
        cudaError_t status =
            tile_map_make(m.map, bf16, m.base, m.rows, m.columns, m.tile_rows, m.tile_bytes);
        if (status != cudaSuccess)
            return status;
    }
    return cudaSuccess;
}

/* The arguments are copied into a struct that is aligned for the copy engine's maps. */
template <typename T>
static cudaError_t launch_main(cudaStream_t stream, const struct conv_backward_args *args) {
    return with_form(args->form, args->out, [=](auto tag) {
        constexpr conv_backward_form FORM = decltype(tag)::form;
        constexpr int K = decltype(tag)::out, BYTES = backward_layout<FORM, K>::BYTES;
        const unsigned blocks = static_cast<unsigned>(args->workers * (args->in / SLICE));
        struct backward_held held;
        static_cast<struct conv_backward_args &>(held) = *args;
        return enqueue_shared(conv_backward_kernel<T, FORM, K, BYTES>, blocks, BACKWARD_THREADS,
                              BYTES, stream, held);
    });
}

/* The two small kernels may begin early; both wait for the main one first. */
cudaError_t launch_conv_backward(cudaStream_t stream, enum dtype type,
                                 const struct conv_backward_args *args) {
    if (!launch_conv_backward_has(type, args->form, args->in, args->out))
        return cudaErrorInvalidValue;
    cudaError_t status = type == DTYPE_F16 ? launch_main<__half>(stream, args)
                                           : launch_main<__nv_bfloat16>(stream, args);
    if (status != cudaSuccess)
        return status;
    if (args->form != BACKWARD_PLAIN)
        enqueue_early(conv_backward_norm_kernel, chunk_grid(args->in), chunk_block(), stream,
                      *args);
    return with_type(args->dw_wide ? DTYPE_F32 : type, [=](auto tag) {
        enqueue_early(conv_backward_weight_kernel<typename decltype(tag)::type>,
                      chunk_grid(args->in * args->out), chunk_block(), stream, *args);
        return launch_status();
    });
}
