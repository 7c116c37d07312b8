#include "trainer/eval/rle.h"

#include "common/grow.h"

#include <math.h>
#include <stdlib.h>

/* Masks stay run lengths in all operations, as a picture of millions of pixels may have some
 * hundred runs. Merging and comparing walk both masks at once, from one change of either to the
 * next. The walk ends where that of COCO's maskApi.c ends, also at empty runs in the middle of a
 * mask: scores must not differ.
 *
 * Sums of runs fit into 32 bits, as a mask has at most RLE_PIXELS_MAX pixels. Runs that do not add
 * up to the picture are refused by the readers (rle_text.h); here they must only not lead out of
 * bounds or into an endless loop. */

void rle_done(struct rle *mask) {
    free(mask->runs);
    *mask = (struct rle){0};
}

/* The division avoids an overflow of the product; WIDTH is above 0 when it is made. */
bool rle_size_fits(int64_t height, int64_t width) {
    return height > 0 && width > 0 && height <= RLE_PIXELS_MAX / width;
}

/* Capacity grows by more than is asked for (grow_array), so adding run by run is linear. */
int rle_reserve(struct rle *mask, size_t count, struct error *err) {
    return grow_array(&mask->runs, &mask->capacity, count, sizeof(*mask->runs), "a mask's runs",
                      err);
}

/* Appends a run, also an empty one. RLE_PIXELS_MAX bounds the number of runs as well, so memory is
 * the only limit here. */
static int add_run(struct rle *mask, uint32_t length, struct error *err) {
    if (rle_reserve(mask, mask->count + 1, err) != 0)
        return -1;
    mask->runs[mask->count++] = length;
    return 0;
}

/* Follows the columns, whatever the steps: pictures in rows and in columns are both read in place.
 * A run ends where the value changes, and the last one with the picture; only the first can be
 * empty. */
int rle_encode(struct rle *ret, const struct rle_pixels *pixels, struct error *err) {
    ret->height = pixels->height;
    ret->width = pixels->width;
    ret->count = 0;
    bool value = false;
    uint32_t length = 0;
    for (uint32_t x = 0; x < pixels->width; x++) {
        const uint8_t *at = pixels->bytes + x * pixels->column_step;
        for (uint32_t y = 0; y < pixels->height; y++, at += pixels->row_step) {
            if ((*at != 0) != value) {
                if (add_run(ret, length, err) != 0)
                    return -1;
                length = 0;
                value = !value;
            }
            length++;
        }
    }
    return add_run(ret, length, err);
}

/* Writes each pixel by its place, column by column; the odd runs are ones. Runs beyond the picture
 * are cut off at its last column. */
void rle_decode(const struct rle *mask, const struct rle_pixels *ret_pixels) {
    uint32_t x = 0, y = 0;
    for (size_t i = 0; i < mask->count; i++) {
        for (uint32_t left = mask->runs[i]; left > 0 && x < ret_pixels->width; left--) {
            ret_pixels->bytes[y * ret_pixels->row_step + x * ret_pixels->column_step] = i & 1;
            if (++y == ret_pixels->height) {
                y = 0;
                x++;
            }
        }
    }
}

/* Iterator over the runs of one mask: what is left of the current run, and its value. `left` is 0
 * in an empty run and at the end. */
struct walk {
    const uint32_t *next;
    const uint32_t *end;
    uint32_t left;
    bool value;
};

/* Starts at the first pixel of MASK, which has at least one run. The first run counts zeros, so the
 * walk begins with `value` false. */
static struct walk walk_start(const struct rle *mask) {
    return (struct walk){
        .next = mask->runs + 1, .end = mask->runs + mask->count, .left = mask->runs[0]};
}

/* Advances by LENGTH pixels, at most to the start of the next run. */
static inline void walk_on(struct walk *walk, uint32_t length) {
    walk->left -= length;
    if (walk->left == 0 && walk->next < walk->end) {
        walk->left = *walk->next++;
        walk->value = !walk->value;
    }
}

/* Returns true while both walks have pixels left, as the reference does: it also stops if both are
 * in an empty run at once. The second test matters only for masks with runs that do not add up, for
 * which the reference would loop forever. */
static inline bool walk_both(const struct walk *a, const struct walk *b) {
    if (a->left == 0 && b->left == 0)
        return false;
    return (a->left > 0 || a->next < a->end) && (b->left > 0 || b->next < b->end);
}

