/* Style sheet of pages about runs. */
#ifndef COMMON_HTML_PAGE_STYLE_H
#define COMMON_HTML_PAGE_STYLE_H

/* Pieces in their order, NULL-terminated. */
extern const char *const PAGE_STYLE[];

#endif
