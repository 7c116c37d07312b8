#include "entrypoint/transfer/web_order.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/disk/part_file.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/fetch/fetch_file.h"
#include "entrypoint/transfer/s3/etag.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A run in two passes. The first asks every server for its file's size, looks which files are here
 * and checks the room on the disk. The second fetches what is missing, one file after the other,
 * with parallel ranges where the server permits them. Errors about addresses, passwords and space
 * thus come before the first byte, not after hours.
 *
 * transfer.c calls it for `ringtrain prepare`. S3, other hosts and links are no part of it; what it
 * has in common with downloads of a job is fetch/fetch_file.h. */

enum {
    QUESTION_SECONDS = 120, /* for the size of one file, with all tries */
    MARK_MAX = 64           /* two numbers of at most 20 digits */
};
/* Bytes of a file on this disk that are digested between two marks. */
#define BLOCK (INT64_C(16) << 20)

/* --- parsing the order ------------------------------------------------------------------------ */

void web_order_done(struct web_order *o) {
    for (size_t i = 0; i < o->count; i++)
        address_done(&o->files[i].at);
    *o = (struct web_order){0};
}

/* Capitals are refused, since digests are compared as texts with those of digest.h. */
static bool is_sha256(const char *text) {
    return strlen(text) == WEB_ORDER_SHA256_SIZE &&
           strspn(text, "0123456789abcdef") == strlen(text);
}

/* Reads one file. The name is not checked here: safe_dir_enter refuses one that leads out of the
 * folder. The file is counted once it owns its address. */
static int parse_file(const json_t *item, struct web_order *o, struct error *err) {
    static const char where[] = "the order's file";
    struct web_order_file *f = &o->files[o->count];
    const char *url = NULL;
    if (json_member_string(item, where, "url", &url, err) != 0 ||
        json_member_string(item, where, "name", &f->name, err) != 0 ||
        json_member_string(item, where, "sha256", &f->sha256, err) != 0)
        return -1;
    if (url == NULL || f->name == NULL || (f->sha256 != NULL && !is_sha256(f->sha256)))
        return error_set(err, EXIT_CODE_INTERNAL, "%s lacks url or name, or has no such sha256",
                         where);
    if (address_parse_web(url, o->plain, &f->at, err) != 0)
        return -1;
    o->count++;
    return 0;
}

/* Reads the members. Everything but the password stays borrowed and unprinted; the password is
 * given to redact.h before any request could put it into an error text. */
