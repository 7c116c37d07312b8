#include "trainer/data/detect/detection_bits.h"

#include "common/cleanup.h"
#include "common/grow.h"
#include "trainer/math/bilinear.h"

#include <stdlib.h>
#include <string.h>

/* Masks come as run lengths, in columns as COCO has them, and become rows of bits, as the operators
 * of the network read them. Only the box of the set pixels is stored.
 *
 * While a batch is filled, each place has a block of its own that grows as needed, and offsets are
 * within it. detection_bits_gather then copies the blocks into the batch's pool, once all of its
 * sizes are known. A pool that is full drops small masks: their objects still train box and
 * label. */

/* The memory of a place grows with its largest picture, and is kept from batch to batch until
 * here. */
void detection_bits_done(struct detection_bits *bits) {
    free(bits->bytes);
    *bits = (struct detection_bits){0};
}

void detection_crop_done(struct detection_crop *crop) {
    detection_bits_done(&crop->bits);
    *crop = (struct detection_crop){0};
}

/* Appends a crop of zeros; AT has its position in the picture and its size, and gets its offset.
 * The ceiling also keeps offsets within 31 bits. */
static int add_zeros(struct detection_bits *bits, int32_t at[MASK_FIELDS], struct error *err) {
    size_t size = (size_t)mask_bits_bytes(at[MASK_WIDTH], at[MASK_HEIGHT]);
    if (size > DETECTION_BITS_MAX - bits->size)
        return error_set(err, EXIT_CODE_DATA, "masks of more than %d bytes in one picture",
                         DETECTION_BITS_MAX);
    if (grow_array(&bits->bytes, &bits->capacity, bits->size + size, 1, "masks", err) != 0)
        return -1;
    at[MASK_OFFSET] = (int32_t)bits->size;
    memset(bits->bytes + bits->size, 0, size);
    bits->size += size;
    return 0;
}

int detection_bits_add_empty(struct detection_bits *bits, int32_t ret_at[MASK_FIELDS],
                             struct error *err) {
    ret_at[MASK_X] = ret_at[MASK_Y] = 0;
    ret_at[MASK_WIDTH] = ret_at[MASK_HEIGHT] = 1;
    return add_zeros(bits, ret_at, err);
}

/* Sets pixels Y .. END-1 of column X of the crop. A column is one bit in each row, STRIDE bytes
 * apart. */
static void set_column(uint8_t *crop, int32_t stride, uint32_t x, uint32_t y, uint32_t end) {
    const uint8_t bit = (uint8_t)(1 << x % 8);
    uint8_t *byte = crop + x / 8 + (size_t)y * (size_t)stride;
    for (; y < end; y++, byte += stride)
        *byte |= bit;
}

/* Sets the pixels of the runs at odd places of the list, which are those of the object. A run goes
 * down a column and on at the top of the next, so that it is cut at each column's end. */
static void set_runs(uint8_t *crop, const struct rle *mask, const int32_t at[MASK_FIELDS]) {
    const int32_t stride = mask_bits_stride(at[MASK_WIDTH]);
    const uint32_t left = (uint32_t)at[MASK_X], top = (uint32_t)at[MASK_Y];
    uint32_t place = 0;
    for (size_t i = 0; i + 1 < mask->count; i += 2) {
        uint32_t start = place + mask->runs[i], end = start + mask->runs[i + 1];
        for (place = start; place < end;) {
            uint32_t x = place / mask->height, y = place % mask->height;
            uint32_t length = mask->height - y < end - place ? mask->height - y : end - place;
            set_column(crop, stride, x - left, y - top, y - top + length);
            place += length;
        }
        place = end;
    }
}

int detection_bits_add(struct detection_bits *bits, const struct rle *mask,
                       int32_t ret_at[MASK_FIELDS], struct error *err) {
    /* A mask without pixels keeps this box: one pixel, which stays 0. */
    double box[4] = {0, 0, 1, 1};
    bool any = rle_area(mask) > 0;
    if (any)
        rle_box(mask, box);
    ret_at[MASK_X] = (int32_t)box[0];
    ret_at[MASK_Y] = (int32_t)box[1];
    ret_at[MASK_WIDTH] = (int32_t)box[2];
    ret_at[MASK_HEIGHT] = (int32_t)box[3];
    if (add_zeros(bits, ret_at, err) != 0)
        return -1;
    if (any)
        set_runs(bits->bytes + ret_at[MASK_OFFSET], mask, ret_at);
    return 0;
}

/* One axis of a scaled mask: the source pixel that target pixel I takes. */
struct nearest_axis {
    int32_t from;
    int32_t to;
    bool mirrored;
};

/* A mirrored axis is read from the other end of both, so that the scaled mirrored mask is the
 * mirror image of the scaled one, whatever the rounding. */
static int32_t nearest_at(const struct nearest_axis *axis, int32_t i) {
    float scale = bilinear_scale(axis->from, axis->to);
    if (!axis->mirrored)
        return bilinear_nearest(i, scale, axis->from);
    return axis->from - 1 - bilinear_nearest(axis->to - 1 - i, scale, axis->from);
}

/* Finds the target pixels that take one of the source pixels FIRST .. FIRST + COUNT - 1. They are a
 * range, as nearest_at is monotonic. *RET_COUNT is 0 if a small crop falls between the pixels that
 * are taken. */
