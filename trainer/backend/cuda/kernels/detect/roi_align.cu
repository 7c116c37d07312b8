/* RoIAlign, one thread per bin and packet of channels, and its gradient, one block per tile of a
 * map: it gathers the contributions of all regions that reach the tile, in their order, and writes
 * each value once. */
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/backend/cuda/kernels/vec.cuh"
#include "trainer/math/roi_level.h"

/* Two launches each. The first one computes a struct roi_region for every row: the level of the
 * pyramid and both axes, so that thousands of threads need not repeat it. RoIAlign is that of He et
 * al. 2017; the arithmetic of levels and samples is that of math/roi_level.h and math/roi_axis.h,
 * compiled without contraction, so every backend reads the same pixels.
 *
 * The obvious gradient, in which regions add to the map, needs atomic additions of floats, and
 * their order changes from run to run. Gathering reads some regions more often, but gives the same
 * bits each time and writes dx once, with no pass that clears it first. */

enum { WARP = 32, TILE = 8 /* pixels a side; a warp has a row of them */ };
static_assert(THREADS == TILE * WARP, "a warp a row of the tile");

/* Image -1 stands for an empty row: a slot without a region, a row of the mask head that is not in
 * use, or a region without a label. */
static __device__ struct roi_region region_of(const struct roi_align_args &args, int r) {
    struct roi_region region = {};
    int slot = args.row != nullptr ? args.row[r] : r;
    region.image = -1;
    if (slot < 0 || (args.row == nullptr && args.label != nullptr && args.label[r] < 0))
        return region;
    const float *box = args.roi + 4 * static_cast<size_t>(slot);
    region.level = roi_level(box, args.levels, args.level_epsilon, args.level_inside, args.plus);
    const struct roi_map &map = args.map[region.level];
    region.image = slot / args.slots;
    region.y = roi_axis_between(box[1], box[3], map.scale, map.height, &args.rule);
    region.x = roi_axis_between(box[0], box[2], map.scale, map.width, &args.rule);
    return region;
}

/* Bytes moved: 16 read and a region written per row. */
static __global__ void regions_kernel(const __grid_constant__ struct roi_align_args args) {
    FOR_EACH_ITEM(r, static_cast<size_t>(args.rows))
    args.regions[r] = region_of(args, static_cast<int>(r));
}

/* Always in the stream of the kernels that read the result. */
static void find_regions(cudaStream_t stream, const struct roi_align_args *args) {
    enqueue(regions_kernel, blocks_for(static_cast<size_t>(args->rows)), THREADS, stream, *args);
}

/* --- forward ---------------------------------------------------------------------------------- */

/* sum += WEIGHT times the packet at FROM. Used for samples of a map and for gradients of other
 * readers. */
template <typename T, int W>
static __device__ __forceinline__ void add(lane<W> &sum, float weight, const T *from) {
    lane<W> value = load<T, W>(from);
#pragma unroll
    for (int i = 0; i < W; i++)
        sum.v[i] += weight * value.v[i];
}

/* The mean of all samples of bin (P, Q) for W channels from C on. Samples outside the map count as
 * 0, but count. A bin without samples is 0. */
template <typename T, int W>
static __device__ lane<W> bin_of(const struct roi_align_args &args, const struct roi_region &region,
                                 int p, int q, int c) {
    const struct roi_map &map = args.map[region.level];
    const T *values = static_cast<const T *>(map.values) + c;
    size_t first = static_cast<size_t>(region.image) * map.height;
    lane<W> sum = {};
    for (int i = 0; i < region.y.grid; i++) {
        struct bilinear_tap y;
        if (!roi_axis_sample(&region.y, p, i, &y))
            continue;
        const T *low = values + (first + y.low) * map.width * args.channels;
        const T *high = values + (first + y.high) * map.width * args.channels;
        for (int k = 0; k < region.x.grid; k++) {
            struct bilinear_tap x;
            if (!roi_axis_sample(&region.x, q, k, &x))
                continue;
            size_t left = static_cast<size_t>(x.low) * args.channels;
            size_t right = static_cast<size_t>(x.high) * args.channels;
            add<T, W>(sum, (1 - y.fraction) * (1 - x.fraction), low + left);
            add<T, W>(sum, (1 - y.fraction) * x.fraction, low + right);
            add<T, W>(sum, y.fraction * (1 - x.fraction), high + left);
            add<T, W>(sum, y.fraction * x.fraction, high + right);
        }
    }
    float count = static_cast<float>(region.y.grid) * static_cast<float>(region.x.grid);
#pragma unroll
    for (int i = 0; i < W; i++)
        sum.v[i] = count > 0 ? sum.v[i] / count : 0.0f;
    return sum;
}

