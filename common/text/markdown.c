#include "common/text/markdown.h"

#include <string.h>

/* The number of bytes of TEXT that fit on a line with ROOM columns left; a longer word gets a line
 * of its own. */
static size_t line_size(const char *text, size_t room) {
    size_t size = strcspn(text, " ");
    while (text[size] != '\0') {
        size_t next = size + 1 + strcspn(text + size + 1, " ");
        if (next > room)
            break;
        size = next;
    }
    return size;
}

int markdown_wrap(const char *text, struct buf *ret, struct error *err) {
    for (const char *indent = "";; indent = "  ") {
        size_t size = line_size(text, MARKDOWN_COLUMNS - strlen(indent));
        if (buf_printf(ret, err, "%s%.*s\n", indent, (int)size, text) != 0)
            return -1;
        if (text[size] == '\0')
            return 0;
        text += size + 1;
    }
}
