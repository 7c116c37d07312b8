/* RoIAlign and its gradient: weights of pixels are computed once per region and axis, channels are
 * vectorized. The forward pass gives regions to threads; the gradient gives bands of a map's rows,
 * each of which visits all regions in order, so that no two threads add to the same value and
 * results do not depend on their number. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/detect/roi_table.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/roi_level.h"

/* RoIAlign (He et al. 2017) takes bilinear samples in each bin and averages them. Since sampling
 * points form a grid, a bin's weights are a product of weights along y and along x. roi_table.c
 * adds up each axis's weights by pixel, so every pixel is read once, however many points use it.
 *
 * Which level of the pyramid a region reads follows from its size (math/roi_level.h). All regions
 * are located first, in parallel, because the gradient's bands ask for all of them again and
 * again. */

enum { BAND = 8 /* rows of a map that are one piece of work */ };

struct map {
    size_t height, width;
    void *values;       /* of all pictures */
    const void *before; /* of a gradient: summand, or NULL */
    float scale;
};

/* A region: its location on its map. Image -1: an empty row. */
struct region {
    int32_t image, level;
    struct roi_axis y, x;
};

struct align_op {
    struct cpu_step step;
    struct detect_attr detect;
    struct roi_rule rule;
    enum elem elem;
    size_t images, slots, rows, channels, table_size;
    struct map map[ROI_LEVELS_MAX];
    const float *roi;
    const int32_t *label, *row;
    void *bins;             /* y, or dy */
    struct region *regions; /* in scratch */
    char *tables;           /* two for each thread */
    float *bands;           /* bf16: BAND rows of the widest map in f32, for each thread */
    size_t band_bytes;
};

/* Returns the longest side of a map. Level 0 is the finest level that a detector has. */
static size_t widest(const struct detect_attr *d) {
    int height = detect_cells(d->canvas_h, 0), width = detect_cells(d->canvas_w, 0);
    return (size_t)(height > width ? height : width);
}

/* The sampling rule of the heads: bins a side, sampling points a bin (0: as many as fit), and
 * whether boxes are shifted by half a pixel. */
static struct roi_rule rule_of(const struct detect_attr *d) {
    return (struct roi_rule){.bins = d->pooled,
                             .sampling = d->sampling,
                             .aligned = (d->flags & DETECT_ROI_ALIGNED) != 0};
}

/* Both operators share one bound struct; this is asked at query and bind alone. */
static bool is_gradient(const struct op *op) {
    return op->kind == OP_ROI_ALIGN_GRAD;
}

/* The tensor with one row of bins for each region: the result, or the gradient of it. */
static const struct tensor *bins_of(const struct graph *graph, const struct op *op) {
    return is_gradient(op) ? cpu_input(graph, op, ROI_ALIGN_GRAD_DY)
                           : cpu_output(graph, op, ROI_ALIGN_Y);
}

/* Sizes of the kinds of scratch, in order. */
struct scratch_sizes {
    size_t regions, tables, bands;
};

/* The bands of f32 sums exist only for bf16 gradients: sums of many regions in bf16 would lose
 * their small terms. */
static struct scratch_sizes sizes_of(const struct cpu *cpu, const struct graph *graph,
                                     const struct op *op) {
    const struct detect_attr *d = &op->attr.detect;
    const struct tensor *bins = bins_of(graph, op);
    struct roi_rule rule = rule_of(d);
    size_t threads = (size_t)cpu->threads;
    struct scratch_sizes s = {0};
    s.regions = backend_aligned((size_t)bins->shape.dim[0] * sizeof(struct region));
    s.tables = 2 * threads * roi_table_bytes(&rule, widest(d));
    if (is_gradient(op) && bins->dtype == DTYPE_BF16)
        s.bands = threads *
                  backend_aligned(BAND * widest(d) * (size_t)bins->shape.dim[3] * sizeof(float));
    return s;
}

/* Gradients may add in place to those of other readers of the maps; begin_band() takes care of
 * that. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct scratch_sizes s = sizes_of(cpu, graph, op);
    ret_needs->scratch = s.regions + s.tables + s.bands;
    ret_needs->in_place = true;
    return 0;
}

/* An empty slot, an unused row, or a region without a label (in the box head) has image -1 and is
 * skipped. `row`, where given, selects the regions of the mask head. */
static void find_region(const struct align_op *op, size_t r) {
    const struct detect_attr *d = &op->detect;
    struct region *region = &op->regions[r];
    int32_t slot = op->row != NULL ? op->row[r] : (int32_t)r;
    region->image = -1;
    if (slot < 0 || (op->row == NULL && op->label != NULL && op->label[r] < 0))
        return;
    const float *box = op->roi + 4 * (size_t)slot;
    int level = roi_level(box, d->levels, d->level_epsilon, (d->flags & DETECT_LEVEL_INSIDE) != 0,
                          detect_plus(d));
    const struct map *map = &op->map[level];
    region->image = slot / (int32_t)op->slots;
    region->level = level;
    region->y = roi_axis_between(box[1], box[3], map->scale, (int32_t)map->height, &op->rule);
    region->x = roi_axis_between(box[0], box[2], map->scale, (int32_t)map->width, &op->rule);
}

