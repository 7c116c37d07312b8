#include "trainer/data/draw/labels/label.h"

#include "trainer/data/draw/labels/glyphs.h"
#include "trainer/data/draw/labels/utf8.h"

/* In dots: the plate's margins; rows above and below the baseline for which a plate has space,
 * with the bitmap font alone and with fonts; and the fonts' em, at which they are as wide as the
 * bitmap font. */
enum { MARGIN_LEFT = 2, MARGIN_RIGHT = 1, MARGIN_ROWS = 1 };
enum { DOTS_ABOVE = 7, DOTS_BELOW = GLYPH_HEIGHT - DOTS_ABOVE };
enum { FONT_ABOVE = 10, FONT_BELOW = 3, FONT_EM = 11 };

enum { WHOLE = 255 };

/* Coverage of a bitmap letter. */
struct dots {
    uint8_t coverage[GLYPH_HEIGHT * LABEL_DOT_MAX * GLYPH_WIDTH * LABEL_DOT_MAX];
};

static struct glyph in_dots(uint32_t character, int dot, struct dots *room) {
    const uint8_t *rows = glyph_rows(character < 0x80 ? (char)character : '?');
    int width = GLYPH_WIDTH * dot, height = GLYPH_HEIGHT * dot;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool on = (rows[y / dot] >> (GLYPH_WIDTH - 1 - x / dot)) & 1;
            room->coverage[y * width + x] = on ? WHOLE : 0;
        }
    return (struct glyph){.coverage = room->coverage,
                          .width = width,
                          .height = height,
                          .top = DOTS_ABOVE * dot,
                          .advance = GLYPH_STEP * dot};
}

/* Place at which letters are drawn; they stand on BASE. */
struct sheet {
    struct image *image;
    int left;
    int base;
    struct color ink;
};

static void put(const struct sheet *sheet, const struct glyph *glyph, int left) {
    for (int y = 0; y < glyph->height; y++)
        for (int x = 0; x < glyph->width; x++)
            canvas_blend(sheet->image, sheet->left + left + x, sheet->base - glyph->top + y,
                         sheet->ink, glyph->coverage[y * glyph->width + x]);
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* Lays out the letters of TEXT and returns their size; draws them if there is a SHEET. */
static struct label_size set(struct fonts *fonts, const char *text, int dot,
                             const struct sheet *sheet) {
    bool plain = fonts_count(fonts) == 0;
    int above = (plain ? DOTS_ABOVE : FONT_ABOVE) * dot;
    int below = (plain ? DOTS_BELOW : FONT_BELOW) * dot;
    int pen = 0, right = 0;
    struct dots room;
    while (*text != '\0') {
        uint32_t character = utf8_next(&text);
        const struct glyph *known = fonts_glyph(fonts, character, FONT_EM * dot);
        struct glyph glyph = known != NULL ? *known : in_dots(character, dot, &room);
        /* The part left of the first letter's pen may only use the margin. */
        int left = larger(pen + glyph.left, -MARGIN_LEFT * dot);
        if (sheet != NULL)
            put(sheet, &glyph, left);
        pen += glyph.advance;
        right = larger(right, larger(pen, left + glyph.width));
        above = larger(above, glyph.top);
        below = larger(below, glyph.height - glyph.top);
    }
    return (struct label_size){.width = right + (MARGIN_LEFT + MARGIN_RIGHT) * dot,
                               .height = above + below + 2 * MARGIN_ROWS * dot,
                               .base = above + MARGIN_ROWS * dot};
}

static int in_bounds(int dot) {
    return dot < 1 ? 1 : dot > LABEL_DOT_MAX ? LABEL_DOT_MAX : dot;
}

struct label_size label_measure(struct fonts *fonts, const char *text, int dot) {
    return set(fonts, text, in_bounds(dot), NULL);
}

/* Returns black or white, whichever has more contrast with the plate (weights of ITU-R BT.601). */
static struct color ink_on(struct color plate) {
    int light = (299 * plate.channel[0] + 587 * plate.channel[1] + 114 * plate.channel[2]) / 1000;
    return light > 110 ? (struct color){{0, 0, 0}} : (struct color){{255, 255, 255}};
}

void label_paint(struct image *image, int x, int y, struct fonts *fonts, const char *text,
                 struct color color, int dot) {
    dot = in_bounds(dot);
    struct label_size size = set(fonts, text, dot, NULL);
    canvas_fill(image, &(struct rect){x, y, size.width, size.height}, color, WHOLE);
    struct sheet sheet = {image, x + MARGIN_LEFT * dot, y + size.base, ink_on(color)};
    (void)set(fonts, text, dot, &sheet);
}
