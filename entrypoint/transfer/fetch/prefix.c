#include "entrypoint/transfer/fetch/prefix.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/transfer/fetch/fetch_file.h"
#include "entrypoint/transfer/fetch/first_folder.h"
#include "entrypoint/transfer/s3/s3_listing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One call is one download with a pool of its own. The sources differ only in how the list of
 * objects comes about: a listing of S3 (load_objects), the first host's list (load_first), or a
 * single file of unknown size (load_url). From there all is one loop in the pool: `more` starts the
 * next file or range when there is room, `aside` verifies blocks, `tick` reports, `ended` is each
 * file's end.
 *
 * Everything runs in one thread. Files that are here already are recognized inside `more`, which
 * can take minutes for large ones; verified_some keeps the reports alive meanwhile.
 *
 * The first failure stops the pool. What is complete by then stays, and a repeated run finds it. */

/* Time between two lines of the log, and between two marks for the parent process. */
enum { SAY_SECONDS = 10, MARK_SECONDS = 1, LINE_MAX_SIZE = 1024 };

struct one;

/* State of one download. */
struct loading {
    const struct prefix_download_order *order;
    struct objects objects;
    size_t front;      /* length of the part of each key that is no path here */
    size_t next;       /* index of the next object to look at */
    size_t done;       /* files that are complete */
    int64_t total;     /* bytes; -1: unknown */
    int64_t fetched;   /* bytes that are here */
    int64_t next_word; /* when the log gets the next line */
    int64_t next_mark;
    int64_t verified;             /* blocks of local files, and objects looked at */
    struct catalog_facts list;    /* of the first host's list of files */
    int64_t marked;               /* sum of bytes, files and blocks at the last mark */
    struct catalog_task *catalog; /* offers the files to other hosts; NULL: none */
    struct one *ones;             /* files being fetched */
    struct exchange_pool pool;
    struct error failure; /* the first failure; code 0: none */
};

/* One file that is being fetched, from `start` to `ended`; in the list l->ones. */
struct one {
    struct loading *loading;
    struct one *next;
    struct fetch_file fetch;
    char name[ADDRESS_MAX]; /* for people; the exchange borrows it */
    int64_t modified;       /* of a file of the first host */
};

static bool of_first(const struct loading *l) {
    return l->order->from->kind == ADDRESS_FIRST;
}

static void describe(const struct loading *l, char line[LINE_MAX_SIZE]) {
    const double mib = 1048576;
    if (l->total >= 0)
        (void)snprintf(line, LINE_MAX_SIZE, "%s: %.1f of %.1f MiB, %zu of %zu files",
                       l->order->what, (double)l->fetched / mib, (double)l->total / mib, l->done,
                       l->objects.count);
    else
        (void)snprintf(line, LINE_MAX_SIZE, "%s: %.1f MiB", l->order->what,
                       (double)l->fetched / mib);
}

/* Logs where the download stands, at most every SAY_SECONDS unless it is the LAST line. */
static void say_progress(struct loading *l, bool last) {
    char line[LINE_MAX_SIZE];
    if (!last && clock_now() < l->next_word)
        return;
    l->next_word = clock_now() + SAY_SECONDS * CLOCK_SECOND;
    describe(l, line);
    l->order->say(line);
}

/* Marks progress. A try that starts again takes bytes off the count, which is not progress; the
 * bytes that it then brings are, because tries that get no further are counted elsewhere. */
static void mark_progress(struct loading *l) {
    char line[LINE_MAX_SIZE];
    int64_t now = clock_now();
    const struct sharing *passing = l->order->passing;
    int64_t moved = l->fetched + (int64_t)l->done + l->verified;
    if (passing != NULL) /* a host that waits for another one progresses when that one does */
        moved += (int64_t)passing->peer.moves;
    if (moved < l->marked)
        l->marked = moved;
    if (l->order->mark == NULL || now < l->next_mark || moved == l->marked)
        return;
    l->next_mark = now + MARK_SECONDS * CLOCK_SECOND;
    l->marked = moved;
    if (l->order->passing != NULL)
        catalog_step(&l->order->passing->catalog);
    describe(l, line);
    l->order->mark(line);
}

static void tick(void *context) {
    mark_progress(context);
    say_progress(context, false);
}

/* Offers a complete file to other hosts. A file with a name of its own is an archive, which is
 * removed after it was unpacked; the catalog therefore keeps it open. */
