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

/* A line is broken by bytes and not by columns, as these texts are ASCII tables of the program. The
 * indent makes the next line a part of the same list item; in a paragraph Markdown ignores it. A
 * newline in TEXT would be counted as a letter: callers pass one paragraph or item. */
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
