#include "entrypoint/wire/http_request.h"

#include <stdbool.h>
#include <string.h>

/* The first line, or a header. */
struct span {
    const char *at;
    size_t size;
};

/* Takes a line up to CR LF or bare LF and moves past it; false if it is incomplete. */
static bool take_line(struct span *rest, struct span *ret) {
    const char *end = rest->size > 0 ? memchr(rest->at, '\n', rest->size) : NULL;
    if (end == NULL)
        return false;
    size_t size = (size_t)(end - rest->at);
    *ret = (struct span){rest->at, size};
    if (size > 0 && rest->at[size - 1] == '\r')
        ret->size--;
    rest->at += size + 1;
    rest->size -= size + 1;
    return true;
}

/* Takes a word up to the next blank, or everything. */
static struct span take_word(struct span *rest) {
    const char *end = rest->size > 0 ? memchr(rest->at, ' ', rest->size) : NULL;
    struct span word = {rest->at, end != NULL ? (size_t)(end - rest->at) : rest->size};
    size_t used = word.size + (end != NULL);
    rest->at += used;
    rest->size -= used;
    return word;
}

static bool equals(const struct span *word, const char *text) {
    return word->size == strlen(text) && memcmp(word->at, text, word->size) == 0;
}

static bool is_printable(const struct span *line) {
    for (size_t i = 0; i < line->size; i++)
        if ((unsigned char)line->at[i] < ' ' || line->at[i] == 0x7f)
            return false;
    return line->size > 0;
}

/* "GET /metrics?all HTTP/1.1" */
static enum http_request_status judge_line(struct span line, const char *path) {
    static const char protocol[] = "HTTP/";
    const size_t name = sizeof(protocol) - 1;
    if (!is_printable(&line))
        return HTTP_REQUEST_BAD;
    struct span method = take_word(&line);
    struct span target = take_word(&line);
    if (method.size == 0 || target.size == 0 || line.size <= name ||
        memcmp(line.at, protocol, name) != 0)
        return HTTP_REQUEST_BAD;
    if (!equals(&line, "HTTP/1.1") && !equals(&line, "HTTP/1.0"))
        return HTTP_REQUEST_VERSION;
    if (!equals(&method, "GET"))
        return HTTP_REQUEST_NOT_ALLOWED;
    const char *query = memchr(target.at, '?', target.size);
    if (query != NULL)
        target.size = (size_t)(query - target.at);
    return equals(&target, path) ? HTTP_REQUEST_GOOD : HTTP_REQUEST_NOT_FOUND;
}

/* "Name: anything"; the value does not matter. */
static bool is_header(const struct span *line) {
    const char *colon = memchr(line->at, ':', line->size);
    return colon != NULL && colon > line->at && memchr(line->at, '\0', line->size) == NULL;
}

enum http_request_status http_request_judge(const char *bytes, size_t size, const char *path) {
    struct span rest = {bytes, size < HTTP_REQUEST_MAX ? size : HTTP_REQUEST_MAX};
    struct span line;
    enum http_request_status status = HTTP_REQUEST_MORE;
    while (take_line(&rest, &line)) {
        if (line.size == 0 && status != HTTP_REQUEST_MORE)
            return status;
        if (status == HTTP_REQUEST_MORE)
            status = judge_line(line, path);
        else if (!is_header(&line))
            return HTTP_REQUEST_BAD;
        if (status == HTTP_REQUEST_BAD)
            return status; /* whatever follows, it is no HTTP */
    }
    return size >= HTTP_REQUEST_MAX ? HTTP_REQUEST_TOO_LARGE : HTTP_REQUEST_MORE;
}

const char *http_request_reason(enum http_request_status status) {
    switch (status) {
    case HTTP_REQUEST_GOOD:
        return "200 OK";
    case HTTP_REQUEST_NOT_FOUND:
        return "404 Not Found";
    case HTTP_REQUEST_NOT_ALLOWED:
        return "405 Method Not Allowed";
    case HTTP_REQUEST_TOO_LARGE:
        return "431 Request Header Fields Too Large";
    case HTTP_REQUEST_VERSION:
        return "505 HTTP Version Not Supported";
    case HTTP_REQUEST_MORE:
    case HTTP_REQUEST_BAD:
        break;
    }
    return "400 Bad Request";
}
