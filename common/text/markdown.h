/* Paragraphs and list items of Markdown, in lines of limited width. */
#ifndef COMMON_TEXT_MARKDOWN_H
#define COMMON_TEXT_MARKDOWN_H

#include "common/buf.h"
#include "common/error.h"

enum { MARKDOWN_COLUMNS = 100 };

/* Appends TEXT, one paragraph or list item, and a newline. Lines longer than MARKDOWN_COLUMNS are
 * broken at spaces; every line after the first is indented by two, which continues a list item. */
int markdown_wrap(const char *text, struct buf *ret, struct error *err);

#endif
