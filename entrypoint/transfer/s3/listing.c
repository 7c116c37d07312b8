#include "s3/listing.h"

#include "common/buf.h"
#include "common/clock.h"
#include "http/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 1024, ASK_SECONDS = 600 };

struct asking {
    const struct listing *listing;
    const char *prefix;
    const char *token;
    char name[ADDRESS_MAX + 16];
};

static int prepare_list(void *context, struct request *ret, struct error *err) {
    const struct asking *a = context;
    const struct percent_pair pairs[] = {{"list-type", "2"},
                                         {"encoding-type", "url"},
                                         {"prefix", a->prefix},
                                         {"continuation-token", a->token}};
    const struct s3_request request = {.method = "GET",
                                       .bucket = a->listing->at->bucket,
                                       .key = "",
                                       .pairs = pairs,
                                       .pair_count = a->token[0] != '\0' ? 4 : 3};
    return s3_prepare(a->listing->s3, &request, ret, err);
}

static int refused_list(void *context, const struct answer *answer, struct error *err) {
    const struct asking *a = context;
    return s3_refused(a->listing->s3, answer, err);
}

static void mark_list(const struct listing *o, size_t count) {
    char line[LINE_SIZE];
    (void)snprintf(line, sizeof(line), "%s: %zu objects listed", o->what, count);
    if (o->mark != NULL)
        o->mark(line);
}

static int64_t seconds_left(const struct listing *o) {
    int64_t left = (o->deadline - clock_now()) / CLOCK_SECOND + 1;
    return left < ASK_SECONDS ? left : ASK_SECONDS;
}

/* All pages of one prefix. */
static int list(const struct listing *o, const char *prefix, struct objects *ret,
                struct error *err) {
    char token[OBJECTS_TOKEN_MAX] = "";
    struct asking a = {.listing = o, .prefix = prefix, .token = token};
    (void)snprintf(a.name, sizeof(a.name), "listing %s", o->at->shown);
    struct question q = {.name = a.name,
                         .prepare = prepare_list,
                         .refused = refused_list,
                         .context = &a,
                         .silence = o->s3->silence,
                         .certificates = o->s3->certificates};
    do {
        cleanup_buf struct buf page;
        buf_init(&page, OBJECTS_PAGE_MAX);
        if (clock_now() > o->deadline)
            return error_set(err, EXIT_CODE_NOT_READY, "%s: it was not done in time", a.name);
        q.seconds = seconds_left(o);
        if (pool_ask(&q, &page, NULL, err) != 0)
            return -1;
        if (objects_add_page(ret, buf_text(&page), page.size, err) != 0)
            return error_wrap(err, "%s", a.name);
        mark_list(o, ret->count);
        if (ret->token[0] != '\0' && strcmp(token, ret->token) == 0)
            return error_set(err, EXIT_CODE_DATA, "%s: the pages go round in circles", a.name);
        memcpy(token, ret->token, sizeof(token));
    } while (token[0] != '\0');
    return 0;
}

static int by_key(const void *a, const void *b) {
    const struct object *first = a;
    const struct object *second = b;
    return strcmp(first->key, second->key);
}

static void drop(struct objects *l, size_t i) {
    free(l->items[i].key);
    free(l->items[i].etag);
    memset(&l->items[i], 0, sizeof(l->items[i]));
}

/* Keeps those of the folder KEY or, where there is an object of just that name, it alone; folders'
 * own marks ("x/", empty) have no file; of the rest our shard's. */
static size_t keep(struct objects *l, const char *key, const struct listing *o) {
    size_t size = strlen(key);
    size_t kept = 0;
    size_t number = 0;
    bool folder = size == 0 || key[size - 1] == '/';
    const struct object wanted = {.key = (char *)(uintptr_t)key};
    if (l->count == 0)
        return 0;
    qsort(l->items, l->count, sizeof(l->items[0]), by_key);
    bool single =
        !folder && bsearch(&wanted, l->items, l->count, sizeof(l->items[0]), by_key) != NULL;
    for (size_t i = 0; i < l->count; i++) {
        const char *at = l->items[i].key;
        size_t length = strlen(at);
        bool mine =
            single ? strcmp(at, key) == 0 : at[length - 1] != '/' && (folder || at[size] == '/');
        if (mine && !single && o->shards > 1)
            mine = number++ % o->shards == o->shard;
        if (!mine)
            drop(l, i);
        else if (kept++ != i) {
            l->items[kept - 1] = l->items[i];
            memset(&l->items[i], 0, sizeof(l->items[i]));
        }
    }
    l->count = kept;
    if (single)
        return (size_t)(strlen(key) - strlen(address_name(o->at)));
    return folder ? size : size + 1;
}

int listing_read(const struct listing *listing, struct objects *ret, size_t *front,
                 struct error *err) {
    *ret = (struct objects){0};
    if (list(listing, listing->at->rest, ret, err) != 0) {
        objects_done(ret);
        return -1;
    }
    size_t all = ret->count;
    *front = keep(ret, listing->at->rest, listing);
    if (ret->count > 0 || (all > 0 && listing->shards > 1) || listing->may_be_none)
        return 0;
    objects_done(ret);
    return error_set(err, EXIT_CODE_DATA, "%s: there is no such object, and no folder of that name",
                     listing->at->shown);
}
