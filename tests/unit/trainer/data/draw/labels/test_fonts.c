#include "trainer/data/draw/labels/fonts.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "tests/support/fonts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EM = 11 };

/* A copy of a letter that the test owns. */
struct letter {
    struct glyph glyph;
    uint8_t coverage[4096];
};

static int ink(const struct glyph *glyph) {
    int sum = 0;
    for (int i = 0; i < glyph->width * glyph->height; i++)
        sum += glyph->coverage[i];
    return sum;
}

static void take(struct fonts *fonts, uint32_t character, struct letter *ret) {
    const struct glyph *glyph = fonts_glyph(fonts, character, EM);
    CU_ASSERT_PTR_NOT_NULL_FATAL(glyph);
    size_t size = (size_t)(glyph->width * glyph->height);
    CU_ASSERT_FATAL(size <= sizeof(ret->coverage));
    ret->glyph = *glyph;
    memcpy(ret->coverage, glyph->coverage, size);
    ret->glyph.coverage = ret->coverage;
}

static bool same(const struct letter *a, const struct letter *b) {
    return a->glyph.width == b->glyph.width && a->glyph.height == b->glyph.height &&
           memcmp(a->coverage, b->coverage, (size_t)(a->glyph.width * a->glyph.height)) == 0;
}

static void letters_have_shapes_of_their_own(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    /* a, ä, Å, ß, Greek omega, Cyrillic zhe. */
    static const uint32_t CHARACTERS[] = {'a', 0xe4, 0xc5, 0xdf, 0x3c9, 0x436};
    enum { COUNT = sizeof(CHARACTERS) / sizeof(CHARACTERS[0]) };
    static struct letter letters[COUNT];
    struct fonts *fonts = fonts_of(FONTS_SANS);
    for (size_t i = 0; i < COUNT; i++) {
        take(fonts, CHARACTERS[i], &letters[i]);
        CU_ASSERT(ink(&letters[i].glyph) > 5 * 255);
        CU_ASSERT(letters[i].glyph.advance > 3 && letters[i].glyph.advance <= EM);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_FALSE(same(&letters[i], &letters[j]));
    }
    /* The dots of the ä are higher than an a, and both have the same baseline. */
    CU_ASSERT(letters[1].glyph.top > letters[0].glyph.top);
    CU_ASSERT_EQUAL(letters[1].glyph.height - letters[1].glyph.top,
                    letters[0].glyph.height - letters[0].glyph.top);
    fonts_free(fonts);
}

static void a_blank_takes_room_and_no_ink(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    struct fonts *fonts = fonts_of(FONTS_SANS);
    const struct glyph *blank = fonts_glyph(fonts, ' ', EM);
    CU_ASSERT_PTR_NOT_NULL_FATAL(blank);
    CU_ASSERT_EQUAL(ink(blank), 0);
    CU_ASSERT(blank->advance > 1 && blank->advance < EM);
    fonts_free(fonts);
}

/* Then a row of the letter is one byte. */
static void a_letter_may_be_one_pixel_wide(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    struct fonts *fonts = fonts_of(FONTS_SANS);
    bool met = false;
    for (int em = 4; em <= EM && !met; em++) {
        const struct glyph *stroke = fonts_glyph(fonts, 'l', em);
        CU_ASSERT_PTR_NOT_NULL_FATAL(stroke);
        met = stroke->width == 1 && ink(stroke) > 0;
    }
    CU_ASSERT(met);
    fonts_free(fonts);
}

static void letters_come_again_as_they_were(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    static struct letter first, again;
    struct fonts *fonts = fonts_of(FONTS_SANS);
    take(fonts, 0x436, &first);
    /* This looks up more letters than are kept. */
    for (uint32_t c = 0x20; c < 0x500; c++)
        (void)fonts_glyph(fonts, c, EM);
    take(fonts, 0x436, &again);
    CU_ASSERT(same(&first, &again));
    const struct glyph *large = fonts_glyph(fonts, 0x436, 4 * EM);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    CU_ASSERT(large->height > 3 * first.glyph.height);
    CU_ASSERT_PTR_NULL(fonts_glyph(fonts, 0x436, 0));
    CU_ASSERT_PTR_NULL(fonts_glyph(fonts, 0x436, FONT_EM_MAX + 1));
    fonts_free(fonts);
}

