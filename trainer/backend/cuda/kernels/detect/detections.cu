/* Detections of a picture. One thread per proposal finds candidates; then one block per picture
 * takes the best candidate and removes those of its class that it overlaps, until none is left or
 * all slots are full. Candidates lie in no fixed order: their ranks, all different, decide. */
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/box.h"
#include "trainer/math/detect_score.h"
#include "trainer/math/image_size.h"
#include "trainer/math/match.h"
#include "trainer/math/rank.h"

/* The result is that of a sort followed by greedy suppression, as on the host: the best remaining
 * candidate is always the next one kept. A scan of all candidates for each detection replaces a
 * sort and a matrix of overlaps; few candidates pass the threshold, and they stay in the L2
 * cache. */

struct candidate {
    unsigned long long rank; /* 0: struck out */
    float box[4], score;
    int32_t label;
};

/* The scratch: how many candidates each picture has, then the candidates. Both follow from the
 * arguments, on the host and the device. */
struct candidate_room {
    size_t counts, each; /* bytes, and candidates of a picture */
};

/* `each` is the most that can pass the threshold, as the probabilities of a proposal sum to 1
 * (detect_likely). The counts are padded, so that candidates are aligned. */
static __host__ __device__ struct candidate_room room_of(const struct detections_args &args) {
    struct candidate_room room;
    room.counts = (static_cast<size_t>(args.images) * sizeof(int) + 63) / 64 * 64;
    room.each =
        static_cast<size_t>(args.proposals) * detect_likely(args.score_threshold, args.classes);
    return room;
}

/* A count may exceed the room: writers check it and readers clamp it. */
static __device__ int *counts_of(const struct detections_args &args) {
    return static_cast<int *>(args.scratch);
}

/* Those of picture N, in the order in which threads found them. */
static __device__ struct candidate *candidates_of(const struct detections_args &args, size_t n) {
    const struct candidate_room room = room_of(args);
    char *first = static_cast<char *>(args.scratch) + room.counts;
    return reinterpret_cast<struct candidate *>(first) + n * room.each;
}

/* Bytes moved: 4 per picture. */
static __global__ void
detections_clear_kernel(const __grid_constant__ struct detections_args args) {
    FOR_EACH_ITEM(n, static_cast<size_t>(args.images))
    counts_of(args)[n] = 0;
}

/* Fills in the candidate C of a row and class. Returns false if its box is too small. The rank
 * contains the number that breaks ties: proposal by proposal, class by class. */
static __device__ bool candidate_of(const struct detections_args &args, size_t row, int label,
                                    float score, struct candidate *c) {
    const int32_t *size = args.size + row / args.proposals * IMAGE_SIZE_FIELDS;
    box_decode(args.box + 4 * row, args.deltas + 4 * (row * args.classes + label), args.coder,
               args.plus, c->box);
    box_clip(c->box, static_cast<float>(size[IMAGE_SIZE_H]), static_cast<float>(size[IMAGE_SIZE_W]),
             args.plus);
    c->score = score;
    c->label = label;
    c->rank =
        rank_of(score, static_cast<int>(row % args.proposals) * (args.classes - 1) + label - 1);
    return box_is_large(c->box, args.plus, args.min_side, args.side_above);
}

/* Bytes moved: 4 per logit, 16 per proposal, 16 read and 32 written per candidate. */
static __global__ void find_kernel(const __grid_constant__ struct detections_args args) {
    const struct candidate_room room = room_of(args);
    FOR_EACH_ITEM(row, static_cast<size_t>(args.images) * args.proposals) {
        size_t n = row / args.proposals;
        if (static_cast<int>(row % args.proposals) >= match_count(args.count[n], args.proposals))
            continue;
        const float *logits = args.logits + row * args.classes;
        struct detect_softmax s = detect_softmax(logits, args.classes);
        for (int k = 1; k < args.classes; k++) {
            struct candidate c;
            float score = detect_probability(&s, logits[k]);
            if (!(score > args.score_threshold) || !candidate_of(args, row, k, score, &c))
                continue;
            size_t place = static_cast<size_t>(atomicAdd(&counts_of(args)[n], 1));
            if (place < room.each)
                candidates_of(args, n)[place] = c;
        }
    }
}

