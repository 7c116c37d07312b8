/* Selection and decoding of a region proposal network's proposals. */
#include "trainer/backend/cuda/kernels/detect/launch_rpn.h"
#include "trainer/backend/cuda/kernels/detect/select.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/image_size.h"
#include "trainer/math/rank.h"

#include <vector_functions.h>

/* The steps of choosing proposals, apart from suppression (nms.cu): the best anchors of each level,
 * their boxes, and the best of what suppression kept. All choices go by ranks (math/rank.h), which
 * are distinct integers of score and position: whichever thread finds one, the result is the same.
 *
 * A block selects by radix (select.cuh), at most SELECT_MAX numbers in shared memory. The best of a
 * whole batch can be more; for that choice a block only finds the smallest rank that is in, and
 * every candidate then counts its own place. */

static_assert(int{LAUNCH_CANDIDATES_MAX} == int{SELECT_MAX}, "what a block sorts");

/* Bytes moved: 4 per picture. */
static __global__ void nan_clear_kernel(int32_t *values, int count) {
    FOR_EACH_ITEM(i, static_cast<size_t>(count))
    values[i] = 0;
}

/* A block for each level (x) of each picture (y). Bytes moved: 4 per anchor, a few times where a
 * selection takes several passes, 8 per candidate written. A level with fewer anchors than places
 * gives as many as it has. */
static __global__ void __launch_bounds__(SELECT_THREADS, 1)
    top_k_kernel(const __grid_constant__ struct top_k_args args) {
    __shared__ uint64_t list[SELECT_MAX];
    const int level = static_cast<int>(blockIdx.x), picture = static_cast<int>(blockIdx.y);
    const struct anchor_level *anchors = &args.rpn.grid.level[level];
    const int count = anchor_level_count(anchors), first = args.rpn.places.first[level];
    const int k = args.rpn.places.first[level + 1] - first;
    const float *logits = args.logits[level] + static_cast<size_t>(picture) * count;
    int nan = 0;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
        nan += !(logits[i] == logits[i]);
    if (nan > 0)
        atomicAdd(&args.nan[picture], nan);
    int found = select_greatest([=](int i) { return rank_of(logits[i], i); }, count, k, list);
    size_t at =
        static_cast<size_t>(picture) * args.rpn.places.first[args.rpn.places.levels] + first;
    for (int i = static_cast<int>(threadIdx.x); i < found; i += static_cast<int>(blockDim.x)) {
        int taken = rank_place(list[i]);
        args.score[at + i] = logits[taken];
        args.index[at + i] = anchors->first + taken;
    }
}

/* Clears the counts of NaN first, because several blocks add to each. */
cudaError_t launch_rpn_top_k(cudaStream_t stream, const struct top_k_args *args) {
    dim3 grid(static_cast<unsigned>(args->rpn.grid.levels),
              static_cast<unsigned>(args->rpn.pictures));
    enqueue(nan_clear_kernel, 1, THREADS, stream, args->nan, args->rpn.pictures);
    enqueue(top_k_kernel, grid, SELECT_THREADS, stream, *args);
    return launch_status();
}

/* Bytes moved: 24 read and 20 written per candidate. Deltas and boxes are read and written as whole
 * vectors of four floats. */
static __global__ void boxes_kernel(const __grid_constant__ struct rpn_boxes_args args) {
    const size_t all = static_cast<size_t>(args.rpn.places.first[args.rpn.places.levels]);
    FOR_EACH_ITEM(i, all * static_cast<size_t>(args.rpn.pictures)) {
        const size_t picture = i / all;
        const int32_t *size = args.image_size + picture * IMAGE_SIZE_FIELDS;
        const int anchor = args.index[i], level = anchor_level_of(&args.rpn.grid, anchor);
        const struct anchor_level *anchors = &args.rpn.grid.level[level];
        const int own = anchor - anchors->first;
        const size_t row =
            picture * static_cast<size_t>(anchor_level_count(anchors)) + static_cast<size_t>(own);
        const float4 stored = reinterpret_cast<const float4 *>(args.deltas[level])[row];
        const float delta[4] = {stored.x, stored.y, stored.z, stored.w};
        float from[4], box[4];
        anchor_box_at(anchors, own, from);
        box_decode(from, delta, args.rpn.coder, args.rpn.rule.plus, box);
        box_clip(box, static_cast<float>(size[IMAGE_SIZE_H]),
                 static_cast<float>(size[IMAGE_SIZE_W]), args.rpn.rule.plus);
        reinterpret_cast<float4 *>(args.box)[i] = make_float4(box[0], box[1], box[2], box[3]);
        args.ranked_by[i] =
            proposal_score(&args.rpn.rule, size[IMAGE_SIZE_VALID] != 0, args.score[i], box);
    }
}

/* One thread for each candidate of the batch. Boxes are f32 in every mode. */
cudaError_t launch_rpn_boxes(cudaStream_t stream, const struct rpn_boxes_args *args) {
    size_t all = static_cast<size_t>(args->rpn.places.first[args->rpn.places.levels]) *
                 static_cast<size_t>(args->rpn.pictures);
    enqueue(boxes_kernel, blocks_for(all), THREADS, stream, *args);
    return launch_status();
}

