/* Glyphs from font files, through FreeType. The first font of a list that has a character is used.
 * Characters are placed one after the other: combining marks are placed as the font says, but
 * there is no shaping (Arabic) and no right-to-left text. Not thread safe.
 *
 * Builds without FreeType use fonts_absent.c instead of fonts.c: no file can be added there. */
#ifndef TRAINER_DATA_DRAW_LABELS_FONTS_H
#define TRAINER_DATA_DRAW_LABELS_FONTS_H

#include "common/error.h"
#include "trainer/data/draw/labels/glyph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FONTS_MAX = 8, FONT_BYTES_MAX = 256 * 1024 * 1024, FONT_EM_MAX = 256 };

struct fonts;

/* Returns "FreeType" and its version, or NULL in a build without it. */
const char *fonts_library(void);

/* Font files as installed on Debian and Ubuntu, NULL-terminated: the first for Latin, Greek and
 * Cyrillic, the others for Chinese, Japanese and Korean. */
extern const char *const FONTS_KNOWN[];

/* Returns an empty list, owned by the caller, or NULL. */
struct fonts *fonts_new(struct error *err);
void fonts_free(struct fonts *fonts);

/* Appends the font file PATH to the list. A file that cannot be read, or is not a font with
 * outlines and a Unicode character map, is an error with EXIT_CODE_DATA that names PATH and
 * changes nothing; in a build without FreeType EXIT_CODE_USAGE. */
int fonts_add(struct fonts *fonts, const char *path, struct error *err);

size_t fonts_count(const struct fonts *fonts);

/* Returns CHARACTER at EM pixels (1 to FONT_EM_MAX) an em, from the first font that has it; NULL
 * if none has, or the glyph is damaged or larger than a few ems. Owned by FONTS and valid until
 * the next call. FONTS may be NULL: an empty list. */
const struct glyph *fonts_glyph(struct fonts *fonts, uint32_t character, int em);

#endif
