/* Decoder of base64 (RFC 4648, section 4): the alphabet with + and /, padded or not, without line
 * breaks. */
#ifndef TRAINER_APP_SERVE_REQUEST_BASE64_H
#define TRAINER_APP_SERVE_REQUEST_BASE64_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>

/* Appends the bytes that SIZE characters of TEXT stand for. EXIT_CODE_DATA names the first wrong
 * character. */
int base64_add(struct buf *out, const char *text, size_t size, struct error *err);

#endif