/* No two threads write the same region, and later steps only read them. */
static void find_regions(void *context, struct share share) {
    const struct align_op *op = context;
    size_t begin, end;
    share_range(share, op->rows, 1, &begin, &end);
    for (size_t r = begin; r < end; r++)
        find_region(op, r);
}

/* Two tables for THREAD, along y and x; they are rebuilt for each region. */
static void own_tables(const struct align_op *op, int thread, struct roi_table *y,
                       struct roi_table *x) {
    size_t bytes = roi_table_bytes(&op->rule, op->table_size);
    char *memory = op->tables + 2 * (size_t)thread * bytes;
    *y = roi_table_in(memory, &op->rule, op->table_size);
    *x = roi_table_in(memory + bytes, &op->rule, op->table_size);
}

/* Values of one region: bins * bins * channels. */
static size_t bins_size(const struct align_op *op) {
    return (size_t)(op->rule.bins * op->rule.bins) * op->channels;
}

/* --- forward ---------------------------------------------------------------------------------- */

/* Writes all bins of region R; zeros if there is none. */
static void align_row(void *context, int thread, size_t r) {
    const struct align_op *op = context;
    const struct region *region = &op->regions[r];
    char *to = (char *)op->bins + r * bins_size(op) * elem_size(op->elem);
    struct roi_table y, x;
    if (region->image < 0) {
        memset(to, 0, bins_size(op) * elem_size(op->elem));
        return;
    }
    const struct map *map = &op->map[region->level];
    size_t line = map->width * op->channels, picture = map->height * line;
    own_tables(op, thread, &y, &x);
    roi_table_bins(&y, &region->y, op->rule.bins);
    roi_table_bins(&x, &region->x, op->rule.bins);
    struct blend blend = {.from_elem = op->elem,
                          .to_elem = op->elem,
                          .channels = op->channels,
                          .from = (const char *)map->values +
                                  (size_t)region->image * picture * elem_size(op->elem),
                          .from_row = line,
                          .to_row = (size_t)op->rule.bins * op->channels,
                          .y = y.axis,
                          .x = x.axis,
                          .to = to};
    op->step.cpu->loops->blend(&blend);
}

/* Regions are located before any is read, and then taken by threads as they become free. */
static int run_forward(void *context, struct error *err) {
    (void)err;
    struct align_op *op = context;
    parallel_run(op->step.cpu->threads, find_regions, op);
    parallel_units(op->step.cpu->threads, op->rows, align_row, op);
    return 0;
}

/* --- gradient --------------------------------------------------------------------------------- */

/* Rows [begin, end) of one picture's map of one level. */
struct band {
    int32_t image, level;
    int32_t begin, end;
};

/* Bands of one picture at this level, of which the last may be lower. */
static size_t bands_of(const struct map *map) {
    return cpu_divided(map->height, BAND);
}

/* Units are numbered level by level, then picture by picture: large maps come first, so that the
 * threads end at about the same time. */
static struct band band_at(const struct align_op *op, size_t unit) {
    struct band band = {0};
    while (unit >= op->images * bands_of(&op->map[band.level]))
        unit -= op->images * bands_of(&op->map[band.level++]);
    const struct map *map = &op->map[band.level];
    size_t begin = unit % bands_of(map) * BAND;
    band.image = (int32_t)(unit / bands_of(map));
    band.begin = (int32_t)begin;
    band.end = (int32_t)(begin + BAND < map->height ? begin + BAND : map->height);
    return band;
}

/* A cheap test on rows, which rules out most regions before their tables are made. */
static bool reaches(const struct align_op *op, const struct region *region,
                    const struct band *band) {
    return region->image == band->image && region->level == band->level &&
           roi_axis_reaches(&region->y, op->rule.bins, band->begin, band->end);
}

/* Adds the bins' gradients times the transposed weights to the band. The list of pixels is cut at
 * the band along y, and covers the whole map along x. */
static void add_region(const struct align_op *op, const struct band *band, size_t r,
                       struct roi_table *y, struct roi_table *x, void *to, enum elem to_elem) {
    const struct region *region = &op->regions[r];
    const struct map *map = &op->map[band->level];
    roi_table_pixels(y, &region->y, op->rule.bins, band->begin, band->end);
    if (y->axis.count == 0)
        return;
    roi_table_pixels(x, &region->x, op->rule.bins, 0, (int32_t)map->width);
    struct blend blend = {.from_elem = op->elem,
                          .to_elem = to_elem,
                          .channels = op->channels,
                          .from = (const char *)op->bins + r * bins_size(op) * elem_size(op->elem),
                          .from_row = (size_t)op->rule.bins * op->channels,
                          .to_row = map->width * op->channels,
                          .y = y->axis,
                          .x = x->axis,
                          .add = true,
                          .to = to};
    op->step.cpu->loops->blend(&blend);
}