static void the_next_font_has_what_one_lacks(void) {
    if (!fonts_can(FONTS_SANS) || !fonts_can(FONTS_MONO))
        return;
    /* Only Sans has this old Cyrillic letter, and neither font has the hieroglyph. */
    enum { OLD_CYRILLIC = 0x460, HIEROGLYPH = 0x13000 };
    static struct letter mono, after;
    struct fonts *fonts = fonts_of(FONTS_MONO);
    CU_ASSERT_PTR_NULL(fonts_glyph(fonts, OLD_CYRILLIC, EM));
    take(fonts, 'i', &mono);
    CU_ASSERT_EQUAL(fonts_add(fonts, FONTS_SANS, NULL), 0);
    CU_ASSERT_EQUAL(fonts_count(fonts), 2);
    CU_ASSERT_PTR_NOT_NULL(fonts_glyph(fonts, OLD_CYRILLIC, EM));
    CU_ASSERT_PTR_NULL(fonts_glyph(fonts, HIEROGLYPH, EM));
    take(fonts, 'i', &after);
    CU_ASSERT(same(&mono, &after));
    fonts_free(fonts);
}

static void well_known_cjk_fonts_have_cjk(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    size_t tried = 0;
    for (size_t i = 1; FONTS_KNOWN[i] != NULL; i++) {
        if (access(FONTS_KNOWN[i], R_OK) != 0)
            continue;
        struct fonts *fonts = fonts_of(FONTS_KNOWN[i]);
        const struct glyph *cat = fonts_glyph(fonts, 0x732b, EM);
        CU_ASSERT_PTR_NOT_NULL_FATAL(cat);
        CU_ASSERT(ink(cat) > 10 * 255);
        fonts_free(fonts);
        tried++;
    }
    if (tried == 0)
        CU_ASSERT_STRING_EQUAL(FONTS_KNOWN[0], FONTS_SANS);
}

static void an_empty_list_has_nothing(void) {
    struct fonts *fonts = fonts_of(NULL);
    CU_ASSERT_EQUAL(fonts_count(fonts), 0);
    CU_ASSERT_PTR_NULL(fonts_glyph(fonts, 'a', EM));
    CU_ASSERT_EQUAL(fonts_count(NULL), 0);
    CU_ASSERT_PTR_NULL(fonts_glyph(NULL, 'a', EM));
    fonts_free(fonts);
    fonts_free(NULL);
}

