/* Sampling of the regions that the heads learn from, and of those with a mask. One thread per
 * candidate classifies it; then one block per picture selects the smallest keys of those with an
 * object and of the others, by a radix select (select.cuh), and puts them into slots by their
 * numbers. */
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/backend/cuda/kernels/detect/select.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/box.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/match.h"
#include "trainer/math/sample_key.h"

/* The choice is that of backend/ref: boxes are the proposals and after them the labelled objects;
 * each takes its best object, and those with the smallest pseudo-random keys are drawn, objects
 * first. Keys depend on the picture and the box's number alone (math/sample_key.h), so no state of
 * a generator is kept on the device.
 *
 * A candidate's order of sampling contains its number in the lower half, so the number can be read
 * back from the selected key. */

static_assert(int{ROI_SAMPLES_MAX} == int{SELECT_MAX}, "what a block sorts");

struct candidate {
    uint64_t order; /* of sampling; all different */
    int32_t label, match;
};

/* Views of one picture in the batch's tensors, made by every thread that needs it; it lives in
 * registers. */
struct picture {
    const float *box, *gt_box;
    const int32_t *gt_label, *key;
    int proposals, objects;
    struct candidate *candidates;
};

/* Counts come from other kernels and are clamped to the tensors. */
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

/* Numbers from `proposals` on are objects. */
static __device__ const float *box_of(const struct picture &p, int i) {
    return i < p.proposals ? p.box + 4 * i : p.gt_box + 4 * (i - p.proposals);
}

/* The first object of the largest overlap wins. Without objects the overlap is -1: background. */
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

/* Ignored candidates, with label -1, are of neither kind. */
static __device__ bool is_kind(const struct candidate &c, bool object) {
    return object ? c.label > 0 : c.label == 0;
}

/* The regression target of background is 0. */
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

/* Label -1 excludes the slot from all losses. */
static __device__ void put_nothing(const struct roi_targets_args &args, size_t slot) {
    for (int k = 0; k < 4; k++)
        args.roi[4 * slot + k] = args.target[4 * slot + k] = 0;
    args.label[slot] = args.match[slot] = -1;
}

/* Blocks of candidates (x) of a picture (y). Bytes moved: 16 read and 16 written per candidate;
 * objects stay in the caches. */
static __global__ void candidates_kernel(const __grid_constant__ struct roi_targets_args args) {
    const struct picture p = picture_of(args, blockIdx.y);
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < p.proposals + p.objects)
        p.candidates[i] = candidate_of(args, p, i);
}

/* At most MOST candidates of a kind, by rising number, into the slots from FIRST on. Returns how
 * many; every thread of the block gets it. */
static __device__ int sample(const struct roi_targets_args &args, const struct picture &p,
                             bool object, int most, size_t first, uint64_t *list) {
    const struct candidate *candidates = p.candidates;
    const int found = select_greatest(
        [=](int i) { return is_kind(candidates[i], object) ? ~candidates[i].order : uint64_t{0}; },
        p.proposals + p.objects, most, list);
    for (int i = static_cast<int>(threadIdx.x); i < found; i += static_cast<int>(blockDim.x))
        list[i] &= 0xffffffffu; /* its number, turned round: falling ones rise */
    __syncthreads();
    select_sort(list, found);
    for (int i = static_cast<int>(threadIdx.x); i < found; i += static_cast<int>(blockDim.x))
        put(args, p, static_cast<int>(~static_cast<uint32_t>(list[i])), first + i);
    __syncthreads();
    return found;
}

/* One block per picture. Bytes moved: 16 per candidate, a few times; 16 read and 40 written per
 * sample.
 */
static __global__ void __launch_bounds__(SELECT_THREADS, 1)
    roi_sample_kernel(const __grid_constant__ struct roi_targets_args args) {
    __shared__ uint64_t list[SELECT_MAX];
    const struct picture p = picture_of(args, blockIdx.x);
    const size_t first = blockIdx.x * static_cast<size_t>(args.samples);
    const int most = args.positives < args.samples ? args.positives : args.samples;
    const int objects = sample(args, p, true, most, first, list);
    const int others = sample(args, p, false, args.samples - objects, first + objects, list);
    for (int slot = objects + others + static_cast<int>(threadIdx.x); slot < args.samples;
         slot += static_cast<int>(blockDim.x))
        put_nothing(args, first + slot);
}

/* One candidate for each proposal and object of each picture. */
size_t launch_roi_targets_scratch(const struct roi_targets_args *args) {
    return static_cast<size_t>(args->images) *
           (static_cast<size_t>(args->proposals) + args->objects) * sizeof(struct candidate);
}

/* Matching is spread over all blocks; sampling needs all candidates of a picture in one. */
cudaError_t launch_roi_targets(cudaStream_t stream, const struct roi_targets_args *args) {
    unsigned images = static_cast<unsigned>(args->images);
    unsigned blocks =
        static_cast<unsigned>(args->proposals + args->objects + THREADS - 1) / THREADS;
    enqueue(candidates_kernel, dim3(blocks, images), THREADS, stream, *args);
    enqueue(roi_sample_kernel, images, SELECT_THREADS, stream, *args);
    return launch_status();
}

/* --- rows of the mask head -------------------------------------------------------------------- */

/* The object belongs to the slot's own picture. */
static __device__ bool has_mask(const struct mask_rows_args &args, int slot) {
    if (args.label[slot] < 1 || args.match[slot] < 0)
        return false;
    size_t object =
        static_cast<size_t>(slot / args.picture_slots) * args.objects + args.match[slot];
    return mask_bits_given(args.at + object * MASK_FIELDS);
}

enum { ROWS_THREADS = 1024, WARP = 32 };

/* One block goes over the slots once, in order, with one thread per slot. The row of a slot follows
 * the rows that the threads before it have found. Bytes moved: 8 per slot, 8 per row written. */
static __global__ void mask_rows_kernel(const __grid_constant__ struct mask_rows_args args) {
    __shared__ int count[ROWS_THREADS / WARP];
    int own = static_cast<int>(threadIdx.x), warp = own / WARP, lane = own % WARP, all = 0;
    for (int first = 0; first < args.slots; first += ROWS_THREADS) {
        int slot = first + own;
        bool has = slot < args.slots && has_mask(args, slot);
        unsigned votes = __ballot_sync(~0u, has);
        if (lane == 0)
            count[warp] = __popc(votes);
        __syncthreads();
        int place = all + __popc(votes & ((1u << lane) - 1));
        for (int i = 0; i < ROWS_THREADS / WARP; i++) {
            place += i < warp ? count[i] : 0;
            all += count[i];
        }
        if (has && place < args.rows) {
            args.row[place] = slot;
            args.mask_label[place] = args.label[slot];
        }
        __syncthreads();
    }
    all = all < args.rows ? all : args.rows;
    for (int row = all + own; row < args.rows; row += ROWS_THREADS) {
        args.row[row] = -1;
        args.mask_label[row] = 0;
    }
    if (own == 0)
        *args.count = all;
}

/* A single block: each row's place depends on all slots before it, and there are few. */
cudaError_t launch_mask_rows(cudaStream_t stream, const struct mask_rows_args *args) {
    enqueue(mask_rows_kernel, 1, ROWS_THREADS, stream, *args);
    return launch_status();
}
