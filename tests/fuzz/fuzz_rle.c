/* Strings of runs: two bytes of height and two of width, then the string. What was read adds up,
 * survives writing and reading, and every operation on it ends and stays in its bounds. */
#include "tests/fuzz/check.h"
#include "trainer/eval/rle.h"
#include "trainer/eval/rle_text.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIXELS_MAX = 1 << 16 };

static void check_same(const struct rle *a, const struct rle *b) {
    CHECK(a->height == b->height && a->width == b->width && a->count == b->count);
    CHECK(memcmp(a->runs, b->runs, a->count * sizeof(*a->runs)) == 0);
}

static void check_text(const struct rle *mask) {
    cleanup_buf struct buf text = {.max = 1 << 26};
    cleanup_rle struct rle again = {0};
    struct error err = {0};
    CHECK(rle_format(mask, &text, &err) == 0);
    CHECK(rle_parse(&again, text.data, text.size, mask->height, mask->width, &err) == 0);
    check_same(mask, &again);
}

/* Pixels and back: the same mask, without empty runs. */
static void check_pixels(const struct rle *mask) {
    static uint8_t bytes[PIXELS_MAX];
    cleanup_rle struct rle clean = {0}, both = {0};
    struct error err = {0};
    if ((uint64_t)mask->height * mask->width > PIXELS_MAX)
        return;
    struct rle_pixels pixels = {bytes, mask->height, mask->width, mask->width, 1};
    rle_decode(mask, &pixels);
    CHECK(rle_encode(&clean, &pixels, &err) == 0);
    CHECK(rle_end(&clean, &err) == 0);
    CHECK(rle_area(&clean) == rle_area(mask));
    double iou = rle_iou(&clean, &clean, false);
    CHECK(iou == (rle_area(&clean) > 0 ? 1 : 0));
    CHECK(rle_merge(&both, &clean, &clean, RLE_UNION, &err) == 0);
    check_same(&both, &clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_rle struct rle mask = {0}, both = {0};
    struct error err = {0};
    double box[4];
    if (size < 4)
        return 0;
    int64_t height = data[0] | data[1] << 8, width = data[2] | data[3] << 8;
    if (rle_parse(&mask, (const char *)data + 4, size - 4, height, width, &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
        return 0;
    }
    CHECK(rle_end(&mask, &err) == 0);
    rle_box(&mask, box);
    double iou = rle_iou(&mask, &mask, true);
    CHECK(iou >= 0 && iou <= 1);
    CHECK(rle_merge(&both, &mask, &mask, RLE_INTERSECTION, &err) == 0);
    check_text(&mask);
    check_pixels(&mask);
    return 0;
}
