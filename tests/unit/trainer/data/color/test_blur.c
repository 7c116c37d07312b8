/* Blurred pictures beside torchvision's, the drawn deviations as a distribution, and wrong words.
 */
#include "trainer/data/color/blur.h"

#include "tests/golden/blurs.h"
#include "tests/support/distribution.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { DRAWS = 10000, PIXELS = 3 * GOLDEN_WIDTH * GOLDEN_HEIGHT };

static struct blur blur_of(const char *text) {
    struct blur blur;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(blur_parse(text, &blur, &err), 0);
    return blur;
}

/* The sums are those of a product kernel in another order: a value half way between two may be
 * rounded to the other. */
static void pictures_are_torchvisions(void) {
    for (size_t k = 1; k < sizeof(golden_blurs) / sizeof(golden_blurs[0]); k++) {
        const struct blur blur = {.kernel = golden_blurs[k].kernel};
        uint8_t pixels[PIXELS];
        struct error err = {0};
        int worst = 0, others = 0;
        memcpy(pixels, golden_blurs[0].pixels, sizeof(pixels));
        CU_ASSERT_EQUAL_FATAL(blur_render(&blur, golden_blurs[k].deviation, pixels, GOLDEN_WIDTH,
                                          GOLDEN_HEIGHT, &err),
                              0);
        for (int i = 0; i < PIXELS; i++) {
            const int apart = abs(pixels[i] - golden_blurs[k].pixels[i]);
            worst = apart > worst ? apart : worst;
            others += apart > 0;
        }
        CU_ASSERT(worst <= 1);
        CU_ASSERT(others <= 1);
    }
}

/* A kernel that is larger than the picture is reflected more than once; a grey picture stays as it
 * is. */
static void any_size_is_taken(void) {
    for (int side = 1; side < 9; side++) {
        uint8_t pixels[8 * 8 * 3];
        struct error err = {0};
        const struct blur blur = blur_of("63:0.1,50");
        memset(pixels, 77, sizeof(pixels));
        CU_ASSERT_EQUAL_FATAL(blur_render(&blur, 30, pixels, side, 9 - side, &err), 0);
        for (size_t i = 0; i < sizeof(pixels); i++)
            CU_ASSERT_EQUAL(pixels[i], 77);
    }
}

static void none_changes_nothing(void) {
    const struct blur none = blur_of("none");
    uint8_t pixels[12] = {1, 200, 3, 40, 5, 60, 7, 80, 9, 100, 11, 120}, same[12];
    memcpy(same, pixels, sizeof(same));
    CU_ASSERT_EQUAL(blur_render(&none, blur_draw(&none, 1, 2, 3), pixels, 2, 2, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(pixels, same, sizeof(same)), 0);
}

static void deviations_are_uniform_and_keyed(void) {
    static double values[DRAWS];
    const struct blur blur = blur_of("5:0.1,2");
    for (uint64_t i = 0; i < DRAWS; i++)
        values[i] = blur_draw(&blur, 5, 3, i);
    CU_ASSERT_EQUAL(values[7], blur_draw(&blur, 5, 3, 7));
    CU_ASSERT_NOT_EQUAL(values[7], blur_draw(&blur, 5, 4, 7));
    CU_ASSERT_NOT_EQUAL(values[7], blur_draw(&blur, 6, 3, 7));
    check_distribution(values, DRAWS, uniform_share, 0.1, 2);
}

static void what_is_no_blur_is_refused(void) {
    static const char *const wrong[] = {"",       "5",       "5:1",    "4:1,2",   "1:1,2",
                                        "65:1,2", "5:2,1",   "5:0,1",  "5:1,101", "5:1,2,3",
                                        ":1,2",   "5:nan,1", "5:1,2 ", "5.0:1,2"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct blur blur;
        struct error err = {0};
        CU_ASSERT_EQUAL(blur_parse(wrong[i], &blur, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "KERNEL:MIN,MAX");
    }
}

UNIT_SUITE("data.blur", UNIT(pictures_are_torchvisions), UNIT(any_size_is_taken),
           UNIT(none_changes_nothing), UNIT(deviations_are_uniform_and_keyed),
           UNIT(what_is_no_blur_is_refused))
