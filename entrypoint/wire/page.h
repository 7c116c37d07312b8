/* One page that anybody who reaches a port may read over HTTP/1: `GET PATH`, one answer a
 * connection. Strangers are its readers, so all that they could take is bounded: so many of them at
 * once, so many bytes of a request, so many seconds for all of it. Where there is no room the one
 * who came first goes, so that readers who say nothing keep nobody out. Nothing here waits.
 *
 * The text is made for a reader, at most once in PAGE_FRESH; who asks more often gets the same one.
 */
#ifndef WIRE_PAGE_H
#define WIRE_PAGE_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/error.h"
#include "entrypoint/os/loop.h"

#include <stddef.h>
#include <stdint.h>

#define PAGE_FRESH (CLOCK_SECOND / 2)
enum { PAGE_READERS_MAX = 16, PAGE_SECONDS = 5, PAGE_TEXT_MAX = 512 * 1024 };

struct page_options {
    const char *path; /* "/metrics" */
    const char *type; /* its media type */
    /* Appends the text to RET, which has room for PAGE_TEXT_MAX. */
    int (*write)(void *context, struct buf *ret, struct error *err);
    void *context;
};

struct reader;

/* Zeroed it is closed. */
struct page {
    struct loop *loop;
    struct watch watch; /* the listener */
    struct timer rest;  /* where descriptors run out: then it listens again */
    struct page_options options;
    struct reader *readers; /* newest first */
    size_t count;
    struct buf text; /* as it was last made */
    int64_t made;    /* when; 0: never */
};

/* Takes over LISTENER, also when it fails. What OPTIONS point to outlives it. */
int page_open(struct page *p, struct loop *loop, int listener, const struct page_options *options,
              struct error *err);
void page_close(struct page *p);

#endif
