#include "entrypoint/transfer/http/percent.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAIR_MAX = 16 * 1024 };

static bool stays(char c, bool is_path) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c) != NULL) || (is_path && c == '/');
}

static int add(struct buf *out, const char *text, bool is_path, struct error *err) {
    static const char digits[] = "0123456789ABCDEF";
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        const char encoded[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        if (stays(*text, is_path) ? buf_add(out, text, 1, err) : buf_add(out, encoded, 3, err))
            return -1;
    }
    return 0;
}

int percent_add(struct buf *out, const char *text, struct error *err) {
    return add(out, text, false, err);
}

int percent_add_path(struct buf *out, const char *path, struct error *err) {
    return add(out, path, true, err);
}

/* Orders pairs by encoded name, then value. While they are sorted a NUL ends the name, because '='
 * sorts after the digits and would place "a=1" after "a1=". */
static int compare(const void *a, const void *b) {
    const char *first = buf_text(a);
    const char *second = buf_text(b);
    int order = strcmp(first, second);
    return order != 0 ? order : strcmp(first + strlen(first) + 1, second + strlen(second) + 1);
}

static int encode(struct buf *out, const struct percent_pair *pair, struct error *err) {
    buf_init(out, PAIR_MAX);
    return percent_add(out, pair->name, err) == 0 && buf_add(out, "", 1, err) == 0 &&
                   percent_add(out, pair->value, err) == 0
               ? 0
               : -1;
}

int percent_add_query(struct buf *out, const struct percent_pair *pairs, size_t count,
                      struct error *err) {
    struct buf encoded[PERCENT_PAIRS_MAX] = {0};
    int result = count <= PERCENT_PAIRS_MAX
                     ? 0
                     : error_set(err, EXIT_CODE_INTERNAL, "a query of %zu pairs", count);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = encode(&encoded[i], &pairs[i], err);
    if (result == 0)
        qsort(encoded, count, sizeof(encoded[0]), compare);
    for (size_t i = 0; result == 0 && i < count; i++) {
        const char *name = buf_text(&encoded[i]);
        result = buf_printf(out, err, "%s%s=%s", i > 0 ? "&" : "", name, name + strlen(name) + 1);
    }
    for (size_t i = 0; i < count && i < PERCENT_PAIRS_MAX; i++)
        buf_done(&encoded[i]);
    return result;
}

static int digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int percent_decode(char *text, struct error *err) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = digit(from[1]);
        int low = high >= 0 ? digit(from[2]) : -1;
        if (low < 0 || high + low == 0)
            return error_set(err, EXIT_CODE_CONFIG,
                             "'%%' without two hexadecimal digits after it, or an encoded NUL");
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return 0;
}

int percent_decode_form(char *text, struct error *err) {
    for (char *c = text; *c != '\0'; c++)
        if (*c == '+')
            *c = ' ';
    return percent_decode(text, err);
}
