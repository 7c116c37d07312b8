/* Text in UTF-8 spelled with the letters that there are: ASCII's, which labels always have, and
 * those of fonts. Other Latin letters lose their marks ("Kase" for "Käse"), every other character
 * becomes U+ and its number. */
#ifndef TRAINER_DATA_DRAW_ASCII_FALLBACK_H
#define TRAINER_DATA_DRAW_ASCII_FALLBACK_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/draw/fonts.h"

#include <stdbool.h>

/* True where all of TEXT can be written as it is. FONTS may be NULL: printable ASCII alone. */
bool ascii_fallback_is_plain(struct fonts *fonts, const char *text);

/* Appends TEXT so that ascii_fallback_is_plain is true of it. */
int ascii_fallback(struct fonts *fonts, const char *text, struct buf *out, struct error *err);

#endif
