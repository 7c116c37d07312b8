#include "common/json/json_text.h"

#include "common/str.h"

#include <stdint.h>
#include <string.h>

enum {
    HIGH_SURROGATE = 0xd800,
    LOW_SURROGATE = 0xdc00,
    SURROGATES_END = 0xe000,
    REPLACEMENT = 0xfffd,
};

bool json_text_is(const struct json_text *text, const char *word) {
    return strlen(word) == text->size && memcmp(text->bytes, word, text->size) == 0;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The value of the four hex digits at AT; -1 if they are not hex digits. */
static int32_t hex_unit(const char *at, const char *end) {
    int32_t unit = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static int add_code_point(struct buf *out, int32_t point, struct error *err) {
    char bytes[4];
    size_t size = 0;
    uint32_t c = (uint32_t)point;
    if (c < 0x80) {
        bytes[size++] = (char)c;
    } else if (c < 0x800) {
        bytes[size++] = (char)(0xc0 | (c >> 6));
        bytes[size++] = (char)(0x80 | (c & 0x3f));
    } else {
        if (c < 0x10000) {
            bytes[size++] = (char)(0xe0 | (c >> 12));
        } else {
            bytes[size++] = (char)(0xf0 | (c >> 18));
            bytes[size++] = (char)(0x80 | ((c >> 12) & 0x3f));
        }
        bytes[size++] = (char)(0x80 | ((c >> 6) & 0x3f));
        bytes[size++] = (char)(0x80 | (c & 0x3f));
    }
    return buf_add(out, bytes, size, err);
}

/* Decodes a Unicode escape after its "\u" and advances *AT. */
static int add_unicode(const char **at, const char *end, struct buf *out, struct error *err) {
    int32_t unit = hex_unit(*at, end);
    if (unit <= 0)
        return error_set(err, EXIT_CODE_DATA, "a string with a bad \\u escape");
    *at += 4;
    if (unit >= HIGH_SURROGATE && unit < LOW_SURROGATE && end - *at >= 6 && (*at)[0] == '\\' &&
        (*at)[1] == 'u') {
        int32_t low = hex_unit(*at + 2, end);
        if (low >= LOW_SURROGATE && low < SURROGATES_END) {
            *at += 6;
            unit = 0x10000 + ((unit - HIGH_SURROGATE) << 10) + (low - LOW_SURROGATE);
        }
    }
    if (unit >= HIGH_SURROGATE && unit < SURROGATES_END)
        unit = REPLACEMENT;
    return add_code_point(out, unit, err);
}

int json_text_add(const struct json_text *text, struct buf *out, struct error *err) {
    static const char NAMES[] = "\"\\/bfnrt";
    static const char VALUES[] = "\"\\/\b\f\n\r\t";
    const char *at = text->bytes, *end = text->bytes + text->size;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *stop = escape != NULL ? escape : end;
        if (buf_add(out, at, (size_t)(stop - at), err) != 0)
            return -1;
        if (escape == NULL)
            return 0;
        char name = escape + 1 < end ? escape[1] : '\0';
        at = escape + 2;
        const char *known = name != '\0' ? strchr(NAMES, name) : NULL;
        if (name == 'u') {
            if (add_unicode(&at, end, out, err) != 0)
                return -1;
        } else if (known == NULL) {
            return error_set(err, EXIT_CODE_DATA, "a string with an unknown escape");
        } else if (buf_add(out, &VALUES[known - NAMES], 1, err) != 0) {
            return -1;
        }
    }
    return 0;
}

int json_text_quote(struct buf *out, const char *bytes, size_t size, struct error *err) {
    cleanup_buf struct buf clean = {.max = 3 * size + 1};
    if (str_add_utf8(&clean, bytes, size, err) != 0 || buf_add(out, "\"", 1, err) != 0)
        return -1;
    for (size_t i = 0; i < clean.size; i++) {
        char c = clean.data[i];
        int failed = c == '"' || c == '\\' ? buf_printf(out, err, "\\%c", c)
                     : c == '\t'           ? buf_add(out, "\\t", 2, err)
                                           : buf_add(out, &c, 1, err);
        if (failed != 0)
            return -1;
    }
    return buf_add(out, "\"", 1, err);
}
