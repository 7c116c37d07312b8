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

/* One call lists everything under an address with ListObjectsV2, page by page, since each page
 * names the next. All objects are in memory before the first is fetched. Only the whole list gives
 * the sum of the sizes, the sorted order for shards, and names that are both file and folder.
 *
 * fetch/prefix.c lists what to fetch, upload/upload.c what a target has already. */

enum {
    LINE_SIZE = 1024,
    ASK_SECONDS = 600 /* for one page, with all tries */
};

/* Request for one page, as the context of its callbacks. */
struct asking {
    const struct s3_listing *listing;
    const char *prefix; /* of the keys */
    const char *token;  /* of the page; "": the first one */
    bool first;         /* list only the first object */
    char name[ADDRESS_MAX + 16];
};

/* encoding-type=url has the server encode the keys: XML 1.0 cannot express all characters that a
 * key may contain. */
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

/* Tells the parent process after each page that the listing moves on. */
static void mark_list(const struct s3_listing *o, size_t count) {
    char line[LINE_SIZE];
    (void)snprintf(line, sizeof(line), "%s: %zu object%s listed", o->what, count,
                   STR_PLURAL(count));
    if (o->mark != NULL)
        o->mark(line);
}

/* At least 1 while the deadline has not passed, as a limit of 0 would fail at once. */
static int64_t seconds_left(const struct s3_listing *o) {
    int64_t left = (o->deadline - clock_now()) / CLOCK_SECOND + 1;
    return left < ASK_SECONDS ? left : ASK_SECONDS;
}

/* Lists all pages of one prefix, or just its first object. A page may be empty although more
 * follow, because S3 skips a limited number of deleted objects a page. A server that returns the
 * same token twice would be asked forever, so that is an error. The objects are appended to RET,
 * and after a failure what is there stays for the caller to free. */
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

/* Order of bytes, which is that of S3's own listings. */
static int by_key(const void *a, const void *b) {
    const struct object *first = a;
    const struct object *second = b;
    return strcmp(first->key, second->key);
}

/* Frees an entry and leaves it zeroed, so that nothing is freed twice. */
static void drop(struct objects *l, size_t i) {
    free(l->items[i].key);
    free(l->items[i].etag);
    memset(&l->items[i], 0, sizeof(l->items[i]));
}

/* Moves an entry to an earlier place that is empty. */
static void move(struct objects *l, size_t from, size_t to) {
    if (from == to)
        return;
    l->items[to] = l->items[from];
    memset(&l->items[from], 0, sizeof(l->items[from]));
}

/* Keeps only the object with exactly this name. Returns false if there is none. It sorts before all
 * other keys with that prefix, so one page suffices. All other objects of the page are dropped in
 * either case. */
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

/* L has to be sorted by key. */
static bool has_key(const struct objects *l, const char *key) {
    const struct object wanted = {.key = (char *)(uintptr_t)key};
    return bsearch(&wanted, l->items, l->count, sizeof(l->items[0]), by_key) != NULL;
}

/* Checks that no name is both a file and a folder. L is sorted. S3 permits objects "a" and "a/b"
 * side by side, a file system does not. Every parent of every key is looked up, before anything is
 * fetched. */
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

/* Removes folder markers, which have no file, and the objects of other shards. The number counts
 * files alone, so each host gets the same number of files up to one, whatever markers lie between
 * them. All hosts see the same order. */
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

/* Lists a folder. *RET_ALL gets the number of objects with that prefix, markers and other shards
 * included: it tells an empty share from a missing folder. */
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
 * another form of folder marker. First an object of exactly this name is looked for. If there is
 * none, or an empty one, the folder is listed. If that has nothing, the empty object is a file
 * after all. A shard without files is no error if the folder has objects. */
static int read_all(const struct s3_listing *o, struct objects *ret, size_t *front,
                    struct error *err) {
    char prefix[ADDRESS_KEY_MAX + 2];
    const char *key = o->at->rest;
    size_t all = 0;
    bool folder = key[0] == '\0' || str_ends_with(key, "/");
    if (!folder && list(o, key, true, ret, err) != 0)
        return -1;
    bool single = !folder && keep_single(ret, key);
    struct objects alone = *ret; /* the single object, kept while the folder is listed */
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
