#include "tests/support/unit.h"
#include "trainer/backend/cpu/detect/roi_table.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 40, BINS = 7, FENCE = 64 };

/* Both lists against the weights themselves, for regions inside, over the border and smaller than a
 * pixel; the list of pixels for a band of the map alone. */
static void check(const struct roi_rule *rule, float low, float high) {
    size_t bytes = roi_table_bytes(rule, SIZE);
    char *memory = aligned_alloc(64, bytes + FENCE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    memset(memory + bytes, 0x7f, FENCE);
    struct roi_table t = roi_table_in(memory, rule, SIZE);
    struct roi_axis axis = roi_axis_between(low, high, 0.5F, SIZE, rule);
    float seen[BINS][SIZE] = {{0}};
    roi_table_bins(&t, &axis, BINS);
    CU_ASSERT_EQUAL(t.axis.count, BINS);
    for (int bin = 0; bin < BINS; bin++)
        for (int k = t.axis.first[bin]; k < t.axis.first[bin + 1]; k++)
            seen[t.axis.place[bin]][t.axis.taps[k].at] += t.axis.taps[k].weight;
    for (int bin = 0; bin < BINS; bin++)
        for (int pixel = 0; pixel < SIZE; pixel++)
            CU_ASSERT_DOUBLE_EQUAL((double)seen[bin][pixel],
                                   (double)roi_axis_weight(&axis, bin, pixel), 1e-6);
    roi_table_pixels(&t, &axis, BINS, 8, 24);
    float gone = 0;
    for (size_t i = 0; i < t.axis.count; i++)
        for (int k = t.axis.first[i]; k < t.axis.first[i + 1]; k++) {
            int pixel = t.axis.place[i] + 8;
            CU_ASSERT(pixel >= 8 && pixel < 24 &&
                      (i == 0 || t.axis.place[i] > t.axis.place[i - 1]));
            CU_ASSERT_DOUBLE_EQUAL((double)t.axis.taps[k].weight,
                                   (double)seen[t.axis.taps[k].at][pixel], 1e-6);
            gone += t.axis.taps[k].weight;
        }
    for (int bin = 0; bin < BINS; bin++)
        for (int pixel = 8; pixel < 24; pixel++)
            gone -= seen[bin][pixel];
    CU_ASSERT_DOUBLE_EQUAL((double)gone, 0, 1e-5);
    CU_ASSERT(t.axis.count == 0 || roi_axis_reaches(&axis, BINS, 8, 24));
    for (size_t i = 0; i < FENCE; i++)
        CU_ASSERT_EQUAL(memory[bytes + i], 0x7f);
    free(memory);
}

static void lists_hold_what_pixels_weigh(void) {
    for (int sampling = 0; sampling < 4; sampling++)
        for (int aligned = 0; aligned < 2; aligned++) {
            struct roi_rule rule = {.bins = BINS, .sampling = sampling, .aligned = aligned == 1};
            check(&rule, 3.3F, 71.9F);
            check(&rule, -20, 12);
            check(&rule, 60, 90);
            check(&rule, 0, 80); /* all of the map: the longest lists */
            check(&rule, 0.9F, 79.3F);
            check(&rule, 30.1F, 30.4F);
            check(&rule, -500, 500);
            check(&rule, 200, 300);
            check(&rule, NAN, 10);
            check(&rule, 50, 20);
        }
}

UNIT_SUITE("cpu.roi_table", UNIT(lists_hold_what_pixels_weigh))
