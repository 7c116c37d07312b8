/* Which regions the heads learn from, a block a picture, and which of them have a mask. A
 * candidate's place is the number of those before it: all threads count, none waits for another's
 * choice. */
#include "cuda/launch_roi.h"
#include "cuda/vec.cuh"
#include "kernels/box.h"
#include "kernels/mask_bits.h"
#include "kernels/match.h"
#include "kernels/sample_key.h"

enum { TARGET_THREADS = 512 };

/* Of a candidate. CHOSEN: 1 where it is sampled. */
struct candidate {
    uint64_t order;
    int32_t label, match, chosen, unused;
};

struct picture {
    const float *box, *gt_box;
    const int32_t *gt_label, *key;
    int proposals, objects;
    struct candidate *candidates;
};

static __device__ struct picture picture_of(const struct roi_targets_args &args, size_t n) {
    struct picture p;
    p.box = args.box + 4 * n * args.proposals;
    p.gt_box = args.gt_box + 4 * n * args.objects;
    p.gt_label = args.gt_label + n * args.objects;
    p.key = args.key + n * SAMPLE_KEY_WORDS;
    p.proposals = match_count(args.count[n], args.proposals);
    p.objects = match_count(args.gt_count[n], args.objects);
    p.candidates = static_cast<struct candidate *>(args.scratch) +
                   n * (static_cast<size_t>(args.proposals) + args.objects);
    return p;
}

static __device__ const float *box_of(const struct picture &p, int i) {
    return i < p.proposals ? p.box + 4 * i : p.gt_box + 4 * (i - p.proposals);
}

static __device__ struct candidate candidate_of(const struct roi_targets_args &args,
                                                const struct picture &p, int i) {
    struct candidate c = {};
    const float *box = box_of(p, i);
    float best = -1;
    c.match = -1;
    for (int g = 0; g < p.objects; g++) {
        float overlap = box_iou(p.gt_box + 4 * g, box, args.plus);
        if (overlap > best) {
            best = overlap;
            c.match = g;
        }
    }
    c.label = match_label(best, args.background_iou, args.foreground_iou);
    if (c.label == MATCH_OBJECT)
        c.label = p.gt_label[c.match];
    else
        c.match = -1;
    c.order = sample_order(sample_key(p.key, SAMPLE_ROI, i), i);
    return c;
}

static __device__ bool is_kind(const struct candidate &c, bool object) {
    return object ? c.label > 0 : c.label == 0;
}

/* How many of candidate I's kind come before it in the order of sampling. */
static __device__ int before_in_order(const struct picture &p, int i) {
    bool object = p.candidates[i].label > 0;
    int before = 0;
    for (int k = 0; k < p.proposals + p.objects; k++)
        before += is_kind(p.candidates[k], object) && p.candidates[k].order < p.candidates[i].order;
    return before;
}

/* How many of the first END candidates are sampled and of this kind. */
static __device__ int sampled_before(const struct picture &p, bool object, int end) {
    int count = 0;
    for (int k = 0; k < end; k++)
        count += is_kind(p.candidates[k], object) && p.candidates[k].chosen;
    return count;
}

static __device__ void put(const struct roi_targets_args &args, const struct picture &p, int i,
                           size_t slot) {
    const struct candidate &c = p.candidates[i];
    float code[4] = {0, 0, 0, 0};
    const float *box = box_of(p, i);
    if (c.match >= 0)
        box_encode(box, p.gt_box + 4 * c.match, args.coder, args.plus, code);
    for (int k = 0; k < 4; k++) {
        args.roi[4 * slot + k] = box[k];
        args.target[4 * slot + k] = code[k];
    }
    args.label[slot] = c.label;
    args.match[slot] = c.match;
}

static __device__ void put_nothing(const struct roi_targets_args &args, size_t slot) {
    for (int k = 0; k < 4; k++)
        args.roi[4 * slot + k] = args.target[4 * slot + k] = 0;
    args.label[slot] = args.match[slot] = -1;
}

