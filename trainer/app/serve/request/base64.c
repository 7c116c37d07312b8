#include "trainer/app/serve/request/base64.h"

#include <stdint.h>

enum { BITS = 6, GROUP = 4, NO_DIGIT = 64 };

static uint32_t digit_of(char c) {
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a' + 26);
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0' + 52);
    return c == '+' ? 62 : c == '/' ? 63 : NO_DIGIT;
}

/* Returns the length without padding; a padded text has whole groups. */
static size_t length_of(const char *text, size_t size) {
    if (size == 0 || size % GROUP != 0 || text[size - 1] != '=')
        return size;
    return text[size - 2] == '=' ? size - 2 : size - 1;
}

int base64_add(struct buf *out, const char *text, size_t size, struct error *err) {
    const size_t length = length_of(text, size);
    if (length % GROUP == 1)
        return error_set(
            err, EXIT_CODE_DATA,
            "%zu characters of base64: the last group is incomplete; send all of the text", size);
    if (buf_reserve(out, length / GROUP * 3 + 3, err) != 0)
        return -1;
    uint32_t bits = 0, held = 0;
    for (size_t i = 0; i < length; i++) {
        const uint32_t digit = digit_of(text[i]);
        if (digit == NO_DIGIT)
            return error_set(err, EXIT_CODE_DATA, "character %zu is not base64", i + 1);
        bits = bits << BITS | digit;
        held += BITS;
        if (held < 8)
            continue;
        held -= 8;
        out->data[out->size++] = (char)(bits >> held & 0xff);
    }
    out->data[out->size] = '\0';
    return 0;
}
