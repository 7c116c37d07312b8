/* Parser for the head of an HTTP/1 request.
 *
 * It knows what a server of one page needs. Pure; the bytes are untrusted. */
#ifndef ENTRYPOINT_WIRE_HTTP_REQUEST_H
#define ENTRYPOINT_WIRE_HTTP_REQUEST_H

#include <stddef.h>

/* Maximum size of a head, its empty line included. */
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

/* Returns what to answer to the first SIZE bytes of a request, if only GET PATH is allowed (with
 * any query). What follows the head is ignored. */
enum http_request_status http_request_judge(const char *bytes, size_t size, const char *path);

/* "404 Not Found". */
const char *http_request_reason(enum http_request_status status);

#endif