static __global__ void targets_kernel(struct roi_targets_args args) {
    __shared__ int found[2], objects, others; /* found: background, and with objects */
    const struct picture p = picture_of(args, blockIdx.x);
    int own = static_cast<int>(threadIdx.x), all = p.proposals + p.objects;
    if (own < 2)
        found[own] = 0;
    __syncthreads();
    for (int i = own; i < all; i += TARGET_THREADS) {
        p.candidates[i] = candidate_of(args, p, i);
        if (p.candidates[i].label >= 0)
            atomicAdd(&found[p.candidates[i].label > 0], 1);
    }
    __syncthreads();
    if (own == 0) {
        objects = found[1] < args.positives ? found[1] : args.positives;
        others = found[0] < args.samples - objects ? found[0] : args.samples - objects;
    }
    __syncthreads();
    for (int i = own; i < all; i += TARGET_THREADS) {
        int label = p.candidates[i].label;
        p.candidates[i].chosen =
            label >= 0 && before_in_order(p, i) < (label > 0 ? objects : others);
    }
    __syncthreads();
    size_t first = blockIdx.x * static_cast<size_t>(args.samples);
    for (int i = own; i < all; i += TARGET_THREADS) {
        bool object = p.candidates[i].label > 0;
        if (p.candidates[i].chosen)
            put(args, p, i, first + (object ? 0 : objects) + sampled_before(p, object, i));
    }
    for (int slot = objects + others + own; slot < args.samples; slot += TARGET_THREADS)
        put_nothing(args, first + slot);
}

size_t launch_roi_targets_scratch(const struct roi_targets_args *args) {
    return static_cast<size_t>(args->images) *
           (static_cast<size_t>(args->proposals) + args->objects) * sizeof(struct candidate);
}

cudaError_t launch_roi_targets(cudaStream_t stream, const struct roi_targets_args *args) {
    enqueue(targets_kernel, static_cast<unsigned>(args->images), TARGET_THREADS, stream, *args);
    return cudaPeekAtLastError();
}

/* --- rows of the mask head -------------------------------------------------------------------- */

static __device__ bool has_mask(const struct mask_rows_args &args, int slot) {
    if (args.label[slot] < 1 || args.match[slot] < 0)
        return false;
    size_t object =
        static_cast<size_t>(slot / args.picture_slots) * args.objects + args.match[slot];
    return mask_bits_given(args.at + object * MASK_FIELDS);
}

/* One block: each thread has a piece of the slots, and writes behind the pieces before it. */
static __global__ void mask_rows_kernel(struct mask_rows_args args) {
    __shared__ int count[THREADS];
    int own = static_cast<int>(threadIdx.x), piece = (args.slots + THREADS - 1) / THREADS;
    int begin = own * piece, end = begin + piece < args.slots ? begin + piece : args.slots;
    count[own] = 0;
    for (int slot = begin; slot < end; slot++)
        count[own] += has_mask(args, slot);
    __syncthreads();
    int place = 0, all = 0;
    for (int i = 0; i < THREADS; i++) {
        place += i < own ? count[i] : 0;
        all += count[i];
    }
    for (int slot = begin; slot < end; slot++) {
        if (!has_mask(args, slot))
            continue;
        if (place < args.rows) {
            args.row[place] = slot;
            args.mask_label[place] = args.label[slot];
        }
        place++;
    }
    all = all < args.rows ? all : args.rows;
    for (int row = all + own; row < args.rows; row += THREADS) {
        args.row[row] = -1;
        args.mask_label[row] = 0;
    }
    if (own == 0)
        *args.count = all;
}

cudaError_t launch_mask_rows(cudaStream_t stream, const struct mask_rows_args *args) {
    enqueue(mask_rows_kernel, 1, THREADS, stream, *args);
    return cudaPeekAtLastError();
}
