/* String of a JSON document as it is written there.
 *
 * It lies between its quotes and still has its escapes. */
#ifndef COMMON_JSON_JSON_TEXT_H
#define COMMON_JSON_JSON_TEXT_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_text {
    const char *bytes; /* borrowed; no NUL follows */
    size_t size;
    bool escaped; /* contains backslashes */
};

/* Returns true if the text is exactly WORD, written without escapes. */
bool json_text_is(const struct json_text *text, const char *word);

/* Appends the text with its escapes decoded. Half a surrogate pair becomes U+FFFD. An escape that
 * JSON does not define and an escaped NUL are errors. */
int json_text_add(const struct json_text *text, struct buf *out, struct error *err);

/* Appends SIZE bytes as a quoted JSON string; invalid UTF-8 becomes U+FFFD. */
int json_text_quote(struct buf *out, const char *bytes, size_t size, struct error *err);

#endif
