/* One page that anybody who reaches a port may read over HTTP/1: `GET PATH`, one answer a
 * connection. Strangers are its readers, so all that they could take is bounded: so many of them at
 * once, so many bytes of a request, so many seconds for all of it. Where there is no room the one
 * who came first goes, so that readers who say nothing keep nobody out. Nothing here waits.
 *
 * The text is made for a reader, at most once in HTTP_PAGE_FRESH; who asks more often gets the same
 * one.
 */
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
    struct timer rest;  /* where descriptors run out: then it listens again */
    struct http_page_options options;
    struct reader *readers; /* newest first */
    size_t count;
    struct buf text; /* as it was last made */
    int64_t made;    /* when; 0: never */
};

/* Takes over LISTENER, also when it fails. What OPTIONS point to outlives it. */
int http_page_open(struct http_page *p, struct loop *loop, int listener,
                   const struct http_page_options *options, struct error *err);
void http_page_close(struct http_page *p);

#endif
