/* Targets of masks, one block per row of the mask head, and the head's loss. */
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/backend/cuda/kernels/sum.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/detect_loss.h"
#include "trainer/math/mask_target.h"

static __device__ struct mask_outline outline_of(const struct mask_targets_args &args,
                                                 size_t object, const float *box) {
    struct mask_outline o = {};
    if (args.parts != nullptr) {
        o.first = args.parts[object * MASK_PART_FIELDS + MASK_PART_FIRST];
        o.count = args.parts[object * MASK_PART_FIELDS + MASK_PART_COUNT];
    }
    o.points = args.point;
    o.part = args.part;
    o.bins = args.bins;
    mask_outline_place(&o, box, args.least);
    return o;
}

/* Bytes moved: 4 per bin written, and what the outlines and bit masks of the rows' objects have. */
static __global__ void mask_targets_kernel(const __grid_constant__ struct mask_targets_args args) {
    size_t row = blockIdx.x;
    int bins = args.bins, slot = args.row[row];
    float *to = args.targets + row * bins * bins;
    if (slot < 0) {
        for (int i = static_cast<int>(threadIdx.x); i < bins * bins; i += THREADS)
            to[i] = 0;
        return;
    }
    size_t image = static_cast<size_t>(slot / args.slots);
    size_t object = image * args.objects + args.match[slot];
    const float *box = args.roi + 4 * static_cast<size_t>(slot);
    const int32_t *size = args.size + image * IMAGE_SIZE_FIELDS;
    struct roi_rule rule = {bins, 0, args.cut};
    struct mask_view view = mask_view_of(args.pool, args.at + object * MASK_FIELDS, size);
    struct roi_axis y = roi_axis_between(box[1], box[3], 1.0f, size[IMAGE_SIZE_H], &rule);
    struct roi_axis x = roi_axis_between(box[0], box[2], 1.0f, size[IMAGE_SIZE_W], &rule);
    struct mask_outline outline = outline_of(args, object, box);
    for (int i = static_cast<int>(threadIdx.x); i < bins * bins; i += THREADS) {
        float value;
        if (args.cut && outline.count > 0)
            value = mask_outline_covers(&outline, i / bins, i % bins) ? 1.0f : 0.0f;
        else
            value = mask_view_bin(&view, &y, &x, i / bins, i % bins);
        to[i] = args.cut ? (value >= 0.5f ? 1.0f : 0.0f) : value;
    }
}

cudaError_t launch_mask_targets(cudaStream_t stream, const struct mask_targets_args *args) {
    enqueue(mask_targets_kernel, static_cast<unsigned>(args->rows), THREADS, stream, *args);
    return launch_status();
}

/* --- loss ------------------------------------------------------------------------------------- */

/* Bytes moved: 8 per pixel of a row that counts, 8 per row written. */
static __global__ void mask_parts_kernel(const __grid_constant__ struct mask_loss_args args,
                                         double *parts) {
    size_t first = static_cast<size_t>(blockIdx.x) * args.pixels;
    double sum = 0;
    if (static_cast<int>(blockIdx.x) < *args.count)
        for (int i = static_cast<int>(threadIdx.x); i < args.pixels; i += THREADS)
            sum += logit_loss(args.logits[first + i], args.targets[first + i]);
    sum = sum_over_block(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

/* Bytes moved: 8 per row that counts. */
static __global__ void mask_sum_kernel(const __grid_constant__ struct mask_loss_args args,
                                       const double *parts, float *value) {
    double sum = 0;
    for (int row = static_cast<int>(threadIdx.x); row < *args.count; row += THREADS)
        sum += parts[row];
    sum = sum_over_block(sum);
    if (threadIdx.x == 0)
        *value = *args.count > 0
                     ? static_cast<float>(sum / (static_cast<double>(*args.count) * args.pixels))
                     : 0.0f;
}

/* Two kernels, so that additions have a fixed order: a sum per row, then one over the rows. */
cudaError_t launch_mask_loss(cudaStream_t stream, const struct mask_loss_args *args, double *parts,
                             float *value) {
    enqueue(mask_parts_kernel, static_cast<unsigned>(args->rows), THREADS, stream, *args, parts);
    enqueue(mask_sum_kernel, 1, THREADS, stream, *args, parts, value);
    return launch_status();
}

/* Bytes moved: 8 per pixel of a row that counts, and dlogits. */
template <typename T>
static __global__ void mask_loss_grad_kernel(const __grid_constant__ struct mask_loss_args args,
                                             T *dlogits, const float *loss_scale) {
    size_t counted = static_cast<size_t>(*args.count) * args.pixels;
    double share =
        static_cast<double>(args.gradient_scale) * *loss_scale / static_cast<double>(counted);
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
        return launch_status();
    });
}
