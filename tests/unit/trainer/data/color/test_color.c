/* Changes of colour beside torchvision's, MXNet's and TensorFlow's with given numbers, and what is
 * drawn as distributions. */
#include "trainer/data/color/color.h"

#include "tests/support/distribution.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GOLDEN_PIXELS = 35, DRAWS = 10000 };

struct golden_color {
    struct color_plan plan;
    uint8_t pixels[3 * GOLDEN_PIXELS];
};
#include "tests/golden/colors.h"

static void pictures_are_the_sources(void) {
    for (size_t k = 1; k < sizeof(golden_colors) / sizeof(golden_colors[0]); k++) {
        const struct golden_color *g = &golden_colors[k];
        uint8_t pixels[3 * GOLDEN_PIXELS];
        int worst = 0, others = 0;
        memcpy(pixels, golden_colors[0].pixels, sizeof(pixels));
        color_render(&g->plan, pixels, GOLDEN_PIXELS);
        for (int i = 0; i < 3 * GOLDEN_PIXELS; i++) {
            int apart = abs(pixels[i] - g->pixels[i]);
            worst = apart > worst ? apart : worst;
            others += apart > 0;
        }
        /* PIL's to the bit; the others round a value in f32 that the source has in f64. */
        if (worst > (g->plan.set == COLOR_TORCHVISION ? 0 : 1) || others > 2)
            printf("case %zu: %d values differ, by up to %d\n", k, others, worst);
        CU_ASSERT(worst <= (g->plan.set == COLOR_TORCHVISION ? 0 : 1));
        CU_ASSERT(others <= 2);
    }
}

static struct color_ranges color_of(const char *text) {
    struct color_ranges color;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(color_parse(text, &color, &err), 0);
    return color;
}

static double normal_share(double x, double low, double high) {
    (void)low, (void)high;
    return 0.5 * erfc(-x / sqrt(2));
}

static void factors_are_uniform_in_their_ranges(void) {
    static double values[DRAWS];
    static const struct {
        const char *color;
        enum color_change change;
        double low, high;
    } rows[] = {
        {"torchvision:0.4,0.3,1.5,0.1", COLOR_BRIGHTNESS, 0.6, 1.4},
        {"torchvision:0.4,0.3,1.5,0.1", COLOR_CONTRAST, 0.7, 1.3},
        {"torchvision:0.4,0.3,1.5,0.1", COLOR_SATURATION, 0, 2.5},
        {"torchvision:0.4,0.3,1.5,0.1", COLOR_HUE, -0.1, 0.1},
        {"mxnet", COLOR_BRIGHTNESS, 0.6, 1.4},
        {"tf", COLOR_SATURATION, 0.6, 1.4},
        {"tf", COLOR_HUE, -0.13, 0.13},
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const struct color_ranges color = color_of(rows[k].color);
        for (uint64_t i = 0; i < DRAWS; i++) {
            struct color_plan plan;
            color_draw(&color, 5, 3, i, &plan);
            values[i] = plan.factor[rows[k].change];
        }
        check_distribution(values, DRAWS, uniform_share, rows[k].low, rows[k].high);
    }
}

/* Along each component the noise is normal: its eigenvectors are orthogonal to four digits. */
static void noise_is_normal_along_the_components(void) {
    static double values[DRAWS];
    static const double components[3][4] = {{-0.5675, -0.5808, -0.5836, 55.46},
                                            {0.7192, -0.0045, -0.6948, 4.794},
                                            {0.4009, -0.8140, 0.4203, 1.148}};
    const struct color_ranges color = color_of("mxnet");
    for (int k = 0; k < 3; k++) {
        const double *c = components[k];
        double length = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
        for (uint64_t i = 0; i < DRAWS; i++) {
            struct color_plan plan;
            color_draw(&color, 9, 0, i, &plan);
            values[i] = (c[0] * plan.offset[0] + c[1] * plan.offset[1] + c[2] * plan.offset[2]) /
                        (length * length * c[3] * 0.1);
        }
        check_distribution(values, DRAWS, normal_share, 0, 0);
    }
}

/* All 24 orders, each as often as the others: chi-squared with 23 degrees of freedom is above 49.7
 * once in a thousand. TensorFlow's order is fixed. */