static inline uint32_t shorter(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* RET gets room for as many runs as both masks have together, and cannot have more, as it changes
 * only where one of them does. A run of RET continues while the merged value stays the same, so
 * equal neighbours are joined. */
int rle_merge(struct rle *ret, const struct rle *a, const struct rle *b, enum rle_merge_kind kind,
              struct error *err) {
    ret->height = ret->width = 0;
    ret->count = 0;
    if (a->height != b->height || a->width != b->width || a->count == 0 || b->count == 0)
        return 0;
    if (rle_reserve(ret, a->count + b->count, err) != 0)
        return -1;
    ret->height = a->height;
    ret->width = a->width;
    struct walk wa = walk_start(a), wb = walk_start(b);
    bool value = false;
    uint32_t run = 0;
    bool more = true;
    while (more) {
        uint32_t length = shorter(wa.left, wb.left);
        run += length;
        walk_on(&wa, length);
        walk_on(&wb, length);
        more = walk_both(&wa, &wb);
        bool now = kind == RLE_UNION ? wa.value || wb.value : wa.value && wb.value;
        if (now != value || !more) {
            ret->runs[ret->count++] = run;
            run = 0;
        }
        value = now;
    }
    return 0;
}

/* Every second run is of ones. The sum cannot overflow: it is at most the picture's pixels. */
uint32_t rle_area(const struct rle *mask) {
    uint32_t area = 0;
    for (size_t i = 1; i < mask->count; i += 2)
        area += mask->runs[i];
    return area;
}

/* A run of ones that passes from one column to the next covers the last row and the first, hence
 * the whole height. Runs of no length are skipped: they have no pixel to look at. */
void rle_box(const struct rle *mask, double ret_box[4]) {
    uint32_t left = mask->width, top = mask->height, right = 0, bottom = 0, at = 0;
    ret_box[0] = ret_box[1] = ret_box[2] = ret_box[3] = 0;
    if (mask->count < 2)
        return;
    for (size_t i = 0; i + 1 < mask->count; i += 2) {
        uint32_t start = at + mask->runs[i];
        at = start + mask->runs[i + 1];
        if (at == start)
            continue;
        uint32_t start_x = start / mask->height, end_x = (at - 1) / mask->height;
        left = shorter(left, start_x);
        right = right > end_x ? right : end_x;
        if (start_x < end_x) {
            top = 0;
            bottom = mask->height - 1;
        } else {
            uint32_t start_y = start % mask->height, end_y = (at - 1) % mask->height;
            top = shorter(top, start_y);
            bottom = bottom > end_y ? bottom : end_y;
        }
    }
    /* If every run of ones is empty, the reference's unsigned sides wrap around; so do these. */
    ret_box[0] = left;
    ret_box[1] = top;
    ret_box[2] = right - left + 1;
    ret_box[3] = bottom - top + 1;
}

/* Both areas are counted in one walk, without making the intersection. Of a crowd any part may be
 * matched, so only FOUND's own area divides. Without a common pixel the result is 0, and 1 is
 * divided by, as the union may be empty. */
double rle_iou(const struct rle *found, const struct rle *truth, bool crowd) {
    if (found->height != truth->height || found->width != truth->width)
        return -1;
    if (found->count == 0 || truth->count == 0)
        return 0;
    struct walk f = walk_start(found), t = walk_start(truth);
    uint32_t both = 0, either = 0;
    bool more = true;
    while (more) {
        uint32_t length = shorter(f.left, t.left);
        if (f.value || t.value) {
            either += length;
            if (f.value && t.value)
                both += length;
        }
        walk_on(&f, length);
        walk_on(&t, length);
        more = walk_both(&f, &t);
    }
    if (both == 0)
        either = 1;
    else if (crowd)
        either = rle_area(found);
    return (double)both / (double)either;
}

/* Boxes are x, y, width and height in f64. Their ends are computed as in the reference, x + width,
 * and round as there. Boxes that only touch are disjoint. */
double box_iou(const double found[4], const double truth[4], bool crowd) {
    double width = fmin(found[2] + found[0], truth[2] + truth[0]) - fmax(found[0], truth[0]);
    if (width <= 0)
        return 0;
    double height = fmin(found[3] + found[1], truth[3] + truth[1]) - fmax(found[1], truth[1]);
    if (height <= 0)
        return 0;
    double both = width * height;
    double area = found[2] * found[3];
    return both / (crowd ? area : area + truth[2] * truth[3] - both);
}
