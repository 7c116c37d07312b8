/* What masks should be, a block a row of the mask head, and the head's loss. */
#include "cuda/launch_roi.h"
#include "cuda/sum.cuh"
#include "cuda/vec.cuh"
#include "kernels/detect_loss.h"
#include "kernels/image_size.h"
#include "kernels/mask_bits.h"

/* An object's mask in the resized picture. */
struct mask {
    const uint8_t *pool;
    const int32_t *at, *size;
    float scale_y, scale_x;
};

static __device__ __forceinline__ float pixel_of(const struct mask &m, int32_t y, int32_t x) {
    int32_t height = m.size[IMAGE_SIZE_SOURCE_H], width = m.size[IMAGE_SIZE_SOURCE_W];
    int32_t row = bilinear_nearest(y, m.scale_y, height);
    int32_t column = bilinear_nearest(x, m.scale_x, width);
    if (m.size[IMAGE_SIZE_FLIP] != 0)
        column = width - 1 - column;
    return static_cast<float>(mask_bits_get(m.pool, m.at, column, row));
}

static __device__ float bin_of(const struct mask &m, const struct roi_axis &y,
                               const struct roi_axis &x, int p, int q) {
    float sum = 0;
    for (int i = 0; i < y.grid; i++) {
        struct bilinear_tap v, u;
        if (!roi_axis_sample(&y, p, i, &v))
            continue;
        for (int k = 0; k < x.grid; k++)
            if (roi_axis_sample(&x, q, k, &u))
                sum += (1 - v.fraction) * ((1 - u.fraction) * pixel_of(m, v.low, u.low) +
                                           u.fraction * pixel_of(m, v.low, u.high)) +
                       v.fraction * ((1 - u.fraction) * pixel_of(m, v.high, u.low) +
                                     u.fraction * pixel_of(m, v.high, u.high));
    }
    float count = static_cast<float>(y.grid) * static_cast<float>(x.grid);
    return count > 0 ? sum / count : 0.0f;
}

static __global__ void targets_kernel(struct mask_targets_args args) {
    size_t row = blockIdx.x;
    int bins = args.bins, slot = args.row[row];
    float *to = args.targets + row * bins * bins;
    struct mask m = {};
    struct roi_axis y = {}, x = {};
    if (slot >= 0) {
        int image = slot / args.slots;
        struct roi_rule rule = {bins, 0, false};
        const float *box = args.roi + 4 * static_cast<size_t>(slot);
        m.pool = args.pool;
        m.size = args.size + static_cast<size_t>(image) * IMAGE_SIZE_FIELDS;
        m.at =
            args.at + (static_cast<size_t>(image) * args.objects + args.match[slot]) * MASK_FIELDS;
        m.scale_y = bilinear_scale(m.size[IMAGE_SIZE_SOURCE_H], m.size[IMAGE_SIZE_H]);
        m.scale_x = bilinear_scale(m.size[IMAGE_SIZE_SOURCE_W], m.size[IMAGE_SIZE_W]);
        y = roi_axis_between(box[1], box[3], 1.0f, m.size[IMAGE_SIZE_H], &rule);
        x = roi_axis_between(box[0], box[2], 1.0f, m.size[IMAGE_SIZE_W], &rule);
    }
    for (int i = static_cast<int>(threadIdx.x); i < bins * bins; i += THREADS)
        to[i] = slot < 0 ? 0 : bin_of(m, y, x, i / bins, i % bins);
}

cudaError_t launch_mask_targets(cudaStream_t stream, const struct mask_targets_args *args) {
    enqueue(targets_kernel, static_cast<unsigned>(args->rows), THREADS, stream, *args);
    return cudaPeekAtLastError();
}

/* --- loss ------------------------------------------------------------------------------------- */

static __global__ void mask_parts_kernel(struct mask_loss_args args, double *parts) {
    size_t first = static_cast<size_t>(blockIdx.x) * args.pixels;
    double sum = 0;
    if (static_cast<int>(blockIdx.x) < *args.count)
        for (int i = static_cast<int>(threadIdx.x); i < args.pixels; i += THREADS)
            sum += logit_loss(args.logits[first + i], args.targets[first + i]);
    sum = sum_over_block(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

static __global__ void mask_sum_kernel(struct mask_loss_args args, const double *parts,
                                       float *value) {
    double sum = 0;
    for (int row = static_cast<int>(threadIdx.x); row < *args.count; row += THREADS)
        sum += parts[row];
    sum = sum_over_block(sum);
    if (threadIdx.x == 0)
        *value = *args.count > 0
                     ? static_cast<float>(sum / (static_cast<double>(*args.count) * args.pixels))
                     : 0.0f;
}

cudaError_t launch_mask_loss(cudaStream_t stream, const struct mask_loss_args *args, double *parts,
                             float *value) {
    enqueue(mask_parts_kernel, static_cast<unsigned>(args->rows), THREADS, stream, *args, parts);
    enqueue(mask_sum_kernel, 1, THREADS, stream, *args, parts, value);
    return cudaPeekAtLastError();
}

template <typename T>
static __global__ void mask_loss_grad_kernel(struct mask_loss_args args, T *dlogits,
                                             const float *loss_scale) {
    size_t counted = static_cast<size_t>(*args.count) * args.pixels;
    double share = *loss_scale / static_cast<double>(counted);
    FOR_EACH_ITEM(i, static_cast<size_t>(args.rows) * args.pixels) {
        float g = 0;
        if (i < counted)
            g = static_cast<float>(logit_loss_gradient(args.logits[i], args.targets[i]) * share);
        dlogits[i] = narrow<T>(g);
    }
}

cudaError_t launch_mask_loss_grad(cudaStream_t stream, enum dtype type,
                                  const struct mask_loss_args *args, void *dlogits,
                                  const float *loss_scale) {
    size_t count = static_cast<size_t>(args->rows) * args->pixels;
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(mask_loss_grad_kernel<T>, blocks_for(count), THREADS, stream, *args,
                static_cast<T *>(dlogits), loss_scale);
        return cudaPeekAtLastError();
    });
}
