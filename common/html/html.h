/* Writer of an HTML page: text is escaped, numbers are for people, and the first error stays until
 * html_error is asked. */
#ifndef COMMON_HTML_HTML_H
#define COMMON_HTML_HTML_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { HTML_MAX = 32 * 1024 * 1024, HTML_NUMBER_SIZE = 40 };

struct html {
    struct buf out;
    bool failed;
    struct error error;
};

void html_open(struct html *h);
void html_done(struct html *h);
/* Returns 0; -1 with the first error. */
int html_error(const struct html *h, struct error *err);

/* Appends markup of the program's own: no text from outside may be an argument. */
void html_put(struct html *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends TEXT from anywhere, escaped for elements and quoted attributes; invalid UTF-8 becomes
 * U+FFFD. NULL: nothing. */
void html_text(struct html *h, const char *text);
/* Appends SIZE bytes in base64. */
void html_base64(struct html *h, const void *bytes, size_t size);

/* Writes VALUE with about four digits, and groups of thousands; "–" if it is NaN. */
void html_number(char ret[HTML_NUMBER_SIZE], double value);
void html_put_number(struct html *h, double value);
/* A share with as many decimals in each row of a table: 0.417, or as PERCENT 41.7. */
void html_put_share(struct html *h, double share, bool percent);
/* "1 h 5 min", "12.3 s" */
void html_put_duration(struct html *h, double seconds);

#define cleanup_html __attribute__((cleanup(html_done)))

#endif