static void add_to_catalog(const struct loading *l, const char *path,
                           const struct catalog_facts *facts) {
    if (l->catalog != NULL)
        catalog_put(&l->order->passing->catalog, l->catalog, path, facts, l->order->name != NULL);
}

static void verified_some(void *context) {
    struct loading *l = context;
    l->verified++;
    tick(l);
}

/* Checks whether a file is already here. Its SHA-256 for other hosts is computed along with its
 * ETag. A file of the first host is recognized by size and time, any other by its ETag, for which
 * it is read. One without a listed ETag is fetched again. */
static bool is_present(struct loading *l, const char *path, const struct object *object) {
    struct catalog_facts facts = {.size = object->size};
    struct digest sha = {0};
    if (of_first(l)) {
        (void)snprintf(facts.etag, sizeof(facts.etag), "%s", object->etag);
        const bool here =
            first_folder_has(l->order->root, path, object, verified_some, l, facts.sha256);
        if (here)
            add_to_catalog(l, path, &facts);
        return here;
    }
    const struct etag_along along = {
        .sha = l->catalog != NULL ? &sha : NULL, .turn = verified_some, .context = l};
    bool there = stream_is_there(l->order->root, path, object->size, object->etag, &along);
    (void)snprintf(facts.etag, sizeof(facts.etag), "%s", there ? object->etag : "");
    if (there && l->catalog != NULL && digest_end(&sha, facts.sha256, NULL) == 0)
        add_to_catalog(l, path, &facts);
    digest_done(&sha);
    return there;
}

/* End of one file. The list of the first host is the only file that ends while such an address has
 * no catalog task yet. Its facts are kept for read_list and for passing it on. O is freed here. */
static void ended(void *context, const struct error *failure) {
    struct one *o = context;
    struct loading *l = o->loading;
    struct one **slot = &l->ones;
    while (*slot != o)
        slot = &(*slot)->next;
    *slot = o->next;
    if (failure == NULL && of_first(l) && l->catalog == NULL)
        l->list = o->fetch.facts;
    else if (failure == NULL && of_first(l))
        first_folder_date(l->order->root, o->fetch.source.path, o->modified);
    if (failure == NULL)
        add_to_catalog(l, o->fetch.source.path, &o->fetch.facts);
    if (failure != NULL && l->failure.code == 0)
        l->failure = *failure;
    l->pool.stop = l->failure.code != 0;
    l->done += failure == NULL;
    free(o);
}

/* Returns NULL and notes the failure if memory runs out. */
static struct one *new_one(struct loading *l) {
    struct one *o = calloc(1, sizeof(*o));
    if (o == NULL && l->failure.code == 0)
        (void)error_no_memory(&l->failure, "a file");
    if (o != NULL)
        o->loading = l;
    return o;
}

/* Puts O into the list before anything can call `ended`, which takes it out again: a file can fail
 * at once. */
static void start(struct one *o, const struct stream_order *source) {
    struct loading *l = o->loading;
    const struct fetch_file_order order = {.source = *source,
                                           .passing = l->order->passing,
                                           .task = l->order->task,
                                           .say = l->order->say,
                                           .ended = ended,
                                           .context = o};
    o->next = l->ones;
    l->ones = o;
    fetch_file_start(&o->fetch, &order, &l->pool);
}

/* The name of a single file: as requested, else as in its address. */
static const char *own_name(const struct prefix_download_order *o) {
    const char *name = o->name != NULL ? o->name : address_name(o->from);
    return name[0] != '\0' ? name : "file";
}

/* Returns the path of an object below the root. */
static const char *path_of(const struct loading *l, const struct object *object) {
    return l->order->name != NULL ? l->order->name : object->key + l->front;
}

/* Starts the next piece of a file that is being fetched, or the next object that is not here yet.
 * After a failure none is started. Ranges of files that are begun come first: few files are then
 * open and incomplete at a time. */
