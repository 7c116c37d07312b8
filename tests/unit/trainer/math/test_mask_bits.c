#include "tests/support/unit.h"
#include "trainer/math/mask_bits.h"

#include <string.h>

static void a_row_begins_at_a_byte(void) {
    CU_ASSERT_EQUAL(mask_bits_stride(0), 0);
    CU_ASSERT_EQUAL(mask_bits_stride(1), 1);
    CU_ASSERT_EQUAL(mask_bits_stride(8), 1);
    CU_ASSERT_EQUAL(mask_bits_stride(9), 2);
    CU_ASSERT_EQUAL(mask_bits_bytes(9, 3), 6);
    CU_ASSERT_EQUAL(mask_bits_bytes(2000000000, 2000000000), 500000000000000000);
}

static void the_lowest_bit_is_the_first_pixel(void) {
    /* Two rows of ten pixels after three other bytes: x 7 to 16, y 4 and 5. */
    static const uint8_t pool[] = {0xff, 0xff, 0xff, 0x81, 0x02, 0x00, 0xfd};
    static const int32_t at[MASK_FIELDS] = {3, 7, 4, 10, 2};
    for (int32_t x = -1; x < 30; x++) {
        CU_ASSERT_EQUAL(mask_bits_get(pool, at, x, 3), 0);
        CU_ASSERT_EQUAL(mask_bits_get(pool, at, x, 4), x == 7 || x == 14 || x == 16);
        CU_ASSERT_EQUAL(mask_bits_get(pool, at, x, 5), x == 15);
        CU_ASSERT_EQUAL(mask_bits_get(pool, at, x, 6), 0);
    }
}

static void what_is_set_is_read_again(void) {
    uint8_t pool[40] = {0};
    static const int32_t at[MASK_FIELDS] = {5, 100, 50, 13, 17};
    for (int32_t y = 50; y < 67; y++)
        for (int32_t x = 100; x < 113; x++)
            if ((x * 7 + y * 3) % 5 == 0)
                mask_bits_set(pool, at, x, y);
    for (int32_t y = 45; y < 70; y++)
        for (int32_t x = 95; x < 120; x++) {
            int inside = x >= 100 && x < 113 && y >= 50 && y < 67;
            CU_ASSERT_EQUAL(mask_bits_get(pool, at, x, y), inside && (x * 7 + y * 3) % 5 == 0);
        }
    CU_ASSERT(pool[4] == 0 && pool[39] == 0);
}

static void a_crop_of_no_pixels_is_no_mask(void) {
    CU_ASSERT(mask_bits_given((int32_t[]){0, 3, 4, 1, 1}));
    CU_ASSERT(!mask_bits_given((int32_t[]){0, 3, 4, 0, 9}));
    CU_ASSERT(!mask_bits_given((int32_t[]){0, 3, 4, 9, 0}));
    CU_ASSERT_EQUAL(mask_bits_get(NULL, (int32_t[]){0, 0, 0, 0, 0}, 0, 0), 0);
}

UNIT_SUITE("kernels.mask_bits", UNIT(a_row_begins_at_a_byte),
           UNIT(the_lowest_bit_is_the_first_pixel), UNIT(what_is_set_is_read_again),
           UNIT(a_crop_of_no_pixels_is_no_mask))
