/* The head of an HTTP/1 request, as far as a server of one page needs it: who asks for what. Pure,
 * for bytes that anybody may have sent. */
#ifndef ENTRYPOINT_WIRE_HTTP_REQUEST_H
#define ENTRYPOINT_WIRE_HTTP_REQUEST_H

#include <stddef.h>

/* Of a head, its empty line included. */
enum { HTTP_REQUEST_MAX = 8 * 1024 };

enum http_request_status {
    HTTP_REQUEST_MORE = 0, /* it has not ended */
    HTTP_REQUEST_GOOD = 200,
    HTTP_REQUEST_BAD = 400,
    HTTP_REQUEST_NOT_FOUND = 404,
    HTTP_REQUEST_NOT_ALLOWED = 405,
    HTTP_REQUEST_TOO_LARGE = 431,
    HTTP_REQUEST_VERSION = 505,
};

/* What to answer to SIZE bytes that have come so far, from somebody who may ask to GET PATH (a
 * query behind it changes nothing) and nothing else. What follows the head is left alone. */
enum http_request_status http_request_judge(const char *bytes, size_t size, const char *path);

/* "404 Not Found". */
const char *http_request_reason(enum http_request_status status);

#endif
