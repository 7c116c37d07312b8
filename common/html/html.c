#include "common/html/html.h"

#include "common/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MARKUP_MAX = 4096 };

void html_open(struct html *h) {
    *h = (struct html){.out = {.max = HTML_MAX}};
}

void html_done(struct html *h) {
    buf_done(&h->out);
}

int html_error(const struct html *h, struct error *err) {
    return h->failed ? error_set(err, h->error.code, "%s", h->error.text) : 0;
}

static void add(struct html *h, const char *bytes, size_t size) {
    if (!h->failed && buf_add(&h->out, bytes, size, &h->error) != 0)
        h->failed = true;
}

void html_put(struct html *h, const char *format, ...) {
    char markup[MARKUP_MAX];
    va_list list;
    va_start(list, format);
    const int size = vsnprintf(markup, sizeof(markup), format, list);
    va_end(list);
    if (size >= 0 && (size_t)size < sizeof(markup))
        add(h, markup, (size_t)size);
    else if (!h->failed)
        h->failed = error_set(&h->error, EXIT_CODE_INTERNAL, "markup of %d bytes", size) != 0;
}

static const char *escape_of(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void html_text(struct html *h, const char *text) {
    if (text == NULL || h->failed)
        return;
    cleanup_buf struct buf clean = {.max = 3 * strlen(text) + 1};
    if (str_add_utf8(&clean, text, strlen(text), &h->error) != 0) {
        h->failed = true;
        return;
    }
    for (const char *c = buf_text(&clean); *c != '\0'; c++) {
        const char *escaped = escape_of(*c);
        add(h, escaped != NULL ? escaped : c, escaped != NULL ? strlen(escaped) : 1);
    }
}

void html_base64(struct html *h, const void *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = bytes;
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const uint32_t word = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                              (left > 2 ? in[i + 2] : 0);
        const char four[4] = {digits[word >> 18], digits[word >> 12 & 63],
                              left > 1 ? digits[word >> 6 & 63] : '=',
                              left > 2 ? digits[word & 63] : '='};
        add(h, four, sizeof(four));
    }
}

/* Puts a narrow no-break space before each group of three digits. */
static void group(char ret[HTML_NUMBER_SIZE], double value) {
    char digits[32];
    size_t used = 0;
    const int count = snprintf(digits, sizeof(digits), "%.0f", fabs(value));
    if (value < 0)
        ret[used++] = '-';
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            memcpy(ret + used, "\u202f", 3);
            used += 3;
        }
        ret[used++] = digits[i];
    }
    ret[used] = '\0';
}

void html_number(char ret[HTML_NUMBER_SIZE], double value) {
    const double size = fabs(value);
    if (!isfinite(value))
        (void)snprintf(ret, HTML_NUMBER_SIZE, "%s", isnan(value) ? "–" : value > 0 ? "∞" : "-∞");
    else if (size >= 1e12)
        (void)snprintf(ret, HTML_NUMBER_SIZE, "%.4g", value);
    else if (size >= 1000 || (value == trunc(value) && size < 1e12))
        group(ret, value);
    else if (size >= 100)
        (void)snprintf(ret, HTML_NUMBER_SIZE, "%.1f", value);
    else if (size >= 10)
        (void)snprintf(ret, HTML_NUMBER_SIZE, "%.2f", value);
    else if (size >= 1)
        (void)snprintf(ret, HTML_NUMBER_SIZE, "%.3f", value);
    else if (size >= 0.001)
        (void)snprintf(ret, HTML_NUMBER_SIZE, "%.4f", value);
    else
        (void)snprintf(ret, HTML_NUMBER_SIZE, "%.3g", value);
}

void html_put_number(struct html *h, double value) {
    char text[HTML_NUMBER_SIZE];
    html_number(text, value);
    html_put(h, "%s", text);
}

void html_put_share(struct html *h, double share, bool percent) {
    if (!isfinite(share))
        html_put(h, "–");
    else if (percent)
        html_put(h, "%.1f", 100 * share);
    else
        html_put(h, "%.3f", share);
}

void html_put_duration(struct html *h, double seconds) {
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e12)
        html_put(h, "–");
    else if (seconds < 60)
        html_put(h, "%.1f s", seconds);
    else if (seconds < 3600)
        html_put(h, "%d min %02d s", (int)seconds / 60, (int)seconds % 60);
    else if (seconds < 48.0 * 3600)
        html_put(h, "%d h %02d min", (int)(seconds / 3600), (int)fmod(seconds / 60, 60));
    else
        html_put(h, "%.1f d", seconds / 86400);
}
