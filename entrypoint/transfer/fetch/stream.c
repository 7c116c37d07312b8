#include "entrypoint/transfer/fetch/stream.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One exchange fetches one file. Each try calls prepare, begins, bytes and complete in this order
 * (exchange.h); between tries the file, its digests and the bytes so far stay. The bytes are
 * digested as they come, so nothing is read again at the end.
 *
 * Unlike a partial file of disk/part_file.h, the temporary file belongs to this process alone and
 * is removed when it fails: a later run starts from the beginning. In exchange it works with any
 * server, also with one that has no ETags or ranges.
 *
 * fetch_file.c starts it, for the source or for another host. In the second case a failure says
 * whether that host is to be given up: `spared` means that it is not at fault. */

/* Another host answers every few seconds; if it is lost, the source is still there. */
enum { PEER_TRIES = 3, PEER_SILENCE = 15 };

/* Fails with an error that is not the other host's fault. Returns -1 in any case, for use in a
 * return statement. */
static int spare(struct stream *f) {
    f->spared = true;
    return -1;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Creates the temporary file beside the destination, so that the last step is a rename within one
 * folder. Process and number make the name unique; a leftover of a process with the same number is
 * removed first. */
static int open_file(struct stream *f, struct error *err) {
    static atomic_uint number;
    f->folder = safe_dir_enter(f->order.root, f->order.path, f->name, err);
    if (f->folder < 0)
        return spare(f);
    (void)snprintf(f->temp, sizeof(f->temp), ".ringmaster-part-%ld-%u", (long)getpid(),
                   atomic_fetch_add(&number, 1));
    (void)unlinkat(f->folder, f->temp, 0);
    f->fd = openat(f->folder, f->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (f->fd >= 0)
        return 0;
    (void)error_set_errno(err, file_write_code(errno), "writing \"%.256s\"", f->order.path);
    return spare(f);
}

/* Begins the file anew: takes its bytes off the count, empties it and resets both digests. */
static int restart(struct stream *f, struct error *err) {
    *f->order.fetched -= f->have;
    f->have = 0;
    if (ftruncate(f->fd, 0) != 0) {
        (void)error_set_errno(err, EXIT_CODE_INTERNAL, "\"%.256s\"", f->order.path);
        return spare(f);
    }
    if (digest_begin(&f->md5, DIGEST_OF_MD5, err) != 0)
        return -1;
    return digest_begin(&f->sha, DIGEST_OF_SHA256, err);
}

/* Removes the temporary name unless the file was published (KEEP). Safe when nothing is open. */
static void close_file(struct stream *f, bool keep) {
    if (f->fd >= 0) {
        (void)close(f->fd);
        if (!keep)
            (void)unlinkat(f->folder, f->temp, 0);
    }
    if (f->folder >= 0)
        (void)close(f->folder);
    f->fd = f->folder = -1;
    digest_done(&f->md5);
    digest_done(&f->sha);
}

/* --- the exchange ----------------------------------------------------------------------------- */

/* Weak ETags (W/"...") only promise the same meaning, not the same bytes (RFC 9110, 8.8.3). */
bool stream_is_strong(const char *etag) {
    return etag[0] != '\0' && !str_starts_with(etag, "W/");
}

int stream_request(const struct stream_order *o, const char *method, struct request *ret,
                   struct error *err) {
    const struct s3_request request = {.method = method, .bucket = o->bucket, .key = o->key};
    if (o->s3 != NULL)
        return s3_prepare(o->s3, &request, ret, err);
    ret->method = method;
    ret->may_redirect = true;
    ret->user = o->user;
    ret->password = o->password;
    return buf_add_text(&ret->url, o->url, err);
}

/* Asks for the rest, on condition that it is of the version begun: without If-Match a replaced
 * object would be continued with bytes of the new one. */
static int add_range(const struct stream *f, struct argv *headers, struct error *err) {
    if (f->have == 0)
        return 0;
    if (argv_printf(headers, err, "range: bytes=%" PRId64 "-", f->have) != 0)
        return -1;
    return argv_printf(headers, err, "if-match: \"%s\"", f->etag);
}

/* Makes the request of one try. The first one opens the file; a later one continues or restarts. */
static int prepare(void *context, struct request *ret, struct error *err) {
    struct stream *f = context;
    bool fresh = f->fd < 0;
    if (fresh && open_file(f, err) != 0)
        return -1;
    /* Without a strong ETag the rest might be of another version of the file, so it starts again.
     */
    if ((fresh || !stream_is_strong(f->etag)) && restart(f, err) != 0)
        return -1;
    if (add_range(f, &ret->headers, err) != 0)
        return -1;
    if (f->order.peer != NULL)
        return peer_client_prepare(f->order.peer, f->order.task, f->order.path, ret, err);
    if (f->order.s3 != NULL && argv_add(&ret->headers, "x-amz-checksum-mode: ENABLED", err) != 0)
        return -1;
    return stream_request(&f->order, "GET", ret, err);
}

static int fail_changed(struct stream *f, struct error *err) {
    (void)error_set(err, EXIT_CODE_DATA, "it changed while it was being fetched");
    return spare(f);
}

/* Learns the size of the whole from the answer, and checks it against the listing. The room on the
 * disk is checked when the size is news: for listed objects prefix.c has done it for all together.
 */
static int take_size(struct stream *f, const struct answer *a, struct error *err) {
    int64_t size = a->status == 206 ? a->range_total : a->length;
    if (size < 0)
        return 0;
    if (f->size >= 0 && f->size != size) {
        (void)error_set(err, EXIT_CODE_DATA,
                        "it has %" PRId64 " bytes where %" PRId64 " were expected", size, f->size);
        return spare(f);
    }
    bool news = f->size < 0;
    f->size = size;
    return !news || safe_dir_check_room(f->order.root, size - f->have, err) == 0 ? 0 : spare(f);
}

/* Judges the answer's head. A part (206) has to begin where the file ends; a full answer to a
 * request for the rest restarts the file. Another ETag than before, or than listed, is another
 * version. */
static int begins(void *context, const struct answer *a, struct error *err) {
    struct stream *f = context;
    if (a->status == 206 && (f->have == 0 || a->range_begin != f->have)) {
        if (restart(f, err) == 0)
            (void)exchange_fail_again(err,
                                      "the server sends a different part from the one requested");
        return -1;
    }
    if (a->status != 206 && f->have > 0 && restart(f, err) != 0)
        return -1;
    if (f->etag[0] != '\0' && a->etag[0] != '\0' && strcmp(f->etag, a->etag) != 0)
        return fail_changed(f, err);
    (void)snprintf(f->etag, sizeof(f->etag), "%s", a->etag[0] != '\0' ? a->etag : f->etag);
    (void)snprintf(f->sha256, sizeof(f->sha256), "%s", a->sha256);
    /* For objects encrypted with KMS the ETag is not an MD5, though it may look like one. The
     * source reports the encryption. */
    f->is_md5 =
        f->order.s3 != NULL && etag_is_md5(f->etag) &&
        (f->order.peer != NULL ? !f->order.no_md5 : !str_starts_with(a->encryption, "aws:kms"));
    if (f->order.peer != NULL && a->sha256[0] == '\0')
        return error_set(err, EXIT_CODE_DATA, "the answer has no SHA-256");
    return take_size(f, a, err);
}

/* Notes progress. Bytes that the next try would discard, or that an earlier try already had, do not
 * count. */
static void note_progress(struct stream *f) {
    if (stream_is_strong(f->etag) && f->have > f->exchange.furthest)
        f->exchange.furthest = f->have;
}

/* Writes and digests what came. pwrite() at an explicit offset needs no position that a failed try
 * would have to repair. A full disk is this host's fault, so the other host is spared. */
static int bytes(void *context, const char *data, size_t size, struct error *err) {
    struct stream *f = context;
    if (f->size >= 0 && f->have + (int64_t)size > f->size)
        return error_set(err, EXIT_CODE_DATA,
                         "the server sends more than the %" PRId64 " bytes announced", f->size);
    if (pwrite(f->fd, data, size, f->have) != (ssize_t)size) {
        (void)error_set_errno(err, file_write_code(errno), "writing \"%.256s\"", f->order.path);
        return spare(f);
    }
    f->have += (int64_t)size;
    *f->order.fetched += (int64_t)size;
    note_progress(f);
    if (digest_add(&f->md5, data, size, err) != 0)
        return -1;
    return digest_add(&f->sha, data, size, err);
}

/* Verifies the whole file. If only the MD5 of another host's bytes is wrong, the host is not asked
 * again: only the source can tell whether the ETag is an MD5. */
static int verify(struct stream *f, struct error *err) {
    char hex[DIGEST_HEX_MAX];
    const char *wrong = NULL;
    if (digest_end(&f->sha, f->own_sha256, err) != 0)
        return -1;
    if (digest_given_differs(f->sha256, f->own_sha256))
        wrong = "its SHA-256 does not match the server's";
    else if (f->is_md5 && (digest_end(&f->md5, hex, err) != 0 || strcmp(hex, f->etag) != 0)) {
        wrong = "its MD5 does not match its ETag";
        f->doubted = f->order.peer != NULL;
    }
    if (f->doubted) {
        (void)error_set(err, EXIT_CODE_DATA, "%s", wrong);
        return spare(f);
    }
    if (wrong != NULL)
        return restart(f, err) == 0 ? exchange_fail_again(err, wrong) : -1;
    return 0;
}

/* An answer without a length is complete when the connection ends; if the size is known from
 * elsewhere it has to be reached. The rename is the moment at which the file exists for others. */
static int complete(void *context, const struct answer *a, struct error *err) {
    struct stream *f = context;
    (void)a;
    if (f->size >= 0 && f->have != f->size)
        return exchange_fail_again(err, "it was cut off");
    if (verify(f, err) != 0)
        return -1;
    if (renameat(f->folder, f->temp, f->folder, f->name) == 0)
        return 0;
    (void)error_set_errno(err, file_write_code(errno), "\"%.256s\"", f->order.path);
    return spare(f);
}

/* Another host that is still fetching the file answers "later", which does not count as a try. 416
 * for the rest means that nothing was left to send or the size changed: it starts again. */
static int refused(void *context, const struct answer *a, struct error *err) {
    struct stream *f = context;
    if (f->order.peer != NULL && peer_client_refused(f->order.peer, a, err) == 0) {
        exchange_got_on(&f->exchange);
        return 0;
    }
    f->spared = a->status == PEER_CLIENT_NEVER;
    if (a->status == 412)
        return fail_changed(f, err);
    if (a->status == 416 && f->have > 0)
        return restart(f, err);
    return f->order.s3 != NULL && f->order.peer == NULL ? s3_refused(f->order.s3, a, err) : -1;
}

/* The order's `ended` may free F. */
static void ended(void *context, const struct error *failure) {
    struct stream *f = context;
    close_file(f, failure == NULL);
    f->order.ended(f->order.context, failure);
}

void stream_start(struct stream *f, const struct stream_order *order, struct exchange_pool *pool) {
    static const struct exchange_events events = {.prepare = prepare,
                                                  .begins = begins,
                                                  .bytes = bytes,
                                                  .complete = complete,
                                                  .refused = refused,
                                                  .ended = ended};
    *f = (struct stream){.order = *order, .folder = -1, .fd = -1, .size = order->size};
    if (order->etag != NULL)
        (void)snprintf(f->etag, sizeof(f->etag), "%s", order->etag);
    f->exchange = (struct exchange){.name = order->name, .events = &events, .context = f};
    if (order->peer != NULL) {
        f->exchange.tries = PEER_TRIES;
        f->exchange.silence = PEER_SILENCE;
    } else if (order->s3 != NULL) {
        f->exchange.silence = order->s3->silence;
    }
    exchange_pool_add(pool, &f->exchange);
}

/* --- existing files --------------------------------------------------------------------------- */

/* Reads the whole file to compare its ETag, which can take minutes; ALONG is called meanwhile.
 * Without a listed ETag no file counts as there. */
bool stream_is_there(int root, const char *path, int64_t size, const char *etag,
                     const struct etag_along *along) {
    char name[SAFE_DIR_NAME_MAX + 1];
    struct stat st;
    if (etag == NULL)
        return false;
    cleanup_fd int folder = safe_dir_find(root, path, name);
    cleanup_fd int fd =
        folder >= 0 ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == size &&
           etag_fits(fd, size, etag, along);
}

bool stream_is_newer(int root, const char *path, int64_t modified) {
    char name[SAFE_DIR_NAME_MAX + 1];
    struct stat st;
    cleanup_fd int folder = safe_dir_find(root, path, name);
    return folder >= 0 && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_mtim.tv_sec > modified;
}
