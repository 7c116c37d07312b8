#include "trainer/data/draw/labels/utf8.h"

enum { LAST_CHARACTER = 0x10ffff, SURROGATES = 0xd800, SURROGATES_END = 0xdfff };

uint32_t utf8_next(const char **text) {
    /* Least character of each length: smaller ones are overlong encodings, which are invalid. */
    static const uint32_t LEAST[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    int more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : 0;
    *text += 1;
    if (more == 0)
        return *at < 0x80 ? *at : UTF8_REPLACEMENT;
    uint32_t character = *at & (0x3fU >> more);
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return UTF8_REPLACEMENT;
        character = character << 6 | (at[i] & 0x3fU);
    }
    if (*at >= 0xf8 || character < LEAST[more] || character > LAST_CHARACTER ||
        (character >= SURROGATES && character <= SURROGATES_END))
        return UTF8_REPLACEMENT;
    *text += more;
    return character;
}

size_t utf8_length(const char *text, size_t count) {
    const char *end = text;
    while (count-- > 0 && *end != '\0')
        (void)utf8_next(&end);
    return (size_t)(end - text);
}
