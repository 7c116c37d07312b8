/* HTTP/1 server for a single page: `GET PATH`, one answer per connection.
 *
 * Any client that reaches the port may read it, so everything is bounded: connections, bytes of a
 * request, and seconds for all of it. When there is no room the oldest connection is closed, so
 * that silent clients keep no others out. Nothing here blocks.
 *
 * The text is made for a client at most once in HTTP_PAGE_FRESH; clients in between get the same
 * text. */
#ifndef ENTRYPOINT_WIRE_HTTP_PAGE_H
#define ENTRYPOINT_WIRE_HTTP_PAGE_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/error.h"
#include "entrypoint/os/loop.h"

#include <stddef.h>
#include <stdint.h>

#define HTTP_PAGE_FRESH (CLOCK_SECOND / 2)
enum { HTTP_PAGE_READERS_MAX = 16, HTTP_PAGE_SECONDS = 5, HTTP_PAGE_TEXT_MAX = 512 * 1024 };

struct http_page_options {
    const char *path; /* "/metrics" */
    const char *type; /* its media type */
    /* Appends the text to RET, which has room for HTTP_PAGE_TEXT_MAX. */
    int (*write)(void *context, struct buf *ret, struct error *err);
    void *context;
};

struct reader;

/* Zeroed it is closed. */
struct http_page {
    struct loop *loop;
    struct watch watch; /* the listener */
    struct timer rest;  /* after running out of descriptors: then it listens again */
    struct http_page_options options;
    struct reader *readers; /* newest first */
    size_t count;
    struct buf text; /* as last made */
    int64_t made;    /* when; 0: never */
};

/* Takes over LISTENER, also when it fails. What OPTIONS point to outlives it. */
int http_page_open(struct http_page *p, struct loop *loop, int listener,
                   const struct http_page_options *options, struct error *err);
void http_page_close(struct http_page *p);

#endif