/* SUMS begin as the gradients from other readers, which may be at the result's address. */
static void begin_band(const struct align_op *op, const void *before, size_t first, size_t count,
                       float *sums) {
    const char *from = (const char *)before + (before == NULL ? 0 : first * elem_size(op->elem));
    if (before == NULL)
        memset(sums, 0, count * sizeof(float));
    else if (op->elem == ELEM_BF16)
        op->step.cpu->loops->widen(from, sums, 0, count);
    else if (from != (const char *)sums)
        memcpy(sums, from, count * sizeof(float));
}

/* f32 sums are made in the result itself, bf16 ones in the thread's memory and rounded once at the
 * end. */
static void fill_band(void *context, int thread, size_t unit) {
    const struct align_op *op = context;
    struct band band = band_at(op, unit);
    const struct map *map = &op->map[band.level];
    size_t line = map->width * op->channels, count = (size_t)(band.end - band.begin) * line;
    size_t first = ((size_t)band.image * map->height + (size_t)band.begin) * line;
    void *result = (char *)map->values + first * elem_size(op->elem);
    bool half = op->elem == ELEM_BF16;
    float *sums =
        half ? (float *)(void *)((char *)op->bands + (size_t)thread * op->band_bytes) : result;
    struct roi_table y, x;
    own_tables(op, thread, &y, &x);
    begin_band(op, map->before, first, count, sums);
    for (size_t r = 0; r < op->rows; r++)
        if (reaches(op, &op->regions[r], &band))
            add_region(op, &band, r, &y, &x, sums, ELEM_F32);
    if (half)
        op->step.cpu->loops->narrow(sums, result, 0, count);
}

/* Every band writes its part of dx, whether a region reaches it or not. Levels are summed here, as
 * each has its own number of bands. */
static int run_gradient(void *context, struct error *err) {
    (void)err;
    struct align_op *op = context;
    size_t units = 0;
    for (int l = 0; l < op->detect.levels; l++)
        units += op->images * bands_of(&op->map[l]);
    parallel_run(op->step.cpu->threads, find_regions, op);
    parallel_units(op->step.cpu->threads, units, fill_band, op);
    return 0;
}

/* --- binding ---------------------------------------------------------------------------------- */

/* Maps have the sizes of the canvas divided by each level's stride, whatever the pictures in them
 * have. */
static void set_maps(struct align_op *bound, const void *const *before, void *const *values) {
    const struct detect_attr *d = &bound->detect;
    for (int l = 0; l < d->levels; l++)
        bound->map[l] = (struct map){.height = (size_t)detect_cells(d->canvas_h, l),
                                     .width = (size_t)detect_cells(d->canvas_w, l),
                                     .values = values[l],
                                     .before = before[l],
                                     .scale = 1.0f / (float)detect_cell(l)};
}

/* Label and row are optional inputs that follow the regions in both operators' slots. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    bool gradient = is_gradient(op);
    int roi = gradient ? ROI_ALIGN_GRAD_ROI : ROI_ALIGN_ROI;
    const void *before[ROI_LEVELS_MAX] = {0};
    struct align_op *bound = cpu_step_new(cpu, sizeof *bound, gradient ? run_gradient : run_forward,
                                          NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *bins = bins_of(graph, op);
    struct scratch_sizes sizes = sizes_of(cpu, graph, op);
    bound->detect = op->attr.detect;
    bound->rule = rule_of(&bound->detect);
    bound->elem = cpu_elem(bins->dtype);
    bound->images = (size_t)cpu_input(graph, op, roi)->shape.dim[0];
    bound->slots = (size_t)cpu_input(graph, op, roi)->shape.dim[1];
    bound->rows = (size_t)bins->shape.dim[0];
    bound->channels = (size_t)bins->shape.dim[3];
    bound->table_size = widest(&bound->detect);
    bound->roi = addresses->inputs[roi];
    bound->label = addresses->inputs[roi + 1];
    bound->row = addresses->inputs[roi + 2];
    bound->bins = gradient ? addresses->inputs[ROI_ALIGN_GRAD_DY] : addresses->outputs[ROI_ALIGN_Y];
    for (int l = 0; l < ROI_LEVELS_MAX && gradient; l++)
        before[l] = addresses->inputs[ROI_ALIGN_GRAD_BEFORE + l];
    set_maps(bound, before,
             gradient ? addresses->outputs + ROI_ALIGN_GRAD_DMAP
                      : addresses->inputs + ROI_ALIGN_MAP);
    bound->regions = addresses->scratch;
    bound->tables = (char *)addresses->scratch + sizes.regions;
    bound->bands = (float *)(void *)(bound->tables + sizes.tables);
    bound->band_bytes = sizes.bands / (size_t)cpu->threads;
    return 0;
}

const struct cpu_operator cpu_roi_align = {NULL, query, bind};
const struct cpu_operator cpu_roi_align_grad = {NULL, query, bind};
