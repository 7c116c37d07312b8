#include "entrypoint/job/sagemaker/big_integers.h"

#include "common/buf.h"
#include "common/json/json.h"

#include <stdbool.h>
#include <string.h>

/* An escaped NUL in JSON's spelling. */
static const char MARK[] = "\"\\u0000";

/* --- before parsing -------------------------------------------------------------------------- */

/* The size of the string that begins at TEXT with its quote; SIZE if it does not end. */
static size_t string_size(const char *text, size_t size, bool *ret_nul) {
    static const char nul[] = "\\u0000";
    for (size_t i = 1; i < size; i++) {
        if (text[i] == '"')
            return i + 1;
        if (text[i] != '\\')
            continue;
        *ret_nul |= size - i >= strlen(nul) && memcmp(text + i, nul, strlen(nul)) == 0;
        i++;
    }
    return size;
}

static size_t number_size(const char *text, size_t size) {
    size_t count = 0;
    while (count < size && memchr("+-.0123456789Ee", text[count], 15) != NULL)
        count++;
    return count;
}

/* Returns true if SIZE bytes are an integer by JSON's grammar that does not fit into int64_t. */
static bool is_big(const char *text, size_t size) {
    bool negative = size > 0 && text[0] == '-';
    const char *limit = negative ? "9223372036854775808" : "9223372036854775807";
    const char *digits = text + negative;
    size_t count = size - negative;
    for (size_t i = 0; i < count; i++)
        if (digits[i] < '0' || digits[i] > '9')
            return false;
    if (count < strlen(limit) || digits[0] == '0')
        return false;
    return count > strlen(limit) || memcmp(digits, limit, count) > 0;
}

/* Returns the size of the token that begins at TEXT: a string, a number or one byte. */
static size_t token_size(const char *text, size_t size, bool *ret_big, bool *ret_nul) {
    size_t number = number_size(text, size);
    *ret_big = is_big(text, number);
    if (text[0] == '"')
        return string_size(text, size, ret_nul);
    return number > 0 ? number : 1;
}

/* Returns true if the text has such an integer, and no string contains a NUL that would look like a
 * mark. */
static bool is_wanted(const char *bytes, size_t size) {
    bool any = false;
    bool nul = false;
    for (size_t i = 0, step = 0; i < size; i += step) {
        bool big = false;
        step = token_size(bytes + i, size - i, &big, &nul);
        any |= big;
    }
    return any && !nul;
}

/* Copies the text and marks the integers. They have 19 digits or more, so it grows by less than
 * half. */
static int mark(const char *bytes, size_t size, struct buf *ret, struct error *err) {
    bool nul = false;
    buf_init(ret, 2 * size + 1);
    for (size_t i = 0, step = 0; i < size; i += step) {
        const char *at = bytes + i;
        bool big = false;
        step = token_size(at, size - i, &big, &nul);
        if ((big && buf_add_text(ret, MARK, err) != 0) || buf_add(ret, at, step, err) != 0 ||
            (big && buf_add_text(ret, "\"", err) != 0))
            return -1;
    }
    return 0;
}

int big_integers_parse(const char *bytes, size_t size, const char *source, json_t **ret_root,
                       struct error *err) {
    cleanup_buf struct buf text = {0};
    if (size > JSON_FILE_MAX || !is_wanted(bytes, size))
        return json_parse(bytes, size, source, ret_root, err);
    if (mark(bytes, size, &text, err) != 0)
        return -1;
    return json_parse_as(buf_text(&text), text.size, source, JSON_ALLOW_NUL, ret_root, err);
}

int big_integers_decode(const char *text, json_t **ret, struct error *err) {
    cleanup_buf struct buf copy = {0};
    size_t size = strlen(text);
    if (!is_wanted(text, size)) {
        *ret = json_loads(text, JSON_DECODE_ANY, NULL);
        return 0;
    }
    *ret = NULL;
    if (mark(text, size, &copy, err) != 0)
        return -1;
    *ret = json_loadb(copy.data, copy.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    return 0;
}

/* --- after parsing --------------------------------------------------------------------------- */

const char *big_integers_digits(const json_t *value) {
    if (json_string_length(value) == 0 || json_string_value(value)[0] != '\0')
        return NULL;
    return json_string_value(value) + 1;
}

char *big_integers_dump(const json_t *value, size_t flags) {
    char *text = json_shortest(value, flags);
    char *to = text;
    const char *from = text;
    for (const char *next; from != NULL && (next = strstr(from, MARK)) != NULL;) {
        const char *digits = next + strlen(MARK);
        size_t count = strcspn(digits, "\"");
        memmove(to, from, (size_t)(next - from));
        to += next - from;
        memmove(to, digits, count);
        to += count;
        from = digits + count + 1;
    }
    if (from != NULL)
        memmove(to, from, strlen(from) + 1);
    return text;
}
