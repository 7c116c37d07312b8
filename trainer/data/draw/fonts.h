/* Letters out of font files, through FreeType. A list of fonts is asked in order, character by
 * character. Letters stand one after the other: marks that combine are put where the font says, but
 * nothing is joined (Arabic) or written from right to left. Not thread safe.
 *
 * A build without FreeType has fonts_absent.c in place of fonts.c: no file can be added there. */
#ifndef TRAINER_DATA_DRAW_FONTS_H
#define TRAINER_DATA_DRAW_FONTS_H

#include "common/error.h"
#include "trainer/data/draw/glyph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FONTS_MAX = 8, FONT_BYTES_MAX = 256 * 1024 * 1024, FONT_EM_MAX = 256 };

struct fonts;

/* "FreeType" and its version, or NULL where this build has none. */
const char *fonts_library(void);

/* Files of fonts as Debian and Ubuntu install them, NULL at the end: the first one for Latin, Greek
 * and Cyrillic, the others for Chinese, Japanese and Korean. */
extern const char *const FONTS_KNOWN[];

/* An empty list, the caller's, or NULL. */
struct fonts *fonts_new(struct error *err);
void fonts_free(struct fonts *fonts);

/* Puts the font file PATH behind those that are there. A file that cannot be read, or is no font
 * with outlines and Unicode's numbers, is an error with EXIT_CODE_DATA that names PATH, and changes
 * nothing; in a build without FreeType it is one with EXIT_CODE_USAGE. */
int fonts_add(struct fonts *fonts, const char *path, struct error *err);

size_t fonts_count(const struct fonts *fonts);

/* CHARACTER at EM pixels (1 to FONT_EM_MAX) an em, of the first font that has it; NULL when none
 * has, or it is damaged or larger than a few ems there. Owned by FONTS until the next call. FONTS
 * may be NULL: an empty list. */
const struct glyph *fonts_glyph(struct fonts *fonts, uint32_t character, int em);

#endif
