/* Losses of the box head, and the total loss of a training step. One thread computes a row, in
 * double; rows are summed in a fixed order. */
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/backend/cuda/kernels/sum.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/graph/op_rpn.h"
#include "trainer/math/detect_loss.h"
#include "trainer/math/image_size.h"
#include "trainer/math/softmax_loss.h"

/* The difference of delta I of class K and its target. */
static __device__ double apart(const struct box_loss_args &args, size_t row, int k, int i) {
    return static_cast<double>(args.deltas[4 * (row * args.classes + k) + i]) -
           args.target[4 * row + i];
}

static __device__ bool is_right(const float *logits, int classes, int label) {
    for (int k = 0; k < classes; k++)
        if (softmax_before(logits[k], logits[label], k, label))
            return false;
    return true;
}

/* Bytes moved: 4 per logit, 32 per row with an object, 8 per loss of a row written. */
static __global__ void box_rows_kernel(const __grid_constant__ struct box_loss_args args) {
    FOR_EACH_ITEM(row, static_cast<size_t>(args.rows)) {
        const float *logits = args.logits + row * args.classes;
        double *part = args.parts + row * BOX_LOSSES;
        int label = args.label[row];
        for (int i = 0; i < BOX_LOSSES; i++)
            part[i] = 0;
        if (label < 0)
            continue;
        part[BOX_LOSS_SAMPLED] = 1;
        part[BOX_LOSS_POSITIVES] = label > 0;
        part[BOX_LOSS_CLASSIFIER] = softmax_log_sum_f32(logits, args.classes) - logits[label];
        part[BOX_LOSS_ACCURACY] = is_right(logits, args.classes, label);
        for (int i = 0; i < 4 && label > 0; i++)
            part[BOX_LOSS_BOX_REG] += smooth_l1(apart(args, row, label, i), args.beta);
    }
}

/* One block. Bytes moved: 8 per loss of a row. */
static __global__ void box_sum_kernel(const __grid_constant__ struct box_loss_args args,
                                      float *values) {
    double sums[BOX_LOSSES];
    for (int i = 0; i < BOX_LOSSES; i++) {
        double sum = 0;
        for (int row = static_cast<int>(threadIdx.x); row < args.rows; row += THREADS)
            sum += args.parts[static_cast<size_t>(row) * BOX_LOSSES + i];
        sums[i] = sum_over_block(sum);
    }
    if (threadIdx.x != 0)
        return;
    for (int i = 0; i < BOX_LOSSES; i++) {
        bool mean = i != BOX_LOSS_POSITIVES && i != BOX_LOSS_SAMPLED;
        double share = mean && sums[BOX_LOSS_SAMPLED] > 0 ? sums[BOX_LOSS_SAMPLED] : 1;
        values[i] = static_cast<float>(sums[i] / share);
    }
}

cudaError_t launch_box_loss(cudaStream_t stream, const struct box_loss_args *args, float *values) {
    enqueue(box_rows_kernel, blocks_for(static_cast<size_t>(args->rows)), THREADS, stream, *args);
    enqueue(box_sum_kernel, 1, THREADS, stream, *args, values);
    return launch_status();
}

/* parts: log sum exp of each row, followed by the number of sampled rows. Bytes moved: 4 per logit,
 * 8 per row written. */
static __global__ void log_sums_kernel(const __grid_constant__ struct box_loss_args args) {
    FOR_EACH_ITEM(row, static_cast<size_t>(args.rows))
    args.parts[row] = args.label[row] < 0
                          ? 0
                          : softmax_log_sum_f32(args.logits + row * args.classes, args.classes);
}

/* Bytes moved: 4 per row. */
static __global__ void count_kernel(const __grid_constant__ struct box_loss_args args) {
    double sampled = 0;
    for (int row = static_cast<int>(threadIdx.x); row < args.rows; row += THREADS)
        sampled += args.label[row] >= 0;
    sampled = sum_over_block(sampled);
    if (threadIdx.x == 0)
        args.parts[args.rows] = sampled;
}

/* Bytes moved: 4 per logit, 32 per row with an object, and both gradients. */
template <typename T>
static __global__ void box_grad_kernel(const __grid_constant__ struct box_loss_args args,
                                       T *dlogits, T *ddeltas, const float *loss_scale) {
    double share = static_cast<double>(args.gradient_scale) * *loss_scale / args.parts[args.rows];
    FOR_EACH_ITEM(at, static_cast<size_t>(args.rows) * args.classes) {
        size_t row = at / args.classes;
        int k = static_cast<int>(at % args.classes), label = args.label[row];
        double slope = 0;
        if (label >= 0)
            slope = share * (exp(args.logits[at] - args.parts[row]) - (k == label ? 1 : 0));
        dlogits[at] = narrow<T>(static_cast<float>(slope));
        for (int i = 0; i < 4; i++) {
            slope = 0;
            if (label > 0 && k == label)
                slope = share * smooth_l1_gradient(apart(args, row, k, i), args.beta);
            ddeltas[4 * at + i] = narrow<T>(static_cast<float>(slope));
        }
    }
}

cudaError_t launch_box_loss_grad(cudaStream_t stream, enum dtype type,
                                 const struct box_loss_args *args, void *dlogits, void *ddeltas,
                                 const float *loss_scale) {
    size_t rows = static_cast<size_t>(args->rows);
    enqueue(log_sums_kernel, blocks_for(rows), THREADS, stream, *args);
    enqueue(count_kernel, 1, THREADS, stream, *args);
    return with_type(type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        enqueue(box_grad_kernel<T>, blocks_for(rows * args->classes), THREADS, stream, *args,
                static_cast<T *>(dlogits), static_cast<T *>(ddeltas), loss_scale);
        return launch_status();
    });
}

/* Bytes moved: a few numbers. */
static __global__ void total_kernel(const __grid_constant__ struct total_loss_args args) {
    float images = 0, loss = 0;
    for (int n = 0; n < args.images; n++)
        images += args.size[n * IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID] != 0 ? 1.0f : 0.0f;
    const float means[] = {args.box[BOX_LOSS_CLASSIFIER], args.box[BOX_LOSS_BOX_REG], args.mask[0],
                           args.rpn[RPN_LOSS_OBJECTNESS], args.rpn[RPN_LOSS_BOX]};
    for (int i = 0; i < 5; i++) {
        args.metrics[DETECT_LOSS_CLASSIFIER + i] = images * means[i];
        loss += images * means[i];
    }
    args.metrics[DETECT_LOSS] = loss;
    args.metrics[DETECT_IMAGES] = images;
    args.metrics[DETECT_ACCURACY] = images * args.box[BOX_LOSS_ACCURACY];
    args.metrics[DETECT_POSITIVES] = args.box[BOX_LOSS_POSITIVES];
    args.metrics[DETECT_RPN_POSITIVES] = args.rpn[RPN_LOSS_POSITIVES];
}

cudaError_t launch_total_loss(cudaStream_t stream, const struct total_loss_args *args) {
    enqueue(total_kernel, 1, 1, stream, *args);
    return launch_status();
}