static bool more(void *context) {
    struct loading *l = context;
    const struct prefix_download_order *o = l->order;
    for (struct one *one = l->ones; one != NULL && l->failure.code == 0; one = one->next)
        if (fetch_file_more(&one->fetch))
            return true;
    if (l->failure.code != 0 || l->next == l->objects.count)
        return false;
    const struct object *object = &l->objects.items[l->next++];
    const char *path = path_of(l, object);
    bool newer = o->keep_newer && stream_is_newer(o->root, path, object->modified);
    /* Returns true without an exchange: the pool asks again at once. */
    if (newer || is_present(l, path, object)) {
        l->done++;
        l->fetched += object->size;
        mark_progress(l);
        return true;
    }
    struct one *one = new_one(l);
    if (one == NULL)
        return false;
    if (of_first(l))
        (void)snprintf(one->name, sizeof(one->name), "%s/%s", o->from->shown, object->key);
    else
        (void)snprintf(one->name, sizeof(one->name), "s3://%s/%s", o->from->bucket, object->key);
    one->modified = object->modified;
    const struct stream_order source = {.s3 = of_first(l) ? NULL : o->s3,
                                        .bucket = o->from->bucket,
                                        .key = object->key,
                                        .name = one->name,
                                        .root = o->root,
                                        .path = path,
                                        .size = object->size,
                                        .etag = object->etag,
                                        .fetched = &l->fetched};
    start(one, &source);
    return true;
}

/* Verifies files of an earlier start, which may be hundreds of gigabytes. */
static bool aside(void *context) {
    struct loading *l = context;
    for (struct one *one = l->ones; one != NULL && l->failure.code == 0; one = one->next)
        if (fetch_file_verify(&one->fetch)) {
            l->verified++;
            return true;
        }
    return false;
}

/* Runs the pool until all files are here or one has failed. In the second case `ended` stops the
 * pool, which then returns 0, and the failure is reported here. */
static int run_pool(struct loading *l, struct error *err) {
    l->pool.more = more;
    l->pool.aside = aside;
    l->pool.tick = tick;
    l->pool.context = l;
    l->next_word = clock_now() + SAY_SECONDS * CLOCK_SECOND;
    if (exchange_pool_run(&l->pool, l->order->deadline, err) != 0)
        return error_wrap(err, "%s", l->order->from->shown);
    if (l->failure.code != 0) {
        if (err != NULL)
            *err = l->failure;
        return -1;
    }
    return 0;
}

/* As run_pool, and logs the last line of progress. */
static int run(struct loading *l, struct error *err) {
    if (run_pool(l, err) != 0)
        return -1;
    say_progress(l, true);
    return 0;
}

/* Offers all objects to other hosts from now on. The paths are known to the catalog before the
 * first byte is here, so a host below can already ask for them and wait. Without a listing (https)
 * the file's own name is the only one. */
static int offer(struct loading *l, struct error *err) {
    const struct prefix_download_order *o = l->order;
    if (o->passing == NULL)
        return 0;
    struct catalog *catalog = &o->passing->catalog;
    l->catalog = catalog_begin(catalog, o->task, o->root, err);
    if (l->catalog == NULL ||
        (of_first(l) && catalog_expect(catalog, l->catalog, FIRST_FOLDER_LIST, err) != 0))
        return -1;
    if (o->name != NULL || l->objects.count == 0) {
        if (catalog_expect(catalog, l->catalog, own_name(o), err) != 0)
            return -1;
    } else
        for (size_t i = 0; i < l->objects.count; i++)
            if (catalog_expect(catalog, l->catalog, l->objects.items[i].key + l->front, err) != 0)
                return -1;
    catalog_listed(catalog, l->catalog);
    return 0;
}

/* The number of bytes that are already on this disk. Marks progress as it goes, as a listing of a
 * million objects takes a while to look up. */
static int64_t present(struct loading *l) {
    int64_t bytes = 0;
    for (size_t i = 0; i < l->objects.count; i++) {
        l->verified++;
        mark_progress(l);
        bytes += part_file_present(l->order->root, path_of(l, &l->objects.items[i]),
                                   l->objects.items[i].size);
    }
    return bytes;
}

/* Sums the sizes, checks the room on the disk for what is missing, and offers the objects. The
 * sizes come from a server or another host, so the sum may overflow. */
static int load_listed(struct loading *l, struct error *err) {
    const struct prefix_download_order *o = l->order;
    for (size_t i = 0; i < l->objects.count; i++) {
        if (__builtin_add_overflow(l->total, l->objects.items[i].size, &l->total))
            return error_set(err, EXIT_CODE_DATA, "the listing has impossible sizes");
    }
    if (safe_dir_check_room(o->root, l->total - present(l), err) != 0)
        return error_wrap(err, "%s", o->from->shown);
    return offer(l, err);
}

