#include "entrypoint/transfer/fetch/fetch_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end(struct fetch_file *b, const struct error *failure, int64_t size, const char *etag,
                const char *sha256) {
    b->facts = (struct catalog_facts){.size = size};
    (void)snprintf(b->facts.etag, sizeof(b->facts.etag), "%s", etag);
    (void)snprintf(b->facts.sha256, sizeof(b->facts.sha256), "%s", sha256);
    if (failure == NULL && b->doubted[0] != '\0' && strcmp(b->doubted, sha256) == 0)
        b->order.passing->no_md5 = true; /* the bytes are the same */
    free(b->ranges);
    b->ranges = NULL;
    b->order.ended(b->order.context, failure);
}

static void start_source(struct fetch_file *b);

/* Returns false if other hosts are the only source. */
static bool has_source(const struct stream_order *o) {
    return o->s3 != NULL || o->url != NULL;
}

static void fetch_ended(void *context, const struct error *failure) {
    struct fetch_file *b = context;
    const struct stream *f = &b->fetch;
    if (failure == NULL && f->order.peer != NULL)
        part_file_forget(b->source.root, b->source.path);
    if (failure == NULL || f->order.peer == NULL || b->pool->closing) {
        end(b, failure, f->have, f->etag, f->own_sha256);
        return;
    }
    *b->source.fetched -= f->have;
    if (f->doubted)
        (void)snprintf(b->doubted, sizeof(b->doubted), "%s", f->own_sha256);
    if (!f->spared)
        sharing_lose_peer(b->order.passing, failure, b->order.say);
    if (has_source(&b->source))
        start_source(b);
    else
        end(b, failure, 0, "", "");
}

static void start_stream(struct fetch_file *b) {
    part_file_forget(b->source.root, b->source.path);
    b->source.ended = fetch_ended;
    stream_start(&b->fetch, &b->source, b->pool);
}

static void ranges_ended(void *context, const struct error *failure) {
    struct fetch_file *b = context;
    const struct ranges *r = b->ranges;
    if (failure == NULL || !r->one_stream || b->pool->closing) {
        end(b, failure, r->size, r->etag, r->own_sha256);
        return;
    }
    free(b->ranges);
    b->ranges = NULL;
    start_stream(b);
}

/* Returns true if the file may be fetched in pieces. For an https address that is tried, because
 * the size is unknown so far. */
static bool may_have_pieces(const struct stream_order *o) {
    return o->s3 == NULL ||
           (o->size >= RANGES_LEAST && o->etag != NULL && stream_is_strong(o->etag));
}

static void start_source(struct fetch_file *b) {
    b->ranges = may_have_pieces(&b->source) ? malloc(sizeof(*b->ranges)) : NULL;
    b->source.ended = ranges_ended;
    if (b->ranges != NULL)
        ranges_start(b->ranges, &b->source, b->pool);
    else
        start_stream(b);
}

void fetch_file_start(struct fetch_file *b, const struct fetch_file_order *order,
                      struct exchange_pool *pool) {
    *b = (struct fetch_file){.order = *order, .source = order->source, .pool = pool};
    b->source.context = b;
    if (order->passing == NULL || !sharing_has_peer(order->passing, order->say)) {
        struct error err = {0};
        if (has_source(&b->source)) {
            start_source(b);
            return;
        }
        (void)error_set(&err, EXIT_CODE_NOT_READY, "%s: the host that has it cannot be reached",
                        order->source.name);
        end(b, &err, 0, "", "");
        return;
    }
    struct stream_order asked = b->source;
    asked.peer = &order->passing->peer;
    asked.task = order->task;
    asked.no_md5 = order->passing->no_md5;
    asked.ended = fetch_ended;
    stream_start(&b->fetch, &asked, pool);
}

bool fetch_file_more(struct fetch_file *b) {
    return b->ranges != NULL && ranges_more(b->ranges);
}

bool fetch_file_verify(struct fetch_file *b) {
    return b->ranges != NULL && ranges_digest(b->ranges);
}