static void refused(struct fonts *fonts, const char *path, const char *bytes, size_t size) {
    struct error err = {0};
    if (bytes != NULL)
        CU_ASSERT_EQUAL_FATAL(file_put(path, bytes, size, 0600, &err), 0);
    CU_ASSERT_EQUAL(fonts_add(fonts, path, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
}

/* A bitmap font with one letter, in X11's format BDF, with Unicode numbers. */
static void a_font_of_dots_is_refused(void) {
    static const char DOTS[] =
        "STARTFONT 2.1\nFONT -x-x-medium-r-normal--8-80-75-75-c-80-iso10646-1\nSIZE 8 75 75\n"
        "FONTBOUNDINGBOX 8 8 0 0\nSTARTPROPERTIES 4\nFONT_ASCENT 8\nFONT_DESCENT 0\n"
        "CHARSET_REGISTRY \"ISO10646\"\nCHARSET_ENCODING \"1\"\nENDPROPERTIES\nCHARS 1\n"
        "STARTCHAR A\nENCODING 65\nSWIDTH 1000 0\nDWIDTH 8 0\nBBX 8 8 0 0\nBITMAP\n"
        "FF\n81\n81\n81\n81\n81\n81\nFF\nENDCHAR\nENDFONT\n";
    if (!fonts_can(FONTS_SANS))
        return;
    struct fonts *fonts = fonts_of(NULL);
    struct error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/dots.bdf", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_put(path, DOTS, sizeof(DOTS) - 1, 0600, &err), 0);
    CU_ASSERT_EQUAL(fonts_add(fonts, path, &err), -1);
    ASSERT_CONTAINS(err.text, "dots.bdf: a bitmap font, without outlines");
    CU_ASSERT_EQUAL(fonts_count(fonts), 0);
    fonts_free(fonts);
}

static void broken_fonts_are_named_and_change_nothing(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    char folder[] = "/tmp/ringmaster-fonts.XXXXXX", path[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/font.ttf", folder);
    cleanup_buf struct buf sans = {.max = 1 << 24};
    CU_ASSERT_EQUAL_FATAL(file_read(FONTS_SANS, &sans, NULL), 0);
    struct fonts *fonts = fonts_of(FONTS_SANS);
    refused(fonts, path, NULL, 0);
    refused(fonts, folder, NULL, 0);
    refused(fonts, path, "", 0);
    refused(fonts, path, "no font", 7);
    refused(fonts, path, sans.data, 100);
    refused(fonts, path, sans.data, 3000);
    CU_ASSERT_EQUAL(fonts_count(fonts), 1);
    CU_ASSERT_PTR_NOT_NULL(fonts_glyph(fonts, 0xe4, EM));
    fonts_free(fonts);
    (void)unlink(path);
    (void)rmdir(folder);
}

static uint32_t big_endian(const char *at) {
    const uint8_t *bytes = (const uint8_t *)at;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Returns the offset of a table, from the directory of a TrueType font. */
static uint32_t find_table(const struct buf *font, const char *name, uint32_t *size) {
    for (uint32_t record = 12; record < 12 + 40 * 16; record += 16)
        if (memcmp(font->data + record, name, 4) == 0) {
            *size = big_endian(font->data + record + 12);
            return big_endian(font->data + record + 8);
        }
    CU_FAIL_FATAL("no such table");
    return 0;
}

/* Whatever FreeType makes of damaged outlines, letters stay within their bounds. */
static void damaged_letters_stay_small(void) {
    if (!fonts_can(FONTS_SANS))
        return;
    char path[] = "/tmp/ringmaster-font.XXXXXX";
    cleanup_fd int fd = mkstemp(path);
    cleanup_buf struct buf sans = {.max = 1 << 24};
    CU_ASSERT_EQUAL_FATAL(file_read(FONTS_SANS, &sans, NULL), 0);
    uint32_t random = 1, size = 0, outlines = find_table(&sans, "glyf", &size);
    int painted = 0, refused_letters = 0;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 2000; i++) {
            random = random * 1664525U + 1013904223U;
            sans.data[outlines + (random >> 8) % size] = (char)(random >> 24);
        }
        CU_ASSERT_EQUAL_FATAL(file_put(path, sans.data, sans.size, 0600, NULL), 0);
        struct fonts *fonts = fonts_of(path);
        int beyond = 0;
        for (uint32_t c = 0x20; c < 0x500; c++) {
            const struct glyph *glyph = fonts_glyph(fonts, c, EM);
            painted += glyph != NULL;
            refused_letters += glyph == NULL;
            beyond += glyph != NULL && (glyph->width > 6 * EM + 2 || glyph->height > 6 * EM + 2 ||
                                        glyph->advance < 0 || glyph->advance > 3 * EM + 1);
        }
        CU_ASSERT_EQUAL(beyond, 0);
        fonts_free(fonts);
    }
    CU_ASSERT(painted > 1000 && refused_letters > 1000);
    (void)unlink(path);
}

/* An em of this font is 2048 units; "hmtx" has the advance width and the left side bearing of each
 * letter. */
static void a_letter_may_be_three_ems_wide(void) {
    static const struct {
        unsigned units;
        bool there;
    } steps[] = {
        {0, true}, {2048, true}, {3 * 2048 - 100, true}, {3 * 2048 + 100, false}, {0xffff, false}};
    if (!fonts_can(FONTS_SANS))
        return;
    char path[] = "/tmp/ringmaster-font.XXXXXX";
    cleanup_fd int fd = mkstemp(path);
    cleanup_buf struct buf sans = {.max = 1 << 24};
    CU_ASSERT_EQUAL_FATAL(file_read(FONTS_SANS, &sans, NULL), 0);
    uint32_t size = 0, metrics = find_table(&sans, "hmtx", &size);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        for (uint32_t at = 0; at + 4 <= size; at += 4) {
            sans.data[metrics + at] = (char)(steps[i].units >> 8);
            sans.data[metrics + at + 1] = (char)(steps[i].units & 0xff);
        }
        CU_ASSERT_EQUAL_FATAL(file_put(path, sans.data, sans.size, 0600, NULL), 0);
        struct fonts *fonts = fonts_of(path);
        const struct glyph *glyph = fonts_glyph(fonts, 'a', EM);
        CU_ASSERT_EQUAL(glyph != NULL, steps[i].there);
        if (glyph != NULL)
            CU_ASSERT_EQUAL(glyph->advance, (int)((steps[i].units * EM + 1024) / 2048));
        fonts_free(fonts);
    }
    (void)unlink(path);
}

static void a_build_without_freetype_says_so(void) {
    if (fonts_library() != NULL) {
        CU_ASSERT_PTR_EQUAL(strstr(fonts_library(), "FreeType 2."), fonts_library());
        return;
    }
    struct error err = {0};
    struct fonts *fonts = fonts_of(NULL);
    CU_ASSERT_EQUAL(fonts_add(fonts, FONTS_SANS, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, FONTS_SANS));
    fonts_free(fonts);
}

UNIT_SUITE("data.fonts", UNIT(letters_have_shapes_of_their_own),
           UNIT(a_blank_takes_room_and_no_ink), UNIT(a_letter_may_be_one_pixel_wide),
           UNIT(letters_come_again_as_they_were), UNIT(the_next_font_has_what_one_lacks),
           UNIT(well_known_cjk_fonts_have_cjk), UNIT(an_empty_list_has_nothing),
           UNIT(a_font_of_dots_is_refused), UNIT(broken_fonts_are_named_and_change_nothing),
           UNIT(damaged_letters_stay_small), UNIT(a_letter_may_be_three_ems_wide),
           UNIT(a_build_without_freetype_says_so))
