/* Greedy non-maximum suppression without the host: candidates are sorted, then every pair of tiles
 * of 64 computes one bit per pair of candidates, set if they overlap too much, and at last one warp
 * for each level of a picture goes through the sorted candidates and removes those with a bit in
 * the row of a kept one. */
#include "trainer/backend/cuda/kernels/detect/launch_rpn.h"
#include "trainer/backend/cuda/kernels/detect/select.cuh"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/rank.h"

#include <math.h>
#include <vector_functions.h>

enum { TILE = 64, WORDS = SELECT_MAX / TILE };
static_assert(int{WORDS} == 32, "a lane of the walking warp keeps one word");

/* A level of a picture, in scratch. */
struct nms_group {
    int count;             /* candidates that are some */
    int place[SELECT_MAX]; /* in order */
    float4 box[SELECT_MAX];
    unsigned long long overlaps[SELECT_MAX][WORDS]; /* bit k of word w: with candidate 64 w + k */
};

/* More than half a megabyte for each level of each picture: the bits of SELECT_MAX rows. */
size_t launch_nms_scratch(const struct detect_candidates *places, int pictures) {
    return sizeof(struct nms_group) * static_cast<size_t>(places->levels) *
           static_cast<size_t>(pictures);
}

static __device__ __forceinline__ struct nms_group *group_of(const struct nms_args &args,
                                                             unsigned number) {
    return static_cast<struct nms_group *>(args.scratch) + number;
}

/* The first place of group NUMBER among all candidates of the batch; RET_COUNT: how many it has. */
static __device__ __forceinline__ size_t first_of(const struct nms_args &args, unsigned number,
                                                  int *ret_count) {
    const int levels = args.places.levels, level = static_cast<int>(number) % levels;
    *ret_count = args.places.first[level + 1] - args.places.first[level];
    return static_cast<size_t>(static_cast<int>(number) / levels) * args.places.first[levels] +
           args.places.first[level];
}

/* One block per group. Bytes moved: 4 read and 4 written per candidate, 16 read and 20 written per
 * real one. */
static __global__ void __launch_bounds__(SELECT_THREADS, 1)
    order_kernel(const __grid_constant__ struct nms_args args) {
    __shared__ uint64_t list[SELECT_MAX];
    struct nms_group *group = group_of(args, blockIdx.x);
    int count;
    const size_t first = first_of(args, blockIdx.x, &count);
    const float *score = args.score + first;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
        args.keep[first + i] = 0;
    int found = select_greatest(
        [=](int i) { return score[i] > -INFINITY ? rank_of(score[i], i) : uint64_t{0}; }, count,
        SELECT_MAX, list);
    for (int i = static_cast<int>(threadIdx.x); i < found; i += static_cast<int>(blockDim.x)) {
        const int place = rank_place(list[i]);
        group->place[i] = place;
        group->box[i] = reinterpret_cast<const float4 *>(args.box)[first + place];
    }
    if (threadIdx.x == 0)
        group->count = found;
}

static __device__ __forceinline__ void unpack(const float4 &from, float to[4]) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
    to[3] = from.w;
}

/* A block for a tile of columns (x) by one of rows (y) of a group (z); a thread a row. Tiles below
 * the diagonal are never read. Bytes moved: 16 per candidate and tile of 64, 8 per row of a tile
 * written. */
static __global__ void overlap_kernel(const __grid_constant__ struct nms_args args) {
    __shared__ float columns[TILE][4];
    struct nms_group *group = group_of(args, blockIdx.z);
    const int row = static_cast<int>(blockIdx.y * TILE + threadIdx.x);
    const int first = static_cast<int>(blockIdx.x) * TILE;
    const int count = group->count;
    if (blockIdx.x < blockIdx.y || first >= count ||
        static_cast<int>(blockIdx.y) * TILE >= count) /* the whole block */
        return;
    if (first + static_cast<int>(threadIdx.x) < count)
        unpack(group->box[first + threadIdx.x], columns[threadIdx.x]);
    __syncthreads();
    if (row >= count)
        return;
    float box[4];
    unpack(group->box[row], box);
    const float area = box_area(box, args.plus);
    const int end = count - first < TILE ? count - first : TILE;
    unsigned long long bits = 0;
    for (int k = row < first ? 0 : row - first + 1; k < end; k++) {
        const float other = box_area(columns[k], args.plus);
        if (box_iou_of_areas(box, area, columns[k], other, args.plus) > args.threshold)
            bits |= 1ull << k;
    }
    group->overlaps[row][blockIdx.x] = bits;
}

/* Which of the candidates in the 64 bits of DIAGONAL are kept, in order: lane l has the rows l and
 * l + 32. STRUCK: those that are out already. The loop is the part that cannot be parallel: whether
 * a candidate is kept depends on all before it. A tile of 64 keeps it short. */
static __device__ __forceinline__ unsigned long long
walk_tile(unsigned long long low, unsigned long long high, unsigned long long struck, int count) {
    unsigned long long kept = 0;
    for (int i = 0; i < count; i++) {
        const unsigned long long row = __shfl_sync(~0u, i < 32 ? low : high, i % 32);
        if ((struck >> i & 1) == 0) {
            kept |= 1ull << i;
            struck |= row;
        }
    }
    return kept;
}

/* One warp per group; each lane keeps one word of the removed candidates. Bytes moved: 8 per row of
 * a tile above the diagonal, 4 per candidate written. */
static __global__ void walk_kernel(const __grid_constant__ struct nms_args args) {
    const struct nms_group *group = group_of(args, blockIdx.x);
    const int lane = static_cast<int>(threadIdx.x), count = group->count;
    int all;
    const size_t first = first_of(args, blockIdx.x, &all);
    unsigned long long struck = 0;
    for (int tile = 0; tile * TILE < count; tile++) {
        const int here = count - tile * TILE < TILE ? count - tile * TILE : TILE;
        const int row = tile * TILE + lane;
        const unsigned long long low = lane < here ? group->overlaps[row][tile] : 0;
        const unsigned long long high = lane + 32 < here ? group->overlaps[row + 32][tile] : 0;
        const unsigned long long kept = walk_tile(low, high, __shfl_sync(~0u, struck, tile), here);
        if (lane > tile && lane * TILE < count) {
#pragma unroll 8
            for (int i = 0; i < here;
                 i++) { /* read whether kept or not: no load waits for another */
                const unsigned long long bits = group->overlaps[tile * TILE + i][lane];
                struck |= (kept >> i & 1) != 0 ? bits : 0;
            }
        }
        for (int i = lane; i < here; i += 32)
            args.keep[first + group->place[tile * TILE + i]] = static_cast<int>(kept >> i & 1);
    }
}

/* The grid of tiles is that of the largest level; blocks past a level's candidates leave at
 * once. */
cudaError_t launch_nms(cudaStream_t stream, const struct nms_args *args) {
    unsigned groups = static_cast<unsigned>(args->places.levels * args->pictures), tiles = 0;
    for (int i = 0; i < args->places.levels; i++) {
        unsigned own = static_cast<unsigned>(args->places.first[i + 1] - args->places.first[i]);
        tiles = (own + TILE - 1) / TILE > tiles ? (own + TILE - 1) / TILE : tiles;
    }
    enqueue(order_kernel, groups, SELECT_THREADS, stream, *args);
    enqueue(overlap_kernel, dim3(tiles, tiles, groups), TILE, stream, *args);
    enqueue(walk_kernel, groups, 32, stream, *args);
    return launch_status();
}
