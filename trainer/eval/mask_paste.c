#include "trainer/eval/mask_paste.h"

#include "common/grow.h"
#include "trainer/math/bilinear.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The value of a pixel is a bilinear mean of four source values. Down a column of the picture the
 * horizontal half of that mean is the same for all rows, so it is computed once (add_columns). What
 * remains is a mean of two values. Rows between the same two source rows lie on a straight line. If
 * both its ends are clearly on one side of one half, so are all rows between (add_column).
 *
 * Rows are gone through for each column; their source positions are the same in every column, and
 * are computed once (find_rows). Columns come in order, as runs do. */

enum { RING = 1, PADDED_MAX = MASK_PASTE_SIDE_MAX + 2 * RING };

/* A bilinear mean of values in 0..1 is at most this far off in f32. Beyond that from the threshold,
 * both ends of a span decide for all pixels between them. Closer to it each pixel is computed, so
 * that rounding decides as it does in the reference. */
static const float UNSURE = 0x1p-20f;

/* One axis: the pixels of the picture that the box reaches, and their positions in the padded
 * square. */
struct axis {
    enum mask_paste_rule rule;
    int side;
    int64_t first; /* pixels first .. end-1 */
    int64_t end;
    int64_t origin; /* tv: the first pixel of the whole box... */
    float scale;    /* ...and source positions per pixel */
    float start;    /* d2: the box's ends */
    float stop;
};

/* Interpolates between source positions LOW and LOW + 1 with WEIGHT. */
struct tap {
    int low;
    float weight;
};

/* Rows of the picture that lie between the same two source rows. */
struct span {
    int low;
    int64_t end;
};

struct rows {
    struct span spans[PADDED_MAX];
    int count;
    const float *weights; /* from the axis' first row on */
};

void mask_paster_done(struct mask_paster *paster) {
    free(paster->weights);
    *paster = (struct mask_paster){0};
}

/* Limits a pixel's number to 0 and MOST, the end of an axis. */
static int64_t clip(int64_t place, int64_t most) {
    return place < 0 ? 0 : place > most ? most : place;
}

/* Returns false for a box with NaN as well. Within the reach, pixel numbers of a grown box fit into
 * an int32_t, which tap_tv needs. */
static bool within_reach(const float box[4]) {
    for (int i = 0; i < 4; i++)
        if (!(fabsf(box[i]) <= MASK_PASTE_REACH))
            return false;
    return true;
}

/* torchvision grows the box by (side + 2) / side about its centre, so that the ring of zeros lies
 * outside the object. Corners are truncated towards zero by the conversion. A box has at least one
 * pixel. `origin` is the first pixel of the whole box, also where that lies outside the picture. */
static struct axis axis_tv(float low, float high, int side, uint32_t size) {
    const int padded = side + 2 * RING;
    const float growth = (float)((double)padded / side);
    float half = (high - low) * 0.5f * growth, middle = (high + low) * 0.5f;
    int64_t first = (int64_t)(middle - half), last = (int64_t)(middle + half);
    int64_t length = last - first + 1 > 1 ? last - first + 1 : 1;
    return (struct axis){.rule = MASK_PASTE_TV,
                         .side = side,
                         .first = clip(first, size),
                         .end = clip(last + 1, size),
                         .origin = first,
                         .scale = bilinear_scale(padded, (int32_t)length)};
}

/* detectron2 samples at pixel centres; one pixel more at each end covers those that the ring still
 * reaches. An empty box, or NaN, gives an empty axis. */
static struct axis axis_d2(float low, float high, int side, uint32_t size) {
    if (!(high > low))
        return (struct axis){0};
    return (struct axis){.rule = MASK_PASTE_D2,
                         .side = side,
                         .first = clip((int64_t)floorf(low) - 1, size),
                         .end = clip((int64_t)ceilf(high) + 1, size),
                         .start = low,
                         .stop = high};
}

static struct axis axis_of(const struct mask_paste *paste, int direction) {
    float low = paste->box[direction], high = paste->box[direction + 2];
    uint32_t size = direction == 0 ? paste->width : paste->height;
    return paste->rule == MASK_PASTE_TV ? axis_tv(low, high, paste->side, size)
                                        : axis_d2(low, high, paste->side, size);
}

static struct tap tap_tv(const struct axis *axis, int64_t place) {
    struct bilinear_tap tap =
        bilinear_source((int32_t)(place - axis->origin), axis->scale, axis->side + 2 * RING);
    return (struct tap){tap.low, tap.fraction};
}

/* The steps through -1..1 are those of torch's grid_sample, and are kept for its rounding.
 * Positions beyond the ring read zeros. */
static struct tap tap_d2(const struct axis *axis, int64_t place) {
    float part = ((float)place + 0.5f - axis->start) / (axis->stop - axis->start) * 2 - 1;
    float source = ((part + 1) * (float)axis->side - 1) / 2;
    if (!(source > -1))
        return (struct tap){0, 0};
    if (!(source < (float)axis->side))
        return (struct tap){axis->side + RING, 0};
    float low = floorf(source);
    return (struct tap){(int)low + RING, source - low};
}

static struct tap tap_at(const struct axis *axis, int64_t place) {
    return axis->rule == MASK_PASTE_TV ? tap_tv(axis, place) : tap_d2(axis, place);
}

/* In the order of torch's kernels: the other form, low + weight * (high - low), rounds
 * differently. */
static inline float between(float low, float high, float weight) {
    return (1 - weight) * low + weight * high;
}

