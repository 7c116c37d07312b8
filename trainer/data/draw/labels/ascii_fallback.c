#include "trainer/data/draw/labels/ascii_fallback.h"

#include "trainer/data/draw/labels/utf8.h"

#include <stdint.h>

enum { FIRST = 0xc0, LAST = 0x17f };

/* Latin-1 and Latin Extended-A from U+00C0 on. */
/* clang-format off */
static const char *const LATIN[LAST - FIRST + 1] = {
    "A", "A", "A", "A", "A", "A", "AE", "C", "E", "E", "E", "E", "I", "I", "I", "I",
    "D", "N", "O", "O", "O", "O", "O", "x", "O", "U", "U", "U", "U", "Y", "Th", "ss",
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",
    "d", "n", "o", "o", "o", "o", "o", ":", "o", "u", "u", "u", "u", "y", "th", "y",
    "A", "a", "A", "a", "A", "a", "C", "c", "C", "c", "C", "c", "C", "c", "D", "d",
    "D", "d", "E", "e", "E", "e", "E", "e", "E", "e", "E", "e", "G", "g", "G", "g",
    "G", "g", "G", "g", "H", "h", "H", "h", "I", "i", "I", "i", "I", "i", "I", "i",
    "I", "i", "IJ", "ij", "J", "j", "K", "k", "k", "L", "l", "L", "l", "L", "l", "L",
    "l", "L", "l", "N", "n", "N", "n", "N", "n", "'n", "N", "n", "O", "o", "O", "o",
    "O", "o", "OE", "oe", "R", "r", "R", "r", "R", "r", "S", "s", "S", "s", "S", "s",
    "S", "s", "T", "t", "T", "t", "T", "t", "U", "u", "U", "u", "U", "u", "U", "u",
    "U", "u", "U", "u", "W", "w", "Y", "y", "Y", "Z", "z", "Z", "z", "Z", "z", "s",
};
/* clang-format on */

/* Font size for checking whether a font has a letter. */
enum { ANY_EM = 16 };

static bool is_plain(struct fonts *fonts, uint32_t character) {
    return (character >= ' ' && character <= '~') || fonts_glyph(fonts, character, ANY_EM) != NULL;
}

bool ascii_fallback_is_plain(struct fonts *fonts, const char *text) {
    while (*text != '\0')
        if (!is_plain(fonts, utf8_next(&text)))
            return false;
    return true;
}

int ascii_fallback(struct fonts *fonts, const char *text, struct buf *out, struct error *err) {
    int failed = 0;
    while (failed == 0 && *text != '\0') {
        const char *start = text;
        uint32_t character = utf8_next(&text);
        if (is_plain(fonts, character))
            failed = buf_add(out, start, (size_t)(text - start), err);
        else if (character >= FIRST && character <= LAST)
            failed = buf_add_text(out, LATIN[character - FIRST], err);
        else
            failed = buf_printf(out, err, "U+%04X", character);
    }
    return failed;
}