/* Reads the list that has been fetched, and removes it. *RET_FD stays open for other hosts. Its
 * name is gone before it is parsed: no later start can take an old list for a new one. */
static int read_list(struct loading *l, int *ret_fd, struct error *err) {
    const int root = l->order->root;
    const size_t size = (size_t)l->list.size;
    if (l->list.size > FIRST_FOLDER_LIST_MAX)
        return error_set(err, EXIT_CODE_DATA, "the first host's list of files is too long");
    cleanup_free char *text = malloc(size + 1);
    *ret_fd = openat(root, FIRST_FOLDER_LIST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    (void)unlinkat(root, FIRST_FOLDER_LIST, 0);
    if (text == NULL)
        return error_no_memory(err, "a list of files");
    if (*ret_fd < 0 || file_read_exact(*ret_fd, text, size, err) != 0)
        return error_wrap(err, "the first host's list of files");
    return first_folder_parse(text, size, &l->objects, err);
}

/* Fetches the list of the first host, as a file of unknown size without a source (fetch_file.h).
 * The counters start anew afterwards, as they are those of the folder's own files. */
static int load_list(struct loading *l, int *ret_fd, struct error *err) {
    const struct prefix_download_order *o = l->order;
    struct one *one = new_one(l);
    const struct stream_order source = {.name = o->from->shown,
                                        .root = o->root,
                                        .path = FIRST_FOLDER_LIST,
                                        .size = -1,
                                        .fetched = &l->fetched};
    if (one == NULL)
        return error_no_memory(err, "a file");
    l->total = -1;
    start(one, &source);
    if (run_pool(l, err) != 0)
        return -1;
    l->total = l->fetched = 0;
    l->done = 0;
    return read_list(l, ret_fd, err);
}

/* The list is offered to hosts below as soon as it was read, before the files: they need it first.
 */
static int load_first(struct loading *l, struct error *err) {
    cleanup_fd int fd = -1;
    if (load_list(l, &fd, err) != 0 || load_listed(l, err) != 0)
        return -1;
    if (l->catalog != NULL)
        catalog_put_open(&l->order->passing->catalog, l->catalog, FIRST_FOLDER_LIST, &l->list,
                         take_fd(&fd));
    return run(l, err);
}

static int load_objects(struct loading *l, struct error *err) {
    const struct prefix_download_order *o = l->order;
    const struct s3_listing listing = {.s3 = o->s3,
                                       .at = o->from,
                                       .what = o->what,
                                       .may_be_none = o->may_be_none,
                                       .shard = o->shard,
                                       .shards = o->shards,
                                       .deadline = o->deadline,
                                       .mark = o->mark,
                                       .say = o->say};
    if (s3_listing_read(&listing, &l->objects, &l->front, err) != 0)
        return -1;
    return load_listed(l, err) == 0 ? run(l, err) : -1;
}

/* Fetches a single file over https. O belongs to the pool once it is started; before that it is
 * freed here. */
static int load_url(struct loading *l, struct error *err) {
    const struct prefix_download_order *o = l->order;
    struct one *one = new_one(l);
    if (one == NULL)
        return error_no_memory(err, "a file");
    const struct stream_order source = {.url = o->from->text,
                                        .name = o->from->shown,
                                        .root = o->root,
                                        .path = own_name(o),
                                        .size = -1,
                                        .fetched = &l->fetched};
    l->total = -1;
    if (offer(l, err) != 0) {
        free(one);
        return -1;
    }
    start(one, &source);
    return run(l, err);
}

/* With other hosts, this call waits for the upstream host to answer, if no earlier one has. The
 * catalog's task ends after success and failure alike, so that waiting hosts are released. */
int prefix_download(const struct prefix_download_order *order, struct error *err) {
    struct loading l = {.order = order};
    if (exchange_pool_open(&l.pool, order->s3->certificates, err) != 0)
        return -1;
    if (order->passing != NULL)
        (void)sharing_has_peer(order->passing, order->say);
    int result = order->from->kind == ADDRESS_S3      ? load_objects(&l, err)
                 : order->from->kind == ADDRESS_FIRST ? load_first(&l, err)
                                                      : load_url(&l, err);
    if (l.catalog != NULL)
        catalog_end(&order->passing->catalog, l.catalog);
    exchange_pool_close(&l.pool);
    objects_done(&l.objects);
    return result;
}
