#include "trainer/data/coco/coco_pack.h"

#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

static void counts_come_back(void) {
    static const uint64_t CASES[] = {0, 1, 127, 128, 300, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cleanup_buf struct buf out = {.max = 100};
        struct error err = {0};
        uint64_t number = 0;
        CU_ASSERT_EQUAL(coco_pack_count(&out, CASES[i], &err), 0);
        struct coco_bytes in = {(uint8_t *)out.data, (uint8_t *)out.data + out.size};
        CU_ASSERT_EQUAL(coco_unpack_count(&in, UINT64_MAX, &number, &err), 0);
        CU_ASSERT_EQUAL(number, CASES[i]);
        CU_ASSERT_PTR_EQUAL(in.at, in.end);
    }
}

static void check_points(const double *numbers, size_t count, size_t most_bytes) {
    cleanup_buf struct buf out = {.max = 1000};
    struct error err = {0};
    double again[16];
    CU_ASSERT_EQUAL(coco_pack_points(&out, numbers, count, &err), 0);
    CU_ASSERT(out.size <= most_bytes);
    struct coco_bytes in = {(uint8_t *)out.data, (uint8_t *)out.data + out.size};
    CU_ASSERT_EQUAL(coco_unpack_points(&in, again, count, &err), 0);
    CU_ASSERT_EQUAL(memcmp(numbers, again, count * sizeof(double)), 0);
    CU_ASSERT_PTR_EQUAL(in.at, in.end);
}

static void points_come_back_to_the_bit(void) {
    check_points((const double[]){321.02, 321.0, 314.25, 307.99, 300.2, 286.14}, 6, 15);
    check_points((const double[]){-3.01, 0, 0, -0.01}, 4, 9);
    check_points((const double[]){1.005, 2, 3, 4}, 4, 33);
    check_points((const double[]){-0.0, 2, 3, 4}, 4, 33);
    check_points((const double[]){1e7, 1e-7, 1e300, 4}, 4, 33);
}

static void every_number_of_hundredths_comes_back(void) {
    for (int whole = -1000; whole <= 100000; whole++) {
        double number[2] = {whole / 100.0, whole / 100.0};
        cleanup_buf struct buf out = {.max = 100};
        struct error err = {0};
        double again[2];
        CU_ASSERT_EQUAL_FATAL(coco_pack_points(&out, number, 2, &err), 0);
        struct coco_bytes in = {(uint8_t *)out.data, (uint8_t *)out.data + out.size};
        CU_ASSERT_EQUAL_FATAL(coco_unpack_points(&in, again, 2, &err), 0);
        CU_ASSERT_FATAL(memcmp(number, again, sizeof(again)) == 0);
    }
}

static void damaged_bytes_are_refused(void) {
    static const uint8_t ENDLESS[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct error err = {0};
    uint64_t number;
    double points[4];
    struct coco_bytes in = {ENDLESS, ENDLESS + sizeof(ENDLESS)};
    CU_ASSERT_EQUAL(coco_unpack_count(&in, UINT64_MAX, &number, &err), -1);
    in = (struct coco_bytes){ENDLESS, ENDLESS};
    CU_ASSERT_EQUAL(coco_unpack_count(&in, UINT64_MAX, &number, &err), -1);
    static const uint8_t DOUBLES[] = {1, 0, 0, 0};
    in = (struct coco_bytes){DOUBLES, DOUBLES + sizeof(DOUBLES)};
    CU_ASSERT_EQUAL(coco_unpack_points(&in, points, 4, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    static const uint8_t OTHER_FORM[] = {2, 0, 0};
    in = (struct coco_bytes){OTHER_FORM, OTHER_FORM + sizeof(OTHER_FORM)};
    CU_ASSERT_EQUAL(coco_unpack_points(&in, points, 2, &err), -1);
}

UNIT_SUITE("data.coco_pack", UNIT(counts_come_back), UNIT(points_come_back_to_the_bit),
           UNIT(every_number_of_hundredths_comes_back), UNIT(damaged_bytes_are_refused))
