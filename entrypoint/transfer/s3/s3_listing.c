#include "entrypoint/transfer/s3/s3_listing.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/str.h"
#include "entrypoint/transfer/http/exchange_pool.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 1024, ASK_SECONDS = 600 };

struct asking {
    const struct s3_listing *listing;
    const char *prefix;
    const char *token;
    bool first; /* list only the first object */
    char name[ADDRESS_MAX + 16];
};

static int prepare_list(void *context, struct request *ret, struct error *err) {
    const struct asking *a = context;
    struct percent_pair pairs[5] = {
        {"list-type", "2"}, {"encoding-type", "url"}, {"prefix", a->prefix}};
    size_t count = 3;
    if (a->first)
        pairs[count++] = (struct percent_pair){"max-keys", "1"};
    if (a->token[0] != '\0')
        pairs[count++] = (struct percent_pair){"continuation-token", a->token};
    const struct s3_request request = {.method = "GET",
                                       .bucket = a->listing->at->bucket,
                                       .key = "",
                                       .pairs = pairs,
                                       .pair_count = count};
    return s3_prepare(a->listing->s3, &request, ret, err);
}

static int refused_list(void *context, const struct answer *answer, struct error *err) {
    const struct asking *a = context;
    return s3_refused(a->listing->s3, answer, err);
}

static void mark_list(const struct s3_listing *o, size_t count) {
    char line[LINE_SIZE];
    (void)snprintf(line, sizeof(line), "%s: %zu object%s listed", o->what, count,
                   STR_PLURAL(count));
    if (o->mark != NULL)
        o->mark(line);
}

static int64_t seconds_left(const struct s3_listing *o) {
    int64_t left = (o->deadline - clock_now()) / CLOCK_SECOND + 1;
    return left < ASK_SECONDS ? left : ASK_SECONDS;
}

/* Lists all pages of one prefix, or just its first object. A page may be empty although more
 * follow, because S3 skips a limited number of deleted objects a page. */
static int list(const struct s3_listing *o, const char *prefix, bool first, struct objects *ret,
                struct error *err) {
    char token[OBJECTS_TOKEN_MAX] = "";
    struct asking a = {.listing = o, .prefix = prefix, .token = token, .first = first};
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
            return error_set(err, EXIT_CODE_NOT_READY, "%s: it did not finish in time", a.name);
        q.seconds = seconds_left(o);
        if (exchange_pool_ask(&q, &page, NULL, err) != 0)
            return -1;
        if (objects_add_page(ret, buf_text(&page), page.size, err) != 0)
            return error_wrap(err, "%s", a.name);
        mark_list(o, ret->count);
        if (ret->token[0] != '\0' && strcmp(token, ret->token) == 0)
            return error_set(err, EXIT_CODE_DATA, "%s: the server repeats a page of the listing",
                             a.name);
        memcpy(token, ret->token, sizeof(token));
    } while (token[0] != '\0' && !(first && ret->count > 0));
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

static void move(struct objects *l, size_t from, size_t to) {
    if (from == to)
        return;
    l->items[to] = l->items[from];
    memset(&l->items[from], 0, sizeof(l->items[from]));
}

/* Keeps only the object with exactly this name. Returns false if there is none. It sorts before all
 * other keys with that prefix, so one page suffices. */
static bool keep_single(struct objects *l, const char *key) {
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (kept > 0 || strcmp(l->items[i].key, key) != 0)
            drop(l, i);
        else
            move(l, i, kept++);
    }
    l->count = kept;
    return kept > 0;
}

static bool is_mark(const char *key) {
    return str_ends_with(key, "/");
}

/* Reports keys that end with a slash, which cannot be files. Consoles create empty ones as folder
 * markers. */
static void report_left_out(const struct objects *l, const char *prefix,
                            const struct s3_listing *o) {
    char line[LINE_SIZE];
    for (size_t i = 0; o->say != NULL && i < l->count; i++) {
        const struct object *object = &l->items[i];
        if (!str_starts_with(object->key, prefix) || !is_mark(object->key) || object->size == 0)
            continue;
        (void)snprintf(line, sizeof(line),
                       "warning: %.256s: object %.512s of %" PRId64 " bytes is left out: its key "
                       "ends with '/', which names no file; rename it",
                       o->what, object->key, object->size);
        o->say(line);
    }
}