static void nearest_range(const struct nearest_axis *axis, int32_t first, int32_t count,
                          int32_t *ret_first, int32_t *ret_count) {
    *ret_first = *ret_count = 0;
    for (int32_t i = 0; i < axis->to; i++) {
        int32_t source = nearest_at(axis, i);
        if (source < first || source >= first + count)
            continue;
        if ((*ret_count)++ == 0)
            *ret_first = i;
    }
}

/* The crop of the target is exactly the pixels that take one of the source's crop, so that no bit
 * outside of it could be set. */
int detection_bits_add_scaled(struct detection_bits *bits, const struct detection_crop *crop,
                              const struct detection_scaling *scaling, int32_t ret_at[MASK_FIELDS],
                              struct error *err) {
    const struct nearest_axis across = {scaling->from.width, scaling->to.width, scaling->flip};
    const struct nearest_axis down = {scaling->from.height, scaling->to.height, false};
    nearest_range(&across, crop->at[MASK_X], crop->at[MASK_WIDTH], &ret_at[MASK_X],
                  &ret_at[MASK_WIDTH]);
    nearest_range(&down, crop->at[MASK_Y], crop->at[MASK_HEIGHT], &ret_at[MASK_Y],
                  &ret_at[MASK_HEIGHT]);
    if (ret_at[MASK_WIDTH] == 0 || ret_at[MASK_HEIGHT] == 0)
        return detection_bits_add_empty(bits, ret_at, err);
    if (add_zeros(bits, ret_at, err) != 0)
        return -1;
    for (int32_t y = ret_at[MASK_Y]; y < ret_at[MASK_Y] + ret_at[MASK_HEIGHT]; y++) {
        int32_t source_y = nearest_at(&down, y);
        for (int32_t x = ret_at[MASK_X]; x < ret_at[MASK_X] + ret_at[MASK_WIDTH]; x++)
            if (mask_bits_get(crop->bits.bytes, crop->at, nearest_at(&across, x), source_y))
                mask_bits_set(bits->bytes, ret_at, x, y);
    }
    return 0;
}

/* A mask of the batch: its object and its size. */
struct wanted {
    size_t object; /* place * slots + slot */
    int64_t pixels;
    size_t bytes;
};

/* Orders by the pixels of the crop; the earlier of equal objects comes first, so that the choice is
 * the same each time. */
static int larger_first(const void *a, const void *b) {
    const struct wanted *left = a, *right = b;
    if (left->pixels != right->pixels)
        return left->pixels > right->pixels ? -1 : 1;
    return (left->object > right->object) - (left->object < right->object);
}

/* Keeps masks, the largest first, while they fit; a smaller one may still fit where a larger one
 * did not. The others lose their entry in gt_mask_at, and *RET_DROPPED counts them. */
static int drop_small(const struct detection_fields *fields, int count, int64_t *ret_dropped,
                      struct error *err) {
    size_t objects = (size_t)count * (size_t)fields->slots, found = 0, used = 0;
    cleanup_free struct wanted *list = calloc(objects, sizeof(*list));
    if (list == NULL)
        return error_no_memory(err, "masks");
    for (size_t i = 0; i < objects; i++) {
        const int32_t *at = &fields->gt_mask_at[i * MASK_FIELDS];
        if (mask_bits_given(at))
            list[found++] =
                (struct wanted){i, (int64_t)at[MASK_WIDTH] * at[MASK_HEIGHT],
                                (size_t)mask_bits_bytes(at[MASK_WIDTH], at[MASK_HEIGHT])};
    }
    qsort(list, found, sizeof(*list), larger_first);
    for (size_t i = 0; i < found; i++) {
        if (list[i].bytes <= fields->pool_bytes - used) {
            used += list[i].bytes;
            continue;
        }
        memset(&fields->gt_mask_at[list[i].object * MASK_FIELDS], 0,
               MASK_FIELDS * sizeof(*fields->gt_mask_at));
        (*ret_dropped)++;
    }
    return 0;
}

/* Called once for a batch, by the worker of its last place. The pool is zeroed after the last mask,
 * so that a batch does not depend on the one before it in the same memory. */
int detection_bits_gather(const struct detection_fields *fields, const struct detection_bits *bits,
                          int count, int64_t *ret_dropped, struct error *err) {
    size_t wanted = 0, used = 0;
    *ret_dropped = 0;
    for (int i = 0; i < count; i++)
        wanted += bits[i].size;
    /* The usual case copies without sorting. */
    if (wanted > fields->pool_bytes && drop_small(fields, count, ret_dropped, err) != 0)
        return -1;
    /* In the order of places and slots, which no thread can change. */
    for (size_t i = 0; i < (size_t)count * (size_t)fields->slots; i++) {
        int32_t *at = &fields->gt_mask_at[i * MASK_FIELDS];
        if (!mask_bits_given(at))
            continue;
        size_t size = (size_t)mask_bits_bytes(at[MASK_WIDTH], at[MASK_HEIGHT]);
        memcpy(fields->mask_bits + used, bits[i / (size_t)fields->slots].bytes + at[MASK_OFFSET],
               size);
        at[MASK_OFFSET] = (int32_t)used;
        used += size;
    }
    memset(fields->mask_bits + used, 0, fields->pool_bytes - used);
    return 0;
}