/* Bytes moved: the regions' bins once; of the maps what lies under regions (these overlap in the
 * caches). Neighbouring threads have neighbouring channels of one bin. */
template <typename T, int W>
static __global__ void align_kernel(const __grid_constant__ struct roi_align_args args) {
    int bins = args.rule.bins, groups = args.channels / W;
    size_t count = static_cast<size_t>(args.rows) * bins * bins * groups;
    FOR_EACH_ITEM(item, count) {
        size_t bin = item / groups;
        int c = static_cast<int>(item % groups) * W;
        const struct roi_region &region = args.regions[bin / (static_cast<size_t>(bins) * bins)];
        lane<W> value = {};
        if (region.image >= 0)
            value = bin_of<T, W>(args, region, static_cast<int>(bin / bins % bins),
                                 static_cast<int>(bin % bins), c);
        store<T, W>(static_cast<T *>(args.bins) + bin * args.channels + c, value);
    }
}

/* The width of packets follows from the number of channels. */
cudaError_t launch_roi_align(cudaStream_t stream, enum dtype type,
                             const struct roi_align_args *args) {
    find_regions(stream, args);
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        size_t items = static_cast<size_t>(args->rows) * args->rule.bins * args->rule.bins *
                       (args->channels / W);
        enqueue(align_kernel<T, W>, blocks_for(items), THREADS, stream, *args);
        return launch_status();
    });
}

/* --- gradient --------------------------------------------------------------------------------- */

/* A tile of TILE x TILE pixels of one picture's map. */
struct pixel_tile {
    int image, level, y, x; /* its first pixel */
};

/* The last tile of a row or column may extend beyond the map. */
static __host__ __device__ int tiles_of(int pixels) {
    return (pixels + TILE - 1) / TILE;
}

/* For all pictures of the batch; used by the host for the grid and by blocks to find their tile. */
static __host__ __device__ unsigned tiles_of_level(const struct roi_align_args &args, int level) {
    return static_cast<unsigned>(args.images) * tiles_of(args.map[level].height) *
           tiles_of(args.map[level].width);
}

/* Tiles are numbered level by level, large maps first. */
static __device__ struct pixel_tile tile_of(const struct roi_align_args &args, unsigned number) {
    struct pixel_tile t = {};
    while (number >= tiles_of_level(args, t.level))
        number -= tiles_of_level(args, t.level++);
    unsigned columns = tiles_of(args.map[t.level].width);
    unsigned rows = tiles_of(args.map[t.level].height);
    t.x = static_cast<int>(number % columns) * TILE;
    t.y = static_cast<int>(number / columns % rows) * TILE;
    t.image = static_cast<int>(number / columns / rows);
    return t;
}

/* A region's weights for one tile: those of the tile's rows and columns in its bins. */
struct tile_weights {
    float y[TILE][LAUNCH_BINS_MAX], x[LAUNCH_BINS_MAX][TILE];
};

/* Weights are separable: a pixel's weight in a bin is the product of both axes' weights. Each block
 * computes them for its eight rows and columns. */
static __device__ void find_weights(const struct roi_region &region, const struct pixel_tile &t,
                                    int bins, struct tile_weights *w) {
    for (int i = static_cast<int>(threadIdx.x); i < TILE * bins; i += THREADS) {
        int pixel = i % TILE, bin = i / TILE;
        w->y[pixel][bin] = roi_axis_weight(&region.y, bin, t.y + pixel);
        w->x[bin][pixel] = roi_axis_weight(&region.x, bin, t.x + pixel);
    }
}

/* Numbers, in order, of the regions among rows [first, first + THREADS) that may reach the tile. It
 * is refilled for each portion of THREADS rows. */
struct list {
    int count[THREADS / WARP];
    int row[THREADS];
};

/* The order is kept by counting: a thread's place is the number of hits in the warps and lanes
 * before it. All threads of the block must call it; it returns the number of hits to each. */
