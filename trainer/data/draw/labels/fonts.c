#include "trainer/data/draw/labels/fonts.h"

#include "common/file/file.h"

#include <stdlib.h>
#include <string.h>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

/* A thin layer over FreeType, the only file that includes its headers. Font files may come from a
 * user: their size and that of letters have limits, and the programs within fonts are not run.
 *
 * A letter is rendered once for each size and kept in a small cache, as labels repeat a few dozen
 * letters. Files are read into memory whole, so that a later change of a file has no effect. */

/* Letters larger than this many ems in a direction are considered damaged: they would cover the
 * picture. */
enum { REACH = 3 };

/* Size of the cache of letters; each letter has a fixed slot. */
enum { PLACES = 512 };

/* Two steps, so that a macro's value and not its name becomes text. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *const FONTS_KNOWN[] = {
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    NULL,
};

struct font {
    FT_Face face;
    struct buf bytes; /* contents of the file, from which the face reads */
};

/* Entry of the cache: a letter at a size, or the knowledge that no font has it. */
struct place {
    bool used;
    bool there; /* false: no font has it */
    uint32_t character;
    int em;
    struct glyph glyph;
    uint8_t *coverage; /* owned */
};

struct fonts {
    FT_Library library;
    struct font list[FONTS_MAX];
    size_t count;
    struct place places[PLACES];
};

const char *fonts_library(void) {
    return "FreeType " TEXT(FREETYPE_MAJOR) "." TEXT(FREETYPE_MINOR) "." TEXT(FREETYPE_PATCH);
}

/* Empties the cache. A letter that no font had may be in one that was added. */
static void forget_letters(struct fonts *fonts) {
    for (size_t i = 0; i < PLACES; i++) {
        free(fonts->places[i].coverage);
        fonts->places[i] = (struct place){0};
    }
}

/* The face goes before the bytes that it reads from. */
static void font_done(struct font *font) {
    if (font->face != NULL)
        (void)FT_Done_Face(font->face);
    buf_done(&font->bytes);
    *font = (struct font){0};
}

struct fonts *fonts_new(struct error *err) {
    struct fonts *fonts = calloc(1, sizeof(*fonts));
    if (fonts == NULL || FT_Init_FreeType(&fonts->library) != 0) {
        (void)error_no_memory(err, "fonts");
        free(fonts);
        return NULL;
    }
    return fonts;
}

void fonts_free(struct fonts *fonts) {
    if (fonts == NULL)
        return;
    forget_letters(fonts);
    for (size_t i = 0; i < fonts->count; i++)
        font_done(&fonts->list[i]);
    (void)FT_Done_FreeType(fonts->library);
    free(fonts);
}

/* Opens the first face of a file; collections (.ttc) have several. On failure FONT may hold parts,
 * which font_done frees. */
static int font_open(struct font *font, FT_Library library, const char *path, struct error *err) {
    buf_init(&font->bytes, FONT_BYTES_MAX);
    if (file_read(path, &font->bytes, err) != 0)
        return -1;
    FT_Error failed = FT_New_Memory_Face(library, (const FT_Byte *)buf_text(&font->bytes),
                                         (FT_Long)font->bytes.size, 0, &font->face);
    if (failed != 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: not a font, or damaged (FreeType's error 0x%02x)", path,
                         (unsigned)failed);
    if (!FT_IS_SCALABLE(font->face))
        return error_set(err, EXIT_CODE_DATA, "%s: a bitmap font, without outlines", path);
    if (FT_Select_Charmap(font->face, FT_ENCODING_UNICODE) != 0)
        return error_set(err, EXIT_CODE_DATA, "%s: a font without a Unicode character map", path);
    return 0;
}

int fonts_add(struct fonts *fonts, const char *path, struct error *err) {
    if (fonts->count == FONTS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%s: more than %d fonts", path, FONTS_MAX);
    /* Opened in place: a font that fails leaves the place to the next one. */
    struct font *font = &fonts->list[fonts->count];
    if (font_open(font, fonts->library, path, err) != 0) {
        font_done(font);
        return -1;
    }
    fonts->count++;
    /* Letters that were looked up before may be in the new font. */
    forget_letters(fonts);
    return 0;
}

/* NULL stands for an empty list, as in fonts_glyph. */
size_t fonts_count(const struct fonts *fonts) {
    return fonts == NULL ? 0 : fonts->count;
}

/* Renders the letter's coverage into the slot of the face, where it stays until the next letter.
 * Uses FreeType's own light hinter, so that programs in fonts are not run. False if the font has no
 * such letter, or its outline is larger than REACH allows. */
static bool render(FT_Face face, uint32_t character, int em) {
    /* Index 0 is the font's box for missing letters. */
    FT_UInt index = FT_Get_Char_Index(face, character);
    if (index == 0 || FT_Set_Pixel_Sizes(face, 0, (FT_UInt)em) != 0 ||
        FT_Load_Glyph(face, index, FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP) != 0)
        return false;
    FT_GlyphSlot slot = face->glyph;
    /* A scalable font may still have pictures for single letters, as those of emoji. */
    if (slot->format != FT_GLYPH_FORMAT_OUTLINE)
        return false;
    FT_BBox box;
    FT_Outline_Get_CBox(&slot->outline, &box);
    /* Coordinates of outlines are in 64ths of a pixel. */
    const FT_Pos most = (FT_Pos)REACH * em * 64;
    if (box.xMin < -most || box.yMin < -most || box.xMax > most || box.yMax > most ||
        slot->advance.x > most)
        return false;
    return FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) == 0 &&
           (slot->bitmap.rows == 0 ||
            (slot->bitmap.pixel_mode == FT_PIXEL_MODE_GRAY && slot->bitmap.pitch > 0));
}

/* Copies the rendered letter to PLACE, with rows without gaps. The advance is in 64ths of a pixel
 * and is rounded; a letter never moves the pen back. */
static bool keep(struct place *place, FT_GlyphSlot slot) {
    size_t width = slot->bitmap.width, height = slot->bitmap.rows;
    /* One byte more, as a blank has no pixels and malloc of 0 bytes may return NULL. */
    place->coverage = malloc(width * height + 1);
    if (place->coverage == NULL)
        return false;
    for (size_t row = 0; row < height; row++)
        memcpy(place->coverage + row * width,
               slot->bitmap.buffer + row * (size_t)slot->bitmap.pitch, width);
    FT_Pos advance = slot->advance.x < 0 ? 0 : (slot->advance.x + 32) / 64;
    place->glyph = (struct glyph){.coverage = place->coverage,
                                  .width = (int)width,
                                  .height = (int)height,
                                  .left = slot->bitmap_left,
                                  .top = slot->bitmap_top,
                                  .advance = (int)advance};
    return true;
}

/* A letter's place in the cache follows from its code and size. Another letter with the same place
 * takes it over, and its coverage is freed. */
const struct glyph *fonts_glyph(struct fonts *fonts, uint32_t character, int em) {
    if (fonts == NULL || em < 1 || em > FONT_EM_MAX)
        return NULL;
    struct place *place = &fonts->places[(character + (uint32_t)em * 31) % PLACES];
    if (!place->used || place->character != character || place->em != em) {
        free(place->coverage);
        *place = (struct place){.used = true, .character = character, .em = em};
        /* The first font that has the letter, in the order in which fonts were added. */
        for (size_t i = 0; i < fonts->count && !place->there; i++)
            place->there = render(fonts->list[i].face, character, em) &&
                           keep(place, fonts->list[i].face->glyph);
    }
    return place->there ? &place->glyph : NULL;
}
