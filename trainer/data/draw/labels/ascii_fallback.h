/* Transliteration of UTF-8 text to the available letters: ASCII, which labels can always draw, and
 * those of fonts. Other Latin letters lose their accents ("Kase" for "Käse"), any other character
 * becomes U+ and its number. */
#ifndef TRAINER_DATA_DRAW_LABELS_ASCII_FALLBACK_H
#define TRAINER_DATA_DRAW_LABELS_ASCII_FALLBACK_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/draw/labels/fonts.h"

#include <stdbool.h>

/* Returns true if all of TEXT can be drawn as it is. FONTS NULL: printable ASCII only. */
bool ascii_fallback_is_plain(struct fonts *fonts, const char *text);

/* Appends TEXT, transliterated so that ascii_fallback_is_plain is true. */
int ascii_fallback(struct fonts *fonts, const char *text, struct buf *out, struct error *err);

#endif
