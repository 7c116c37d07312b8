/* Head of pages about runs, with their style sheet. */
#ifndef COMMON_HTML_PAGE_STYLE_H
#define COMMON_HTML_PAGE_STYLE_H

#include "common/html/html.h"

/* Pieces of the style sheet in their order, NULL-terminated. */
extern const char *const PAGE_STYLE[];

/* Begins a page up to its title, which the caller appends. PROGRAM is named in a comment of the
 * first lines. Nothing is loaded from elsewhere; IMAGES: pictures may be within the page. */
void page_head_open(struct html *h, const char *program, bool images);
/* Ends the title and appends the style sheet, to which the caller may add before "</style>". */
void page_head_style(struct html *h);

#endif