static void each_order_is_as_likely(void) {
    const struct color_ranges color = color_of("torchvision:0.1,0.1,0.1,0.1"),
                              fixed = color_of("tf");
    int seen[256] = {0}, kinds = 0;
    double chi = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct color_plan plan;
        color_draw(&color, 1, 2, i, &plan);
        int code = 0;
        for (int k = 0; k < plan.count; k++)
            code = 4 * code + (int)plan.order[k];
        CU_ASSERT_EQUAL_FATAL(plan.count, 4);
        seen[code]++;
        color_draw(&fixed, 1, 2, i, &plan);
        CU_ASSERT(plan.order[0] == COLOR_CONTRAST && plan.order[2] == COLOR_HUE);
    }
    for (int i = 0; i < 256; i++) {
        const double wanted = DRAWS / 24.0;
        kinds += seen[i] > 0;
        chi += seen[i] > 0 ? (seen[i] - wanted) * (seen[i] - wanted) / wanted : 0;
    }
    CU_ASSERT_EQUAL(kinds, 24);
    CU_ASSERT(chi < 49.7);
}

/* What is drawn depends on seed, epoch and sample alone, and a change that is left out moves no
 * other's numbers. */
static void numbers_are_keyed(void) {
    const struct color_ranges all = color_of("torchvision:0.4,0.4,0.4,0.1");
    const struct color_ranges some = color_of("torchvision:0.4,0,0.4,0");
    struct color_plan one, same, other;
    color_draw(&all, 7, 1, 42, &one);
    color_draw(&all, 7, 1, 42, &same);
    CU_ASSERT_EQUAL(memcmp(&one, &same, sizeof(one)), 0);
    color_draw(&all, 7, 2, 42, &other);
    CU_ASSERT_NOT_EQUAL(one.factor[0], other.factor[0]);
    color_draw(&all, 7, 1, 43, &other);
    CU_ASSERT_NOT_EQUAL(one.factor[0], other.factor[0]);
    color_draw(&all, 8, 1, 42, &other);
    CU_ASSERT_NOT_EQUAL(one.factor[0], other.factor[0]);
    color_draw(&some, 7, 1, 42, &other);
    CU_ASSERT_EQUAL(other.count, 2);
    CU_ASSERT(one.factor[0] == other.factor[0] && one.factor[2] == other.factor[2]);
}

static void what_is_no_color_is_refused(void) {
    static const char *const wrong[] = {"",
                                        "jitter",
                                        "torchvision",
                                        "torchvision:",
                                        "torchvision:0.4",
                                        "mxnet:0.4",
                                        "MXNET",
                                        "torchvision:0.4,0.4,0.4",
                                        "torchvision:0.4,0.4,0.4,0.6",
                                        "torchvision:-0.1,0,0,0",
                                        "torchvision:0.4,0.4,0.4,0.1,0",
                                        "torchvision:0.4,,0.4,0.1",
                                        "torchvision:nan,0,0,0",
                                        "torchvision:0,0,0,0 "};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct color_ranges color;
        struct error err = {0};
        CU_ASSERT_EQUAL(color_parse(wrong[i], &color, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "--color: '");
    }
}

static void nothing_is_changed_without_color(void) {
    const struct color_ranges none = color_of("none"), still = color_of("torchvision:0,0,0,0");
    const struct color_ranges *const both[] = {&none, &still};
    for (int k = 0; k < 2; k++) {
        uint8_t pixels[3 * GOLDEN_PIXELS];
        struct color_plan plan;
        memcpy(pixels, golden_colors[0].pixels, sizeof(pixels));
        color_draw(both[k], 1, 1, 1, &plan);
        color_render(&plan, pixels, GOLDEN_PIXELS);
        CU_ASSERT_EQUAL(memcmp(pixels, golden_colors[0].pixels, sizeof(pixels)), 0);
    }
}

UNIT_SUITE("data.color", UNIT(pictures_are_the_sources), UNIT(factors_are_uniform_in_their_ranges),
           UNIT(noise_is_normal_along_the_components), UNIT(each_order_is_as_likely),
           UNIT(numbers_are_keyed), UNIT(what_is_no_color_is_refused),
           UNIT(nothing_is_changed_without_color))
