/* The head of an HTTP/1 request, as far as a server of one page needs it: who asks for what. Pure,
 * for bytes that anybody may have sent. */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include <stddef.h>

/* Of a head, its empty line included. */
enum { REQUEST_MAX = 8 * 1024 };

enum request_status {
    REQUEST_MORE = 0, /* it has not ended */
    REQUEST_GOOD = 200,
    REQUEST_BAD = 400,
    REQUEST_NOT_FOUND = 404,
    REQUEST_NOT_ALLOWED = 405,
    REQUEST_TOO_LARGE = 431,
    REQUEST_VERSION = 505,
};

/* What to answer to SIZE bytes that have come so far, from somebody who may ask to GET PATH (a
 * query behind it changes nothing) and nothing else. What follows the head is left alone. */
enum request_status request_judge(const char *bytes, size_t size, const char *path);

/* "404 Not Found". */
const char *request_reason(enum request_status status);

#endif
