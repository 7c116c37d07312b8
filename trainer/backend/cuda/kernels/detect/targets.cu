/* Targets of a region proposal network: one thread per anchor matches it, then one block per
 * picture samples. Floats of 0 and more are ordered as their bits are, so that the largest overlap
 * of an object is an atomic maximum, the same in any order. */
#include "trainer/backend/cuda/kernels/detect/launch_rpn.h"
#include "trainer/backend/cuda/kernels/detect/select.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/image_size.h"
#include "trainer/math/match.h"
#include "trainer/math/sample_key.h"

#include <string.h>

/* Matching needs two passes over all anchors and objects, because an anchor is positive if it
 * reaches an object's largest overlap, and that is known only after all anchors have been looked at
 * (Faster R-CNN, Ren et al. 2015). Overlaps are computed again in the second pass: they are cheaper
 * than the memory for anchors times objects, and the same instructions give the same bits, so they
 * can be compared exactly.
 *
 * Sampling takes the smallest keys of each label, as every backend does. */

enum { OBJECTS_AT_ONCE = 128 }; /* in a block's shared memory */

/* Addresses of the scratch's parts, each for all pictures. */
struct targets_scratch {
    unsigned *most;  /* [pictures, slots]: bits of the largest overlap of an object */
    float *best;     /* [pictures, anchors]: the largest overlap of an anchor, */
    int32_t *object; /* and the object that has it */
    uint32_t *key;   /* of the sampler */
    signed char *label;
};

/* Of all pictures: every picture has the same grid. */
static __host__ __device__ size_t anchors_of(const struct rpn_targets_args &args) {
    return static_cast<size_t>(args.rpn.grid.count) * static_cast<size_t>(args.rpn.pictures);
}

static __host__ __device__ size_t objects_of(const struct rpn_targets_args &args) {
    return static_cast<size_t>(args.slots) * static_cast<size_t>(args.rpn.pictures);
}

/* Parts follow one another without gaps: wide types first, labels of one byte last. */
static __device__ __forceinline__ struct targets_scratch
scratch_of(const struct rpn_targets_args &args) {
    struct targets_scratch ret;
    ret.most = static_cast<unsigned *>(args.scratch);
    ret.best = reinterpret_cast<float *>(ret.most + objects_of(args));
    ret.object = reinterpret_cast<int32_t *>(ret.best + anchors_of(args));
    ret.key = reinterpret_cast<uint32_t *>(ret.object + anchors_of(args));
    ret.label = reinterpret_cast<signed char *>(ret.key + anchors_of(args));
    return ret;
}

/* Must agree with scratch_of(): three words and a byte an anchor, a word an object. */
size_t launch_rpn_targets_scratch(const struct rpn_targets_args *args) {
    return objects_of(*args) * sizeof(unsigned) + anchors_of(*args) * (3 * sizeof(uint32_t) + 1);
}

/* The count is data of the batch, clamped to the tensor. */
static __device__ __forceinline__ int object_count(const struct rpn_targets_args &args,
                                                   unsigned picture) {
    int count = args.count[picture];
    return count < 0 ? 0 : count > args.slots ? args.slots : count;
}