static inline bool is_in(enum mask_paste_rule rule, float value) {
    return rule == MASK_PASTE_TV ? value > 0.5f : value >= 0.5f;
}

/* Converts the logits to probabilities, surrounded by a ring of zeros. A NaN stays one, and is in
 * no mask. */
static void pad(const struct mask_paste *paste, float ret[PADDED_MAX][PADDED_MAX]) {
    const int side = paste->side, last = side + 2 * RING - 1;
    for (int i = 0; i <= last; i++)
        ret[0][i] = ret[last][i] = ret[i][0] = ret[i][last] = 0;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            ret[y + RING][x + RING] = 1 / (1 + expf(-paste->logits[y * side + x]));
}

/* Finds the source position of each row of the picture that the box reaches, and joins rows with
 * the same source rows to spans. */
static int find_rows(struct rows *rows, struct mask_paster *paster, const struct axis *axis,
                     struct error *err) {
    size_t count = (size_t)(axis->end - axis->first);
    if (grow_array(&paster->weights, &paster->capacity, count, sizeof(*paster->weights),
                   "a mask's rows", err) != 0)
        return -1;
    rows->weights = paster->weights;
    rows->count = 0;
    for (int64_t y = axis->first; y < axis->end; y++) {
        struct tap tap = tap_at(axis, y);
        paster->weights[y - axis->first] = tap.weight;
        if (rows->count == 0 || rows->spans[rows->count - 1].low != tap.low)
            rows->spans[rows->count++].low = tap.low;
        rows->spans[rows->count - 1].end = y + 1;
    }
    return 0;
}

/* Adds ones from position FROM to END of the picture; calls must be in order. *AT is the end of
 * what was added so far. Ones that continue the last run lengthen it, also from one column to the
 * next. */
static int add_ones(struct rle *mask, uint64_t *at, uint64_t from, uint64_t end,
                    struct error *err) {
    if (mask->count > 0 && from == *at) {
        mask->runs[mask->count - 1] += (uint32_t)(end - from);
    } else {
        if (rle_reserve(mask, mask->count + 2, err) != 0)
            return -1;
        mask->runs[mask->count++] = (uint32_t)(from - *at);
        mask->runs[mask->count++] = (uint32_t)(end - from);
    }
    *at = end;
    return 0;
}

/* Adds a column of the picture, with the values COLUMN at the source rows. */
static int add_column(struct rle *mask, uint64_t *at, const struct rows *rows,
                      const struct axis *down, int64_t x, const float *column, struct error *err) {
    const int last = down->side + 2 * RING - 1;
    const uint64_t base = (uint64_t)x * mask->height;
    int64_t y = down->first;
    for (int i = 0; i < rows->count; i++) {
        const struct span *span = &rows->spans[i];
        float low = column[span->low], high = column[span->low < last ? span->low + 1 : last];
        int64_t from = y;
        y = span->end;
        if (low < 0.5f - UNSURE && high < 0.5f - UNSURE)
            continue;
        if (low > 0.5f + UNSURE && high > 0.5f + UNSURE) {
            if (add_ones(mask, at, base + (uint64_t)from, base + (uint64_t)y, err) != 0)
                return -1;
            continue;
        }
        for (; from < y; from++)
            if (is_in(down->rule, between(low, high, rows->weights[from - down->first])) &&
                add_ones(mask, at, base + (uint64_t)from, base + (uint64_t)from + 1, err) != 0)
                return -1;
    }
    return 0;
}

/* Adds all columns that the box reaches; none if it is outside the picture. */
static int add_columns(struct rle *mask, uint64_t *at, struct mask_paster *paster,
                       const struct mask_paste *paste, struct error *err) {
    const int padded = paste->side + 2 * RING;
    struct axis across = axis_of(paste, 0), down = axis_of(paste, 1);
    if (across.first >= across.end || down.first >= down.end)
        return 0;
    float square[PADDED_MAX][PADDED_MAX], column[PADDED_MAX];
    struct rows rows = {0};
    pad(paste, square);
    if (find_rows(&rows, paster, &down, err) != 0)
        return -1;
    for (int64_t x = across.first; x < across.end; x++) {
        struct tap tap = tap_at(&across, x);
        int high = tap.low < padded - 1 ? tap.low + 1 : padded - 1;
        for (int k = 0; k < padded; k++)
            column[k] = between(square[k][tap.low], square[k][high], tap.weight);
        if (add_column(mask, at, &rows, &down, x, column, err) != 0)
            return -1;
    }
    return 0;
}

int mask_paste(struct rle *ret, struct mask_paster *paster, const struct mask_paste *paste,
               struct error *err) {
    if (paste->side < 1 || paste->side > MASK_PASTE_SIDE_MAX ||
        !rle_size_fits(paste->height, paste->width))
        return error_set(err, EXIT_CODE_INTERNAL,
                         "a mask of side %d cannot be pasted into a picture of %u x %u",
                         paste->side, paste->width, paste->height);
    ret->height = paste->height;
    ret->width = paste->width;
    ret->count = 0;
    uint64_t at = 0, pixels = (uint64_t)paste->height * paste->width;
    if (within_reach(paste->box) && add_columns(ret, &at, paster, paste, err) != 0)
        return -1;
    if (at == pixels && ret->count > 0)
        return 0;
    if (rle_reserve(ret, ret->count + 1, err) != 0)
        return -1;
    ret->runs[ret->count++] = (uint32_t)(pixels - at);
    return 0;
}
