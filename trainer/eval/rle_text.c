#include "trainer/eval/rle_text.h"

#include <inttypes.h>

enum { FIRST_CHARACTER = '0', GROUP_BITS = 5, GROUPS_MAX = 7, GROUP_MORE = 32, GROUP_SIGN = 16 };

int rle_begin(struct rle *mask, int64_t height, int64_t width, struct error *err) {
    mask->count = 0;
    if (!rle_size_fits(height, width))
        return error_set(err, EXIT_CODE_DATA,
                         "the mask's size is %" PRId64 " x %" PRId64
                         "; expected a height and a width of 1 or more, and at most %d pixels in "
                         "all",
                         height, width, RLE_PIXELS_MAX);
    mask->height = (uint32_t)height;
    mask->width = (uint32_t)width;
    return 0;
}

int rle_add(struct rle *mask, int64_t run, struct error *err) {
    if (run < 0 || run > RLE_PIXELS_MAX)
        return error_set(err, EXIT_CODE_DATA,
                         "run %zu of the mask is %" PRId64 "; expected 0 to %d pixels", mask->count,
                         run, RLE_PIXELS_MAX);
    if (mask->count == mask->capacity && rle_reserve(mask, mask->count + 1, err) != 0)
        return -1;
    mask->runs[mask->count++] = (uint32_t)run;
    return 0;
}

int rle_end(const struct rle *mask, struct error *err) {
    uint64_t sum = 0;
    for (size_t i = 0; i < mask->count; i++)
        sum += mask->runs[i];
    if (sum != (uint64_t)mask->height * mask->width)
        return error_set(err, EXIT_CODE_DATA,
                         "the mask's %zu runs add up to %" PRIu64 " pixels; expected %" PRIu32
                         " x %" PRIu32 ", its size",
                         mask->count, sum, mask->height, mask->width);
    return 0;
}

/* Reads one number; advances *TEXT past it. */
static int parse_number(const char **text, const char *end, int64_t *ret, struct error *err) {
    uint64_t bits = 0;
    for (unsigned group = 0; group < GROUPS_MAX; group++) {
        if (*text == end)
            return error_set(
                err, EXIT_CODE_DATA,
                "the mask's string ends within a number; expected whole run lengths, as "
                "pycocotools writes them");
        unsigned value = (unsigned)(unsigned char)**text - FIRST_CHARACTER;
        if (value > 63)
            return error_set(
                err, EXIT_CODE_DATA,
                "byte 0x%02x in the mask's string; expected characters from '0' to 'o'",
                (unsigned)(unsigned char)**text);
        (*text)++;
        bits |= (uint64_t)(value & (GROUP_MORE - 1)) << (GROUP_BITS * group);
        if ((value & GROUP_MORE) != 0)
            continue;
        if ((value & GROUP_SIGN) != 0)
            bits |= ~UINT64_C(0) << (GROUP_BITS * (group + 1));
        *ret = (int64_t)bits;
        return 0;
    }
    return error_set(err, EXIT_CODE_DATA,
                     "a number in the mask's string has more than %d characters; expected run "
                     "lengths, as pycocotools writes them",
                     GROUPS_MAX);
}

int rle_parse(struct rle *ret, const char *text, size_t size, int64_t height, int64_t width,
              struct error *err) {
    if (rle_begin(ret, height, width, err) != 0)
        return -1;
    const char *end = text + size;
    while (text < end) {
        int64_t run = 0;
        if (parse_number(&text, end, &run, err) != 0)
            return -1;
        if (ret->count > 2)
            run += ret->runs[ret->count - 2];
        if (rle_add(ret, run, err) != 0)
            return -1;
    }
    return rle_end(ret, err);
}

int rle_format(const struct rle *mask, struct buf *out, struct error *err) {
    for (size_t i = 0; i < mask->count; i++) {
        int64_t left = mask->runs[i];
        if (i > 2)
            left -= mask->runs[i - 2];
        char text[GROUPS_MAX];
        size_t size = 0;
        bool more = true;
        while (more) {
            int group = (int)((uint64_t)left & (GROUP_MORE - 1));
            left = (left - group) / GROUP_MORE;
            more = (group & GROUP_SIGN) != 0 ? left != -1 : left != 0;
            text[size++] = (char)(FIRST_CHARACTER + group + (more ? GROUP_MORE : 0));
        }
        if (buf_add(out, text, size, err) != 0)
            return -1;
    }
    return 0;
}