/* One block per picture. Bytes moved: 8 per candidate, a few times; 16 read and 20 written per
 * proposal. Slots past the last proposal are zeroed, so that later kernels may read all of them. */
static __global__ void __launch_bounds__(SELECT_THREADS, 1)
    proposals_kernel(const __grid_constant__ struct proposals_args args) {
    __shared__ uint64_t list[SELECT_MAX];
    const size_t picture = blockIdx.x, all = static_cast<size_t>(args.candidates);
    const float *score = args.from_score + picture * all;
    const int32_t *keep = args.keep + picture * all;
    int found =
        select_greatest([=](int i) { return keep[i] != 0 ? rank_of(score[i], i) : uint64_t{0}; },
                        args.candidates, args.slots, list);
    for (int slot = static_cast<int>(threadIdx.x); slot < args.slots;
         slot += static_cast<int>(blockDim.x)) {
        const size_t to = picture * static_cast<size_t>(args.slots) + static_cast<size_t>(slot);
        float4 box = make_float4(0, 0, 0, 0);
        float own = 0;
        if (slot < found) {
            const int place = rank_place(list[slot]);
            box = reinterpret_cast<const float4 *>(args.from_box)[picture * all + place];
            own = score[place];
        }
        reinterpret_cast<float4 *>(args.box)[to] = box;
        args.score[to] = own;
    }
    if (threadIdx.x == 0)
        args.count[picture] = found;
}

/* At most SELECT_MAX slots a picture, which step_rpn.c has checked. */
cudaError_t launch_proposals(cudaStream_t stream, const struct proposals_args *args) {
    enqueue(proposals_kernel, static_cast<unsigned>(args->pictures), SELECT_THREADS, stream, *args);
    return launch_status();
}

/* One block: the smallest rank, counted over all pictures, among the best of the batch. Bytes
 * moved: 8 per candidate of the batch, a few times. */
static __global__ void __launch_bounds__(SELECT_THREADS, 1)
    pool_border_kernel(const __grid_constant__ struct proposals_args args) {
    const float *score = args.from_score;
    const int32_t *keep = args.keep;
    const uint64_t border =
        select_border_key([=](int i) { return keep[i] != 0 ? rank_of(score[i], i) : uint64_t{0}; },
                          args.candidates * args.pictures, args.pool);
    if (threadIdx.x == 0)
        *args.border = border;
}

/* One thread per candidate: a chosen one is placed after those of its picture that rank higher,
 * which the thread counts. Bytes moved: 8 per candidate, 20 read and written per proposal; the data
 * that it counts over stays in L2. Ranks are distinct, so no two candidates find the same slot. */
static __global__ void pool_place_kernel(const __grid_constant__ struct proposals_args args) {
    const uint64_t border = *args.border;
    const int all = args.candidates;
    FOR_EACH_ITEM(item, static_cast<size_t>(all) * static_cast<size_t>(args.pictures)) {
        const int i = static_cast<int>(item), picture = i / all;
        const uint64_t own = rank_of(args.from_score[i], i);
        if (args.keep[i] == 0 || own < border)
            continue;
        int before = 0;
        for (int k = picture * all; k < (picture + 1) * all; k++)
            before += args.keep[k] != 0 && rank_of(args.from_score[k], k) > own;
        const size_t to = static_cast<size_t>(picture) * static_cast<size_t>(args.slots) +
                          static_cast<size_t>(before);
        reinterpret_cast<float4 *>(args.box)[to] =
            reinterpret_cast<const float4 *>(args.from_box)[i];
        args.score[to] = args.from_score[i];
        atomicAdd(&args.count[picture], 1);
    }
}

/* Bytes moved: 20 per slot. Each slot is cleared by the thread of its number, the counts by the
 * first threads. */
static __global__ void clear_proposals_kernel(const __grid_constant__ struct proposals_args args) {
    FOR_EACH_ITEM(i, static_cast<size_t>(args.slots) * static_cast<size_t>(args.pictures)) {
        reinterpret_cast<float4 *>(args.box)[i] = make_float4(0, 0, 0, 0);
        args.score[i] = 0;
        if (i < static_cast<size_t>(args.pictures))
            args.count[i] = 0;
    }
}

/* In order: all slots are cleared, the border is found, and chosen candidates find their slots. The
 * batch's candidates are counted in 32 bits. */
cudaError_t launch_proposals_of_batch(cudaStream_t stream, const struct proposals_args *args) {
    size_t pictures = static_cast<size_t>(args->pictures);
    enqueue(clear_proposals_kernel, blocks_for(pictures * static_cast<size_t>(args->slots)),
            THREADS, stream, *args);
    enqueue(pool_border_kernel, 1, SELECT_THREADS, stream, *args);
    enqueue(pool_place_kernel, blocks_for(pictures * static_cast<size_t>(args->candidates)),
            THREADS, stream, *args);
    return launch_status();
}