static int parse(const json_t *web, struct web_order *o, struct error *err) {
    static const char where[] = "the order";
    json_t *files = NULL;
    if (json_member_string(web, where, "to", &o->folder, err) != 0 ||
        json_member_string(web, where, "user", &o->user, err) != 0 ||
        json_member_string(web, where, "password", &o->password, err) != 0 ||
        json_member_bool(web, where, "plain", &o->plain, err) != 0 ||
        json_member_int(web, where, "spare", &o->spare, err) != 0 ||
        json_member_array(web, where, "files", &files, err) != 0)
        return -1;
    if (o->folder == NULL || json_array_size(files) < 1 ||
        json_array_size(files) > WEB_ORDER_FILES_MAX || o->spare < 0 ||
        o->spare > WEB_ORDER_SPARE_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%s lacks a folder or files, or has too many",
                         where);
    if (o->password != NULL && redact_add(o->password, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(files); i++)
        if (parse_file(json_array_get(files, i), o, err) != 0)
            return -1;
    return 0;
}

/* A failure leaves nothing to free in RET. */
int web_order_parse(const json_t *web, struct web_order *ret, struct error *err) {
    *ret = (struct web_order){0};
    if (parse(web, ret, err) == 0)
        return 0;
    web_order_done(ret);
    return -1;
}

/* --- what the servers have, and what is here -------------------------------------------------- */

struct web_download {
    const struct web_order *order;
    int root; /* descriptor of the folder */
    int64_t deadline;
    void (*say)(const char *line);
    void (*mark)(const char *line);
    int64_t sizes[WEB_ORDER_FILES_MAX]; /* as the servers tell; -1: not known */
    bool here[WEB_ORDER_FILES_MAX];     /* complete since an earlier start */
    int64_t total;                      /* -1: not known */
    int64_t fetched;                    /* bytes that are here, of all files */
    /* Of the file that is being fetched: */
    struct fetch_file fetch;
    struct error failure; /* code 0: none */
};

/* Prints where the run stands, in the form that web_order_run promises. */
static void mark(const struct web_download *d) {
    char line[MARK_MAX];
    (void)snprintf(line, sizeof(line), "%" PRId64 " %" PRId64, d->fetched, d->total);
    d->mark(line);
}

/* One HEAD request, as the context of its callbacks. */
struct web_question {
    const struct web_order *order;
    const struct web_order_file *file;
    long status; /* of a refusal */
};

/* Makes the request for a file's size. The address, with its user and password, is used as GET uses
 * it later, so a refusal of one is a refusal of the other. */
static int prepare(void *context, struct request *ret, struct error *err) {
    const struct web_question *q = context;
    const struct stream_order source = {
        .url = q->file->at.text, .user = q->order->user, .password = q->order->password};
    return stream_request(&source, "HEAD", ret, err);
}

/* Keeps the status for `advice` and lets the exchange fail. Statuses of busy servers do not come
 * here: those requests are repeated (retry.h). */
static int refused(void *context, const struct answer *answer, struct error *err) {
    struct web_question *q = context;
    (void)err;
    q->status = answer->status;
    return -1;
}

/* The statuses that are final, and what to do about them. NULL for any other status: it may concern
 * HEAD alone, and the file is tried. */
static const char *advice(const struct web_question *q) {
    switch (q->status) {
    case 401:
        return q->order->user == NULL ? "it asks for a user and a password; give them by --user "
                                        "and --password-file"
                                      : "it does not accept this user and password";
    case 404:
    case 410:
        return "it has no such file; check the address";
    case 407:
        return "a proxy asks for a user; proxies are not used";
    default:
        return NULL;
    }
}

/* Asks for the size. A server that answers no such question may still send the file. Fails for
 * statuses with advice and if no server answers at all. After any other refusal the size stays
 * unknown (-1), and with it the total. */
static int ask_size(struct web_download *d, size_t number, struct error *err) {
    struct web_question context = {.order = d->order, .file = &d->order->files[number]};
    const struct question question = {.name = context.file->at.shown,
                                      .prepare = prepare,
                                      .refused = refused,
                                      .context = &context,
                                      .seconds = QUESTION_SECONDS,
                                      .certificates = d->order->certificates};
    cleanup_buf struct buf body;
    struct answer answer = {0};
    buf_init(&body, 1);
    d->sizes[number] = -1;
    if (exchange_pool_ask(&question, &body, &answer, err) == 0) {
        d->sizes[number] = answer.length;
        return 0;
    }
    const char *what = advice(&context);
    if (what != NULL)
        return error_set(err, EXIT_CODE_DATA, "%s: the server answers %ld: %s",
                         context.file->at.shown, context.status, what);
    return context.status != 0 ? 0 : error_wrap(err, "%s", context.file->at.shown);
}

/* Compares the SHA-256 OWN of a file with the expected one, if there is one. The file stays in
 * either case: only its user can tell which of the two is wrong. */
static int check_digest(const struct web_order *o, const struct web_order_file *f, const char *own,
                        struct error *err) {
    if (f->sha256 == NULL || strcmp(f->sha256, own) == 0)
        return 0;
    return error_set(
        err, EXIT_CODE_DATA,
        "%.200s/%.200s: its SHA-256 is %s, expected %s, that of --sha256 or else of the "
        "published archive of this name; remove the file to fetch it anew, or give "
        "the right --sha256",
        o->folder, f->name, own, f->sha256);
}

/* Digests a file that is here. It is read in blocks, so that the time limit holds for large
 * archives, too. */
static int digest_here(struct web_download *d, const struct web_order_file *f, int fd, int64_t size,
                       struct error *err) {
    struct digest sha = {0};
    struct digest *const one[] = {&sha};
    char own[DIGEST_HEX_MAX];
    int result = digest_begin(&sha, DIGEST_OF_SHA256, err);
    for (int64_t at = 0; result == 0 && at < size; at += BLOCK) {
        result = etag_digest(fd, at, size - at < BLOCK ? size - at : BLOCK, one, 1, err);
        if (result == 0 && clock_now() > d->deadline)
            result = error_set(err, EXIT_CODE_DATA, "%s: no time is left to verify it", f->name);
    }
    if (result == 0)
        result = digest_end(&sha, own, err);
    digest_done(&sha);
    return result == 0 ? check_digest(d->order, f, own, err) : -1;
}

/* Looks whether the complete file is here already. A file of the right size is trusted, unless the
 * order has its SHA-256. O_NONBLOCK keeps a FIFO of that name from blocking. */
static int look(struct web_download *d, size_t number, struct error *err) {
    const struct web_order_file *f = &d->order->files[number];
    char line[512];
    struct stat st;
    cleanup_fd int fd = openat(d->root, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return 0;
    if (!S_ISREG(st.st_mode) || (d->sizes[number] >= 0 && st.st_size != d->sizes[number]))
        return error_set(err, EXIT_CODE_DATA,
                         "%.200s/%.200s is there with %lld bytes, and the server has a file of "
                         "%" PRId64 "; remove it to fetch it anew",
                         d->order->folder, f->name, (long long)st.st_size, d->sizes[number]);
    d->here[number] = true;
    d->sizes[number] = st.st_size;
    (void)snprintf(line, sizeof(line), "%s is there already", f->name);
    d->say(line);
    return f->sha256 != NULL ? digest_here(d, f, fd, st.st_size, err) : 0;
}

/* Checks that the missing bytes and the spare room fit on the disk. What partial files already
 * occupy does not have to come again. With an unknown total nothing can be said; each file is then
 * checked by itself when its size is known. */
static int check_room(const struct web_download *d, struct error *err) {
    const double mb = 1e6;
    struct statvfs st;
    if (d->total < 0)
        return 0;
    if (fstatvfs(d->root, &st) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", d->order->folder);
    double free_bytes = (double)st.f_bavail * (double)st.f_frsize;
    double coming = 0;
    for (size_t i = 0; i < d->order->count; i++)
        if (!d->here[i])
            coming += (double)(d->sizes[i] -
                               part_file_present(d->root, d->order->files[i].name, d->sizes[i]));
    double spare = (double)d->total * (double)d->order->spare / 100;
    if (coming + spare <= free_bytes)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "%.256s: %.1f MB are to be fetched, about %.1f MB are needed for what is made "
                     "of them, and %.1f MB are free; make room, or give another folder",
                     d->order->folder, coming / mb, spare / mb, free_bytes / mb);
}

/* First pass over all files. One unknown size makes the total unknown, which stays so for the rest.
 */
static int look_at_all(struct web_download *d, struct error *err) {
    for (size_t i = 0; i < d->order->count; i++) {
        if (ask_size(d, i, err) != 0 || look(d, i, err) != 0)
            return -1;
        d->total = d->total < 0 || d->sizes[i] < 0 ? -1 : d->total + d->sizes[i];
        d->fetched += d->here[i] ? d->sizes[i] : 0;
    }
    return check_room(d, err);
}

/* --- fetching --------------------------------------------------------------------------------- */

/* The four functions below are the pool's and the file's callbacks; CONTEXT is the download. With a
 * single file at a time, "more" work is another range of it, and work aside is its verification. */
static bool more(void *context) {
    struct web_download *d = context;
    return fetch_file_more(&d->fetch);
}

static bool aside(void *context) {
    struct web_download *d = context;
    return fetch_file_verify(&d->fetch);
}

/* Called by the pool about once a second while a file is fetched. */
static void tick(void *context) {
    mark(context);
}

static void ended(void *context, const struct error *failure) {
    struct web_download *d = context;
    if (failure != NULL)
        d->failure = *failure;
}

/* Fetches one file in a pool of its own. The failure that `ended` has noted comes first, because it
 * names the cause; the pool's own error would be the time limit or libcurl's. */
static int fetch(struct web_download *d, size_t number, struct error *err) {
    const struct web_order *o = d->order;
    const struct web_order_file *f = &o->files[number];
    struct exchange_pool pool;
    const struct fetch_file_order order = {.source = {.url = f->at.text,
                                                      .user = o->user,
                                                      .password = o->password,
                                                      .name = f->at.shown,
                                                      .root = d->root,
                                                      .path = f->name,
                                                      .size = d->sizes[number],
                                                      .fetched = &d->fetched},
                                           .say = d->say,
                                           .ended = ended,
                                           .context = d};
    if (exchange_pool_open(&pool, o->certificates, err) != 0)
        return -1;
    pool.more = more;
    pool.aside = aside;
    pool.tick = tick;
    pool.context = d;
    fetch_file_start(&d->fetch, &order, &pool);
    int result = exchange_pool_run(&pool, d->deadline, err);
    exchange_pool_close(&pool);
    if (d->failure.code != 0) {
        if (err != NULL)
            *err = d->failure;
        result = -1;
    }
    if (result != 0)
        return error_wrap(err, "%s", f->at.shown);
    return check_digest(o, f, d->fetch.facts.sha256, err);
}

/* A mark before and after each file keeps the caller informed also when nothing is fetched. */
int web_order_run(const struct web_order *o, int64_t seconds, void (*say)(const char *line),
                  void (*marked)(const char *line), struct error *err) {
    struct web_download d = {
        .order = o, .deadline = clock_now() + seconds * CLOCK_SECOND, .say = say, .mark = marked};
    d.root = safe_dir_open(o->folder, err);
    if (d.root < 0)
        return -1;
    int result = look_at_all(&d, err);
    for (size_t i = 0; result == 0 && i < o->count; i++) {
        mark(&d);
        if (!d.here[i])
            result = fetch(&d, i, err);
    }
    mark(&d);
    (void)close(d.root);
    return result;
}
