#include "trainer/data/draw/labels/label.h"

#include "tests/support/fonts.h"

#include <string.h>

enum { WIDTH = 640, HEIGHT = 160, X = 20, Y = 15 };

static const uint8_t GRAY[IMAGE_CHANNELS] = {100, 100, 100};

/* Paints TEXT on grey; RET is image_done's. */
static struct label_size paint(struct image *ret, struct fonts *fonts, const char *text, int dot) {
    CU_ASSERT_EQUAL_FATAL(image_resize(ret, WIDTH, HEIGHT, NULL), 0);
    memset(ret->pixels, GRAY[0], (size_t)WIDTH * HEIGHT * IMAGE_CHANNELS);
    label_paint(ret, X, Y, fonts, text, color_of(4), dot);
    return label_measure(fonts, text, dot);
}

static bool is(const struct image *image, int x, int y, const uint8_t color[IMAGE_CHANNELS]) {
    return memcmp(image_pixel(image, x, y), color, IMAGE_CHANNELS) == 0;
}

/* Pixels of the plate that are not its own colour; none may be outside, none on its rim. */
static int ink(const struct image *image, const struct label_size *size) {
    int inside = 0, outside = 0, rim = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            bool on_plate = x >= X && y >= Y && x < X + size->width && y < Y + size->height;
            bool on_rim =
                on_plate && (y == Y || y == Y + size->height - 1 || x == X + size->width - 1);
            outside += !on_plate && !is(image, x, y, GRAY);
            inside += on_plate && !is(image, x, y, color_of(4).channel);
            rim += on_rim && !is(image, x, y, color_of(4).channel);
        }
    CU_ASSERT_EQUAL(outside, 0);
    CU_ASSERT_EQUAL(rim, 0);
    return inside;
}

static bool same_picture(const struct image *a, const struct image *b) {
    return memcmp(a->pixels, b->pixels, (size_t)WIDTH * HEIGHT * IMAGE_CHANNELS) == 0;
}

static void without_fonts_letters_are_dots(void) {
    cleanup_image struct image image = {0};
    struct label_size size = paint(&image, NULL, "L", 1);
    CU_ASSERT_EQUAL(size.width, 9);
    CU_ASSERT_EQUAL(size.height, 11);
    /* Seven dots upright, and four more at the foot. */
    CU_ASSERT_EQUAL(ink(&image, &size), 11);
    CU_ASSERT_FALSE(is(&image, X + 2, Y + 1, color_of(4).channel));
    CU_ASSERT(is(&image, X + 4, Y + 1, color_of(4).channel));
    size = paint(&image, NULL, "LL", 3);
    CU_ASSERT_EQUAL(size.width, 15 * 3);
    CU_ASSERT_EQUAL(size.height, 11 * 3);
    CU_ASSERT_EQUAL(ink(&image, &size), 22 * 9);
}

static void a_dot_has_bounds(void) {
    struct label_size least = label_measure(NULL, "L", -5), most = label_measure(NULL, "L", 1000);
    CU_ASSERT_EQUAL(least.height, 11);
    CU_ASSERT_EQUAL(most.height, 11 * LABEL_DOT_MAX);
}

static void every_script_stays_on_its_plate(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    static const char *const TEXTS[] = {
        "K\xc3\xa4se \xc3\x85ngstr\xc3\xb6m",       /* umlauts */
        "\xce\xb3\xce\xac\xcf\x84\xce\xb1",         /* Greek */
        "\xd0\xba\xd0\xbe\xd1\x88\xd0\xba\xd0\xb0", /* Cyrillic */
        "jfj \xe1\xba\xa4\xe1\xbb\xa8 |_|",         /* far up, left, down */
        "\xcc\x88u\xcc\x88",                        /* combining */
        "\xe7\x8c\xab",                             /* in no font here */
        "",
    };
    cleanup_image struct image image = {0};
    struct fonts *fonts = fonts_of(FONTS_SANS);
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
        for (int dot = 1; dot <= 4; dot++) {
            struct label_size size = paint(&image, fonts, TEXTS[i], dot);
            CU_ASSERT((ink(&image, &size) > 8 * dot) == (TEXTS[i][0] != '\0'));
            CU_ASSERT(size.base > 0 && size.base < size.height);
        }
    fonts_free(fonts);
}

