#include "trainer/data/coco/coco_pack.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { FORM_HUNDREDTHS, FORM_DOUBLES };

static const double HUNDREDTHS_MAX = 1e9;

int coco_pack_count(struct buf *out, uint64_t number, struct error *err) {
    uint8_t bytes[10];
    size_t size = 0;
    for (; number >= 128; number >>= 7)
        bytes[size++] = (uint8_t)(number | 128);
    bytes[size++] = (uint8_t)number;
    return buf_add(out, bytes, size, err);
}

int coco_unpack_count(struct coco_bytes *in, uint64_t max, uint64_t *ret, struct error *err) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->at == in->end)
            break;
        uint8_t byte = *in->at++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            if (number > max)
                break;
            *ret = number;
            return 0;
        }
    }
    return error_set(err, EXIT_CODE_DATA, "a packed outline is damaged");
}

/* Returns true if VALUE is a whole number of hundredths. Dividing by 100 again then gives the same
 * double, since the quotient is rounded once, like the decimal digits it was read from. */
static bool hundredths(double value, int64_t *ret) {
    double scaled = nearbyint(value * 100);
    if (!(fabs(scaled) <= HUNDREDTHS_MAX) || scaled / 100 != value ||
        (value == 0 && signbit(value)))
        return false;
    *ret = (int64_t)scaled;
    return true;
}

static int pack_differences(struct buf *out, const double *numbers, size_t count,
                            struct error *err) {
    int64_t last[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        int64_t now = 0;
        (void)hundredths(numbers[i], &now);
        int64_t step = now - last[i % 2];
        last[i % 2] = now;
        uint64_t folded = step < 0 ? 2 * (uint64_t)-step - 1 : 2 * (uint64_t)step;
        if (coco_pack_count(out, folded, err) != 0)
            return -1;
    }
    return 0;
}

int coco_pack_points(struct buf *out, const double *numbers, size_t count, struct error *err) {
    int64_t ignored;
    bool all = true;
    for (size_t i = 0; i < count && all; i++)
        all = hundredths(numbers[i], &ignored);
    if (coco_pack_count(out, all ? FORM_HUNDREDTHS : FORM_DOUBLES, err) != 0)
        return -1;
    return all ? pack_differences(out, numbers, count, err)
               : buf_add(out, numbers, count * sizeof(*numbers), err);
}

int coco_unpack_points(struct coco_bytes *in, double *ret, size_t count, struct error *err) {
    uint64_t form = 0;
    if (coco_unpack_count(in, FORM_DOUBLES, &form, err) != 0)
        return -1;
    if (form == FORM_DOUBLES) {
        if ((size_t)(in->end - in->at) / sizeof(*ret) < count)
            return error_set(err, EXIT_CODE_DATA, "a packed outline is truncated");
        memcpy(ret, in->at, count * sizeof(*ret));
        in->at += count * sizeof(*ret);
        return 0;
    }
    int64_t last[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        uint64_t folded = 0;
        if (coco_unpack_count(in, UINT64_C(1) << 40, &folded, err) != 0)
            return -1;
        int64_t step = (int64_t)(folded >> 1);
        /* Sums stay within 64 bits: at most 2^22 steps of 2^39. */
        last[i % 2] += (folded & 1) != 0 ? -step - 1 : step;
        ret[i] = (double)last[i % 2] / 100;
    }
    return 0;
}