static __device__ __forceinline__ float from_bits(unsigned bits) {
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* For overlaps, which are at least 0. */
static __device__ __forceinline__ unsigned bits_of(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Bytes moved: 4 per object. They are the bits of 0. */
static __global__ void clear_most_kernel(const __grid_constant__ struct rpn_targets_args args) {
    FOR_EACH_ITEM(i, objects_of(args))
    scratch_of(args).most[i] = 0;
}

/* Some of a picture's objects, read once for a block. `most` is the largest overlap of each, as
 * bits. */
struct object_part {
    float box[OBJECTS_AT_ONCE][4];
    unsigned most[OBJECTS_AT_ONCE];
};

/* LARGEST asks for the results of the first pass; else they begin at 0. All threads of the block
 * must call it, and it begins and ends with a barrier, because parts are read one after another
 * into the same memory. */
static __device__ __forceinline__ void read_part(const struct rpn_targets_args &args,
                                                 unsigned picture, int first, int count,
                                                 struct object_part *part, bool largest) {
    const size_t at = static_cast<size_t>(picture) * static_cast<size_t>(args.slots) + first;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
        for (int k = 0; k < 4; k++)
            part->box[i][k] = args.objects[(at + i) * 4 + k];
        part->most[i] = largest ? scratch_of(args).most[at + i] : 0;
    }
    __syncthreads();
}

/* Blocks of anchors (x) of a picture (y): each anchor's best object, each object's largest overlap.
 * Bytes moved: 8 per anchor written; objects stay in shared memory. Maxima are collected in shared
 * memory first, so that few atomics reach the L2 cache. */
static __global__ void match_kernel(const __grid_constant__ struct rpn_targets_args args) {
    __shared__ struct object_part part;
    const struct targets_scratch scratch = scratch_of(args);
    const unsigned picture = blockIdx.y;
    const int anchor = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int objects = object_count(args, picture);
    const float plus = args.rpn.rule.plus;
    float box[4] = {0, 0, 0, 0}, best = 0;
    int own = 0;
    if (anchor < args.rpn.grid.count)
        anchor_box(&args.rpn.grid, anchor, box);
    const float area = box_area(box, plus);
    for (int first = 0; first < objects; first += OBJECTS_AT_ONCE) {
        const int count = objects - first < OBJECTS_AT_ONCE ? objects - first : OBJECTS_AT_ONCE;
        read_part(args, picture, first, count, &part, false);
        for (int i = 0; i < count && anchor < args.rpn.grid.count; i++) {
            const float overlap =
                box_iou_of_areas(part.box[i], box_area(part.box[i], plus), box, area, plus);
            if (overlap > best) {
                best = overlap;
                own = first + i;
            }
            if (overlap > 0 && bits_of(overlap) > part.most[i])
                atomicMax(&part.most[i], bits_of(overlap));
        }
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
            if (part.most[i] != 0)
                atomicMax(&scratch.most[static_cast<size_t>(picture) * args.slots + first + i],
                          part.most[i]);
    }
    if (anchor >= args.rpn.grid.count)
        return;
    const size_t at = static_cast<size_t>(picture) * args.rpn.grid.count + anchor;
    scratch.best[at] = best;
    scratch.object[at] = own;
}

/* The same blocks: label and key of each anchor. Bytes moved: 4 read and 5 written per anchor.
 * Threads past the last anchor stay until the end, because read_part() has barriers. */
static __global__ void label_kernel(const __grid_constant__ struct rpn_targets_args args) {
    __shared__ struct object_part part;
    const struct targets_scratch scratch = scratch_of(args);
    const unsigned picture = blockIdx.y;
    const int anchor = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int objects = object_count(args, picture);
    const int32_t *size = args.image_size + picture * IMAGE_SIZE_FIELDS;
    const float plus = args.rpn.rule.plus;
    const size_t at = static_cast<size_t>(picture) * args.rpn.grid.count + anchor;
    const bool mine = anchor < args.rpn.grid.count;
    float box[4] = {0, 0, 0, 0};
    if (mine)
        anchor_box(&args.rpn.grid, anchor, box);
    const float area = box_area(box, plus);
    int label = mine ? match_label(scratch.best[at], args.background_iou, args.foreground_iou) : 0;
    for (int first = 0; first < objects; first += OBJECTS_AT_ONCE) {
        const int count = objects - first < OBJECTS_AT_ONCE ? objects - first : OBJECTS_AT_ONCE;
        read_part(args, picture, first, count, &part, true);
        for (int i = 0; i < count && mine; i++) {
            const float overlap =
                box_iou_of_areas(part.box[i], box_area(part.box[i], plus), box, area, plus);
            if (overlap > 0 && overlap == from_bits(part.most[i]))
                label = MATCH_OBJECT;
        }
    }
    if (!mine)
        return;
    if (args.inside && !match_inside(box, static_cast<float>(size[IMAGE_SIZE_H]),
                                     static_cast<float>(size[IMAGE_SIZE_W])))
        label = MATCH_IGNORED;
    if (size[IMAGE_SIZE_VALID] == 0)
        label = MATCH_IGNORED;
    scratch.label[at] = static_cast<signed char>(label);
    scratch.key[at] = sample_key(args.key + picture * SAMPLE_KEY_WORDS, SAMPLE_RPN, anchor);
}

/* The anchors of a label with the smallest keys, at most MOST, by rising number, into the slots
 * from FIRST on of the block's picture. Returns how many. All threads of the block must call it.
 * The order of sampling has the anchor's number in its lower half, which is what remains in the
 * list. */
static __device__ int sample(const struct rpn_targets_args &args, int label, int most, int first,
                             uint64_t *list) {
    const struct targets_scratch scratch = scratch_of(args);
    const size_t at = static_cast<size_t>(blockIdx.x) * args.rpn.grid.count;
    const signed char *labels = scratch.label + at;
    const uint32_t *keys = scratch.key + at;
    const int found = select_greatest(
        [=](int i) { return labels[i] == label ? ~sample_order(keys[i], i) : uint64_t{0}; },
        args.rpn.grid.count, most, list);
    for (int i = static_cast<int>(threadIdx.x); i < found; i += static_cast<int>(blockDim.x))
        list[i] &= 0xffffffffu; /* its number, turned round: falling ones rise */
    __syncthreads();
    select_sort(list, found);
    int32_t *index = args.index + static_cast<size_t>(blockIdx.x) * args.samples + first;
    for (int i = static_cast<int>(threadIdx.x); i < found; i += static_cast<int>(blockDim.x))
        index[i] = static_cast<int32_t>(~static_cast<uint32_t>(list[i]));
    __syncthreads();
    return found;
}

/* One block per picture. Bytes moved: 5 per anchor, a few times, 24 per slot written. */
static __global__ void __launch_bounds__(SELECT_THREADS, 1)
    rpn_sample_kernel(const __grid_constant__ struct rpn_targets_args args) {
    __shared__ uint64_t list[SELECT_MAX];
    const struct targets_scratch scratch = scratch_of(args);
    const size_t picture = blockIdx.x;
    const int positives = sample(args, MATCH_OBJECT, args.positives, 0, list);
    const int others = sample(args, MATCH_BACKGROUND, args.samples - positives, positives, list);
    for (int slot = static_cast<int>(threadIdx.x); slot < args.samples;
         slot += static_cast<int>(blockDim.x)) {
        const size_t at = picture * static_cast<size_t>(args.samples) + slot;
        const bool positive = slot < positives, empty = slot >= positives + others;
        float code[4] = {0, 0, 0, 0};
        if (empty)
            args.index[at] = -1;
        args.label[at] = empty ? MATCH_IGNORED : positive ? MATCH_OBJECT : MATCH_BACKGROUND;
        if (positive) {
            const int anchor = args.index[at];
            const int object = scratch.object[picture * args.rpn.grid.count + anchor];
            float box[4];
            anchor_box(&args.rpn.grid, anchor, box);
            box_encode(box, args.objects + (picture * args.slots + object) * 4, args.rpn.coder,
                       args.rpn.rule.plus, code);
        }
        for (int k = 0; k < 4; k++)
            args.target[at * 4 + k] = code[k];
    }
    if (threadIdx.x == 0) {
        args.counts[picture * 2] = positives;
        args.counts[picture * 2 + 1] = others;
    }
}

/* Four launches: the largest overlaps are cleared, found, used for labels, and samples are
 * drawn. */
cudaError_t launch_rpn_targets(cudaStream_t stream, const struct rpn_targets_args *args) {
    dim3 grid((static_cast<unsigned>(args->rpn.grid.count) + THREADS - 1) / THREADS,
              static_cast<unsigned>(args->rpn.pictures));
    enqueue(clear_most_kernel, blocks_for(objects_of(*args)), THREADS, stream, *args);
    enqueue(match_kernel, grid, THREADS, stream, *args);
    enqueue(label_kernel, grid, THREADS, stream, *args);
    enqueue(rpn_sample_kernel, static_cast<unsigned>(args->rpn.pictures), SELECT_THREADS, stream,
            *args);
    return launch_status();
}
