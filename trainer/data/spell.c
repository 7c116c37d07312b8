#include "data/spell.h"

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

bool spell_is_plain(const char *text) {
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

/* The next character of TEXT, which moves on; a byte that begins none counts alone. */
static uint32_t next_character(const char **text) {
    const unsigned char *at = (const unsigned char *)*text;
    int more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : 0;
    uint32_t character = more == 0 ? *at < 0x80 ? *at : 0xfffd : *at & (0x3fU >> more);
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            *text += 1;
            return 0xfffd;
        }
        character = character << 6 | (at[i] & 0x3fU);
    }
    *text += more + 1;
    return character;
}

int spell_ascii(const char *text, struct buf *out, struct error *err) {
    int failed = 0;
    while (failed == 0 && *text != '\0') {
        uint32_t character = next_character(&text);
        if (character >= ' ' && character <= '~')
            failed = buf_add(out, &(char){(char)character}, 1, err);
        else if (character >= FIRST && character <= LAST)
            failed = buf_add_text(out, LATIN[character - FIRST], err);
        else
            failed = buf_printf(out, err, "U+%04X", character);
    }
    return failed;
}