static void marks_are_seen(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    static const char *const OTHERS[] = {"Kase", "K?se", "K\xc3\xa0se", "K\xd0\xb0se!"};
    cleanup_image struct image image = {0}, other = {0}, dots = {0};
    struct fonts *fonts = fonts_of(FONTS_SANS);
    (void)paint(&image, fonts, "K\xc3\xa4se", 1);
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        (void)paint(&other, fonts, OTHERS[i], 1);
        CU_ASSERT_FALSE(same_picture(&image, &other));
    }
    (void)paint(&dots, NULL, "K\xc3\xa4se", 1);
    CU_ASSERT_FALSE(same_picture(&image, &dots));
    (void)paint(&other, fonts, "K\xc3\xa4se", 1);
    CU_ASSERT(same_picture(&image, &other));
    fonts_free(fonts);
}

static void what_lies_outside_is_clipped(void) {
    cleanup_image struct image image = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 8, 8, NULL), 0);
    memset(image.pixels, GRAY[0], (size_t)8 * 8 * IMAGE_CHANNELS);
    label_paint(&image, -20, -5, NULL, "label", color_of(2), 2);
    CU_ASSERT_FALSE(is(&image, 0, 0, GRAY));
    label_paint(&image, 6, 7, NULL, "label", color_of(2), 8);
    CU_ASSERT(is(&image, 7, 7, color_of(2).channel));
}

/* What hangs below the line has its room whether a letter does or not. */
static void a_plate_is_as_high_for_every_letter(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    struct fonts *fonts = fonts_of(FONTS_SANS);
    for (int dot = 1; dot <= 4; dot++) {
        struct label_size low = label_measure(fonts, "x", dot);
        struct label_size high = label_measure(fonts, "gjpqy", dot);
        CU_ASSERT(low.height == high.height && low.base == high.base);
        /* Ten rows above the line, three below it and a margin on both sides. */
        CU_ASSERT_EQUAL(low.height, 15 * dot);
        CU_ASSERT_EQUAL(low.base, 11 * dot);
    }
    fonts_free(fonts);
}

/* Black on what is light to the eye, white on what is dark: green is lighter than red, and blue
 * darker. */
static void letters_stand_out_from_their_plate(void) {
    static const struct {
        struct color plate;
        uint8_t ink;
    } rows[] = {{{{0, 0, 0}}, 255},     {{{255, 255, 255}}, 0}, {{{110, 110, 110}}, 255},
                {{{111, 111, 111}}, 0}, {{{0, 255, 0}}, 0},     {{{255, 0, 0}}, 255},
                {{{0, 0, 255}}, 255}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_image struct image image = {0};
        const uint8_t ink[IMAGE_CHANNELS] = {rows[i].ink, rows[i].ink, rows[i].ink};
        int found = 0;
        CU_ASSERT_EQUAL_FATAL(image_resize(&image, 20, 20, NULL), 0);
        memset(image.pixels, GRAY[0], (size_t)20 * 20 * IMAGE_CHANNELS);
        label_paint(&image, 2, 2, NULL, "L", rows[i].plate, 1);
        for (int at = 0; at < 20 * 20; at++)
            found += is(&image, at % 20, at / 20, ink);
        CU_ASSERT_EQUAL(found, 11);
    }
}

UNIT_SUITE("data.label", UNIT(a_plate_is_as_high_for_every_letter),
           UNIT(letters_stand_out_from_their_plate), UNIT(without_fonts_letters_are_dots),
           UNIT(a_dot_has_bounds), UNIT(every_script_stays_on_its_plate), UNIT(marks_are_seen),
           UNIT(what_lies_outside_is_clipped))