static __device__ int find_rows(const struct roi_align_args &args, const struct pixel_tile &t,
                                int first, int end, struct list *list) {
    int r = first + static_cast<int>(threadIdx.x);
    int warp = static_cast<int>(threadIdx.x) / WARP, lane = static_cast<int>(threadIdx.x) % WARP;
    bool hit = false;
    if (r < end) {
        const struct roi_region &region = args.regions[r];
        hit = region.image == t.image && region.level == t.level &&
              roi_axis_reaches(&region.y, args.rule.bins, t.y, t.y + TILE) &&
              roi_axis_reaches(&region.x, args.rule.bins, t.x, t.x + TILE);
    }
    unsigned votes = __ballot_sync(~0u, hit);
    if (lane == 0)
        list->count[warp] = __popc(votes);
    __syncthreads();
    int place = 0, all = 0;
    for (int i = 0; i < THREADS / WARP; i++) {
        place += i < warp ? list->count[i] : 0;
        all += list->count[i];
    }
    if (hit)
        list->row[place + __popc(votes & ((1u << lane) - 1))] = r;
    __syncthreads();
    return all;
}

/* Adds the contribution of region R to this warp's row of the tile. Bins that no pixel of the row
 * reaches are skipped before they are read. */
template <typename T, int W>
static __device__ void add_region(const struct roi_align_args &args, const struct tile_weights &w,
                                  int r, int c, lane<W> sum[TILE]) {
    int bins = args.rule.bins, line = static_cast<int>(threadIdx.x) / WARP;
    const T *dy = static_cast<const T *>(args.bins) +
                  static_cast<size_t>(r) * bins * bins * args.channels + c;
    for (int p = 0; p < bins; p++) {
        float along_y = w.y[line][p];
        if (along_y == 0)
            continue;
        for (int q = 0; q < bins; q++) {
            float any = 0;
#pragma unroll
            for (int k = 0; k < TILE; k++)
                any += w.x[q][k];
            if (any == 0)
                continue;
            lane<W> value = load<T, W>(dy + (static_cast<size_t>(p) * bins + q) * args.channels);
#pragma unroll
            for (int k = 0; k < TILE; k++)
#pragma unroll
                for (int i = 0; i < W; i++)
                    sum[k].v[i] += along_y * w.x[q][k] * value.v[i];
        }
    }
}

/* Bytes moved: the maps' gradients written once, and read once where there were some before; the
 * regions' bins once (tiles that share one meet in the caches). Regions are looked through in
 * portions of THREADS: each thread tests one, and the block then adds those that reach the tile, in
 * order. With slots per picture only the picture's own are tested. */
template <typename T, int W>
static __global__ void align_grad_kernel(const __grid_constant__ struct roi_align_args args) {
    __shared__ struct tile_weights weights;
    __shared__ struct list list;
    const struct pixel_tile t = tile_of(args, blockIdx.x);
    const struct roi_map &map = args.map[t.level];
    int c = (static_cast<int>(blockIdx.y) * WARP + static_cast<int>(threadIdx.x) % WARP) * W;
    int begin = args.row == nullptr ? t.image * args.slots : 0;
    int end = args.row == nullptr ? begin + args.slots : args.rows;
    lane<W> sum[TILE] = {};
    for (; begin < end; begin += THREADS) {
        int count = find_rows(args, t, begin, end, &list);
        for (int i = 0; i < count; i++) {
            int r = list.row[i];
            find_weights(args.regions[r], t, args.rule.bins, &weights);
            __syncthreads();
            if (c < args.channels)
                add_region<T, W>(args, weights, r, c, sum);
            __syncthreads();
        }
    }
    int y = t.y + static_cast<int>(threadIdx.x) / WARP;
    size_t line = (static_cast<size_t>(t.image) * map.height + y) * map.width;
    for (int k = 0; k < TILE; k++) {
        if (c >= args.channels || y >= map.height || t.x + k >= map.width)
            continue;
        const size_t at = (line + t.x + k) * args.channels + c;
        if (map.before != nullptr)
            add<T, W>(sum[k], 1, static_cast<const T *>(map.before) + at);
        store<T, W>(static_cast<T *>(map.values) + at, sum[k]);
    }
}

/* A warp covers WARP packets of channels; more of them are further blocks (y) of the same tile.
 * Every tile of every level is written, with zeros where no region reaches. */
cudaError_t launch_roi_align_grad(cudaStream_t stream, enum dtype type,
                                  const struct roi_align_args *args) {
    unsigned tiles = 0;
    for (int l = 0; l < args->levels; l++)
        tiles += tiles_of_level(*args, l);
    find_regions(stream, args);
    return with_packets(type, static_cast<size_t>(args->channels), [=](auto tag, auto width) {
        using T = typename decltype(tag)::type;
        constexpr int W = decltype(width)::value;
        unsigned groups = static_cast<unsigned>(args->channels + WARP * W - 1) / (WARP * W);
        enqueue(align_grad_kernel<T, W>, dim3(tiles, groups), THREADS, stream, *args);
        return launch_status();
    });
}
