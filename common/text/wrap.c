#include "common/text/wrap.h"

#include "common/cleanup.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

enum { PRINT_MAX = 1 << 16 };

size_t wrap_columns(const char *text, size_t size) {
    size_t columns = 0;
    for (size_t i = 0; i < size; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Appends SIZE bytes without a newline. *AT becomes the column after them. */
static int add_line(struct buf *ret, const char *text, size_t size, size_t *at,
                    const struct wrap *wrap, struct error *err) {
    if (*at + wrap_columns(text, size) <= wrap->width) {
        *at += wrap_columns(text, size);
        return buf_add(ret, text, size, err);
    }
    const char *end = text + size;
    bool empty = true; /* no word of the text is on this line yet */
    for (bool first = true; text < end; first = false) {
        size_t spaces = strspn(text, " ");
        spaces = spaces < (size_t)(end - text) ? spaces : (size_t)(end - text);
        text += spaces;
        size_t word = strcspn(text, " \n");
        word = word < (size_t)(end - text) ? word : (size_t)(end - text);
        size_t gap = first ? spaces : 1;
        size_t columns = wrap_columns(text, word);
        if (word == 0)
            break;
        if ((!empty || *at > wrap->indent) && *at + gap + columns > wrap->width) {
            if (buf_printf(ret, err, "\n%*s", (int)wrap->indent, "") != 0)
                return -1;
            *at = wrap->indent;
            gap = 0;
        }
        if (buf_printf(ret, err, "%*s", (int)gap, "") != 0 || buf_add(ret, text, word, err) != 0)
            return -1;
        empty = false;
        *at += gap + columns;
        text += word;
    }
    return 0;
}

int wrap_add(struct buf *ret, const char *text, struct wrap wrap, struct error *err) {
    for (;;) {
        size_t size = strcspn(text, "\n");
        if (add_line(ret, text, size, &wrap.at, &wrap, err) != 0)
            return -1;
        text += size;
        if (*text == '\0')
            return 0;
        text++;
        wrap.at = *text == '\0' || *text == '\n' ? 0 : wrap.indent;
        if (buf_printf(ret, err, "\n%*s", (int)wrap.at, "") != 0)
            return -1;
    }
}

void wrap_printf(FILE *out, const char *format, ...) {
    cleanup_buf struct buf lines;
    cleanup_free char *text = NULL;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    buf_init(&lines, PRINT_MAX);
    if (size >= 0 && wrap_add(&lines, text, (struct wrap){.width = WRAP_WIDTH}, NULL) == 0)
        fputs(buf_text(&lines), out);
}