enum { CHOOSE_THREADS = 1024, WARP = 32, WARPS = CHOOSE_THREADS / WARP };

/* The greatest of all threads' values. Two rounds of exchanges: within each warp, then among the
 * warps' results. Every thread returns the same value. */
static __device__ unsigned long long best_of_block(unsigned long long value) {
    __shared__ unsigned long long warps[WARPS];
    const int warp = static_cast<int>(threadIdx.x) / WARP;
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    for (int step = 0; step < 2; step++) {
        for (int k = WARP / 2; k > 0; k /= 2) {
            const unsigned long long other = __shfl_xor_sync(~0u, value, k);
            value = other > value ? other : value;
        }
        if (step == 0) {
            __syncthreads(); /* all have read what was there */
            if (lane == 0)
                warps[warp] = value;
            __syncthreads();
            value = warps[lane];
        }
    }
    return value;
}
static_assert(int{WARPS} == int{WARP}, "a warp reads what all warps have found");

/* Removes those of a thread's candidates that BEST suppresses, and finds the greatest rank among
 * the others; *RET_PLACE is the place of that one. BEST is the detection found last; in the first
 * round its label matches no candidate. Suppression and the search for the next one share a
 * pass. */
static __device__ unsigned long long look_through(const struct detections_args &args,
                                                  struct candidate *candidates, int count,
                                                  const struct candidate &best, int *ret_place) {
    unsigned long long rank = 0;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += CHOOSE_THREADS) {
        struct candidate &c = candidates[i];
        if (c.rank == 0)
            continue;
        if (c.rank == best.rank ||
            (c.label == best.label && box_iou(best.box, c.box, args.plus) > args.nms_threshold)) {
            c.rank = 0;
        } else if (c.rank > rank) {
            rank = c.rank;
            *ret_place = i;
        }
    }
    return rank;
}

/* One block per picture, which scans the candidates once for each detection. Bytes moved: 32
 * per candidate, for each that is found; they stay in L2. */
static __global__ void choose_kernel(const __grid_constant__ struct detections_args args) {
    __shared__ struct candidate best;
    size_t n = blockIdx.x, first = n * args.found, each = room_of(args).each;
    struct candidate *candidates = candidates_of(args, n);
    int own = static_cast<int>(threadIdx.x), found = 0, place = 0;
    int count = match_count(counts_of(args)[n], static_cast<int>(each));
    if (own == 0) {
        best.rank = 0;
        best.label = -1; /* no candidate's */
    }
    __syncthreads();
    for (; found < args.found; found++) {
        const unsigned long long mine = look_through(args, candidates, count, best, &place);
        const unsigned long long rank = best_of_block(mine);
        if (rank == 0)
            break;
        if (mine == rank)
            best = candidates[place];
        __syncthreads();
        if (own < 4)
            args.found_box[4 * (first + found) + own] = best.box[own];
        if (own == 0) {
            args.found_score[first + found] = best.score;
            args.found_label[first + found] = best.label;
        }
    }
    for (int i = found + own; i < args.found; i += CHOOSE_THREADS) {
        for (int k = 0; k < 4; k++)
            args.found_box[4 * (first + i) + k] = 0;
        args.found_score[first + i] = 0;
        args.found_label[first + i] = -1;
    }
    if (own == 0)
        args.found_count[n] = found;
}

/* Called by the host when the operator is queried. */
size_t launch_detections_scratch(const struct detections_args *args) {
    const struct candidate_room room = room_of(*args);
    return room.counts + static_cast<size_t>(args->images) * room.each * sizeof(struct candidate);
}

/* Counts are cleared first, because threads of all blocks add to them. */
cudaError_t launch_detections(cudaStream_t stream, const struct detections_args *args) {
    enqueue(detections_clear_kernel, blocks_for(static_cast<size_t>(args->images)), THREADS, stream,
            *args);
    enqueue(find_kernel, blocks_for(static_cast<size_t>(args->images) * args->proposals), THREADS,
            stream, *args);
    enqueue(choose_kernel, static_cast<unsigned>(args->images), CHOOSE_THREADS, stream, *args);
    return launch_status();
}
