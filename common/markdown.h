/* Paragraphs and list items of Markdown, in lines of limited width. */
#ifndef COMMON_MARKDOWN_H
#define COMMON_MARKDOWN_H

#include "common/buf.h"
#include "common/error.h"

enum { MARKDOWN_COLUMNS = 100 };

/* Appends TEXT, one paragraph or list item, and a newline. Lines above MARKDOWN_COLUMNS are broken
 * at spaces, and each line after the first is indented by two, as a list item wants it. */
int markdown_wrap(const char *text, struct buf *ret, struct error *err);

#endif