static bool has_key(const struct objects *l, const char *key) {
    const struct object wanted = {.key = (char *)(uintptr_t)key};
    return bsearch(&wanted, l->items, l->count, sizeof(l->items[0]), by_key) != NULL;
}

/* Checks that no name is both a file and a folder. L is sorted. */
static int check_names(const struct objects *l, const char *prefix, const struct s3_listing *o,
                       struct error *err) {
    char above[ADDRESS_KEY_MAX + 2];
    for (size_t i = 0; i < l->count; i++) {
        const char *key = l->items[i].key;
        if (!str_starts_with(key, prefix) || is_mark(key))
            continue;
        for (const char *slash = strchr(key + strlen(prefix), '/'); slash != NULL;
             slash = strchr(slash + 1, '/')) {
            (void)snprintf(above, sizeof(above), "%.*s", (int)(slash - key), key);
            if (has_key(l, above))
                return error_set(err, EXIT_CODE_DATA,
                                 "%s: objects %.256s and %.256s cannot both be files: the first "
                                 "is the folder of the second; rename one of them",
                                 o->what, above, key);
        }
    }
    return 0;
}

/* Removes folder markers, which have no file, and the objects of other shards. */
static void keep_share(struct objects *l, const char *prefix, const struct s3_listing *o) {
    size_t kept = 0;
    size_t number = 0;
    for (size_t i = 0; i < l->count; i++) {
        const char *at = l->items[i].key;
        bool mine = str_starts_with(at, prefix) && !is_mark(at);
        if (mine && o->shards > 1)
            mine = number++ % o->shards == o->shard;
        if (mine)
            move(l, i, kept++);
        else
            drop(l, i);
    }
    l->count = kept;
}

static int read_folder(const struct s3_listing *o, const char *prefix, struct objects *ret,
                       size_t *ret_all, struct error *err) {
    if (list(o, prefix, false, ret, err) != 0)
        return -1;
    if (ret->count > 0)
        qsort(ret->items, ret->count, sizeof(ret->items[0]), by_key);
    if (check_names(ret, prefix, o, err) != 0)
        return -1;
    report_left_out(ret, prefix, o);
    *ret_all = ret->count;
    keep_share(ret, prefix, o);
    return 0;
}

/* Lists the object or folder at the address. Keys that merely begin with the same text, "set_raw/"
 * for "set", may be very many and are not requested. An empty object with the name of a folder is
 * another form of folder marker. */
static int read_all(const struct s3_listing *o, struct objects *ret, size_t *front,
                    struct error *err) {
    char prefix[ADDRESS_KEY_MAX + 2];
    const char *key = o->at->rest;
    size_t all = 0;
    bool folder = key[0] == '\0' || str_ends_with(key, "/");
    if (!folder && list(o, key, true, ret, err) != 0)
        return -1;
    bool single = !folder && keep_single(ret, key);
    struct objects alone = *ret;
    *ret = (struct objects){0};
    (void)snprintf(prefix, sizeof(prefix), "%s%s", key, folder ? "" : "/");
    if ((!single || alone.items[0].size == 0) && read_folder(o, prefix, ret, &all, err) != 0) {
        objects_done(&alone);
        return -1;
    }
    if (single && all == 0) {
        objects_done(ret);
        *ret = alone;
        *front = strlen(key) - strlen(address_name(o->at));
        return 0;
    }
    objects_done(&alone);
    *front = strlen(prefix);
    if (ret->count > 0 || (all > 0 && o->shards > 1) || o->may_be_none)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: there is no such object, and no folder of that name",
                     o->at->shown);
}

int s3_listing_read(const struct s3_listing *listing, struct objects *ret, size_t *front,
                    struct error *err) {
    *ret = (struct objects){0};
    int result = read_all(listing, ret, front, err);
    if (result != 0)
        objects_done(ret);
    return result;
}
