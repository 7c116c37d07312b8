/* Percent encoding as Signature Version 4 requires it.
 *
 * What is sent and what is signed are encoded alike. Letters, digits, '-', '.', '_' and '~' stay,
 * and every other byte is encoded once, in capitals. The encoded text is handed to libcurl, which
 * leaves it as it is. */
#ifndef ENTRYPOINT_TRANSFER_HTTP_PERCENT_H
#define ENTRYPOINT_TRANSFER_HTTP_PERCENT_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>

/* Appends TEXT encoded; with a path its '/' stay. */
int percent_add(struct buf *out, const char *text, struct error *err);
int percent_add_path(struct buf *out, const char *path, struct error *err);

struct percent_pair {
    const char *name;
    const char *value;
};

enum { PERCENT_PAIRS_MAX = 8 };

/* Appends PAIRS as a query, without '?', in the order that a signature asks for: by encoded name,
 * then value. */
int percent_add_query(struct buf *out, const struct percent_pair *pairs, size_t count,
                      struct error *err);

/* Takes the encoding off in place. '+' stays '+'. A '%' without two digits is an
 * error, and so is an encoded NUL. */
int percent_decode(char *text, struct error *err);
/* As forms and listings are encoded: a '+' is a blank. */
int percent_decode_form(char *text, struct error *err);

#endif
