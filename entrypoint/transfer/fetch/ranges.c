#include "entrypoint/transfer/fetch/ranges.h"

#include "common/file/file.h"
#include "common/str.h"
#include "entrypoint/transfer/s3/etag.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* First the question (HEAD) is asked, and its answer begins the file. Then up to RANGES_WIDTH
 * pieces are under way, started by ranges_more as the pool has room. The complete pieces are
 * followed by ranges_digest, from the beginning of the file. The file ends in conclude, when no
 * piece runs and either all is digested or something failed. Every event that can be the last calls
 * conclude_if_over.
 *
 * Pieces arrive in any order, but MD5 and SHA-256 need the bytes in order. They are read back from
 * the file once complete, which finds them in the page cache as a rule, and covers parts of an
 * earlier run as well.
 *
 * After a failure no piece is started, and those under way run to their own end. Complete pieces
 * are kept for the next run; `one_stream` discards them instead. */

/* Bytes verified at a time: this takes some milliseconds, so other transfers do not stall. */
#define BLOCK (INT64_C(4) << 20)

/* --- end of the file -------------------------------------------------------------------------- */

/* Closes everything and calls the order's `ended`, which may free R: nothing may touch R
 * afterwards. */
static void finish(struct ranges *r) {
    const struct error failure = r->failure;
    if (r->one_stream)
        part_file_remove(&r->file);
    else
        part_file_close(&r->file);
    digest_done(&r->md5);
    digest_done(&r->sha);
    r->order.ended(r->order.context, failure.code != 0 ? &failure : NULL);
}

/* Notes the first failure; later ones are consequences as a rule. */
static void fail(struct ranges *r, const struct error *why) {
    if (r->failure.code == 0)
        r->failure = *why;
}

/* Discards all pieces, because the whole is wrong. Their bytes no longer count as fetched. A piece
 * under way has taken its own back in piece_ended. */
static void take_back(const struct ranges *r) {
    for (uint32_t i = 0; r->file.here != NULL && i < r->file.count; i++)
        if (r->file.here[i] != 0)
            *r->order.fetched -= part_file_length(&r->file, i);
}

/* Verifies the whole file. Returns NULL if it is correct, else what is wrong. Both digests have
 * covered the whole file at this point. A server that gives no SHA-256 leaves the MD5, and one with
 * other ETags leaves the condition of the version alone. */
static const char *verify(struct ranges *r, struct error *err) {
    char hex[DIGEST_HEX_MAX];
    if (digest_end(&r->md5, hex, err) != 0 || digest_end(&r->sha, r->own_sha256, err) != 0)
        return "its digest cannot be computed";
    if (r->is_md5 && strcmp(hex, r->etag) != 0)
        return "its MD5 does not match its ETag";
    return digest_given_differs(r->sha256, r->own_sha256)
               ? "its SHA-256 does not match the server's"
               : NULL;
}

/* Ends the file once no piece is being fetched and none will start. */
static void conclude(struct ranges *r) {
    struct error err = {0};
    const char *wrong = r->failure.code == 0 ? verify(r, &err) : NULL;
    r->one_stream = r->one_stream || wrong != NULL;
    if (wrong != NULL)
        (void)error_set(&err, EXIT_CODE_DATA, "%s: %s", r->order.name, wrong);
    else if (r->failure.code == 0)
        (void)part_file_publish(&r->file, &err);
    if (err.code != 0)
        fail(r, &err);
    if (r->one_stream)
        take_back(r);
    finish(r);
}

/* Moves r->next over parts that are here, from this run or an earlier one. */
static void skip_present(struct ranges *r) {
    while (r->next < r->file.count && r->file.here[r->next] != 0)
        r->next++;
}

/* R may be freed by this call. */
static void conclude_if_over(struct ranges *r) {
    skip_present(r);
    if (r->running == 0 && (r->failure.code != 0 || r->digested == r->size))
        conclude(r);
}

/* A block never crosses the end of a part, since the next part may be missing. A file that cannot
 * be read back is given up for one stream, which needs no reading. */
bool ranges_digest(struct ranges *r) {
    struct digest *const both[] = {&r->md5, &r->sha};
    struct error err = {0};
    uint32_t number = r->begun ? (uint32_t)(r->digested / r->file.piece) : 0;
    if (!r->begun || r->failure.code != 0 || r->digested == r->size || r->file.here[number] == 0)
        return false;
    int64_t left = part_file_begin(&r->file, number + 1) - r->digested;
    int64_t size = r->size - r->digested < left ? r->size - r->digested : left;
    size = size < BLOCK ? size : BLOCK;
    if (etag_digest(r->file.fd, r->digested, size, both, 2, &err) != 0) {
        r->one_stream = true;
        fail(r, &err);
    } else
        r->digested += size;
    conclude_if_over(r);
    return true;
}

/* Seconds without a byte that end a try; 0 stands for the default of exchange.h. */
static int64_t silence_of(const struct stream_order *o) {
    return o->s3 != NULL ? o->s3->silence : 0;
}

/* --- a piece ---------------------------------------------------------------------------------- */

/* A chunked answer may break off after its last byte, and no request can then ask for the rest. A
 * repeated try asks for the missing rest only. If nothing is missing, a request for an empty range
 * would be invalid, and the whole piece is fetched again. */
static int prepare_piece(void *context, struct request *ret, struct error *err) {
    struct ranges_piece *p = context;
    const struct ranges *r = p->owner;
    int64_t begin = part_file_begin(&r->file, p->number);
    if (p->have == part_file_length(&r->file, p->number)) {
        *r->order.fetched -= p->have;
        p->have = 0;
    }
    if (argv_printf(&ret->headers, err, "range: bytes=%" PRId64 "-%" PRId64, begin + p->have,
                    begin + part_file_length(&r->file, p->number) - 1) != 0 ||
        argv_printf(&ret->headers, err, "if-match: \"%s\"", r->etag) != 0)
        return -1;
    return stream_request(&r->order, "GET", ret, err);
}

/* The address may be served by several servers with different ETags for the same content. A single
 * answer with the whole file is of one version. S3's ETags belong to the bucket. */
static int fail_changed(struct ranges *r, struct error *err) {
    r->one_stream = r->order.s3 == NULL;
    return error_set(err, EXIT_CODE_DATA, "it changed while it was being fetched");
}

/* Accepts only status 206 with the ETag, the offset and the total size that were asked for. Status
 * 200 would be the whole file from its beginning, as servers without ranges answer. */
static int piece_begins(void *context, const struct answer *a, struct error *err) {
    const struct ranges_piece *p = context;
    struct ranges *r = p->owner;
    int64_t begin = part_file_begin(&r->file, p->number);
    if (a->etag[0] != '\0' && strcmp(a->etag, r->etag) != 0)
        return fail_changed(r, err);
    if (a->status == 206 && a->etag[0] != '\0' && a->range_begin == begin + p->have &&
        a->range_total == r->size)
        return 0;
    r->one_stream = true;
    return error_set(err, EXIT_CODE_DATA, "the server does not send the requested part");
}

/* Writes what came at its final offset. The caller's counter and the exchange's `furthest` grow
 * with it: a try that moves on does not count against the limit of tries. */
static int piece_bytes(void *context, const char *data, size_t size, struct error *err) {
    struct ranges_piece *p = context;
    struct ranges *r = p->owner;
    int64_t at = part_file_begin(&r->file, p->number) + p->have;
    if (p->have + (int64_t)size > part_file_length(&r->file, p->number))
        return error_set(err, EXIT_CODE_DATA, "the server sends more than was requested");
    if (pwrite(r->file.fd, data, size, at) != (ssize_t)size)
        return error_set_errno(err, file_write_code(errno), "writing \"%.256s\"", r->order.path);
    p->have += (int64_t)size;
    *r->order.fetched += (int64_t)size;
    if (p->have > p->exchange.furthest)
        p->exchange.furthest = p->have;
    return 0;
}

/* Notes the part as complete only after its last byte is written; part_file.h relies on that order.
 */
static int piece_complete(void *context, const struct answer *a, struct error *err) {
    struct ranges_piece *p = context;
    struct ranges *r = p->owner;
    (void)a;
    if (p->have != part_file_length(&r->file, p->number))
        return exchange_fail_again(err, "it was cut off");
    return part_file_note(&r->file, p->number, err);
}

/* 412 and 416 mean that the version that was asked for is gone. */
static int piece_refused(void *context, const struct answer *a, struct error *err) {
    const struct ranges_piece *p = context;
    struct ranges *r = p->owner;
    if (a->status == 412 || a->status == 416)
        return fail_changed(r, err);
    return r->order.s3 != NULL ? s3_refused(r->order.s3, a, err) : -1;
}

/* A piece that failed takes its bytes off the count: a part without its note is lost. */
static void piece_ended(void *context, const struct error *failure) {
    struct ranges_piece *p = context;
    struct ranges *r = p->owner;
    p->busy = false;
    r->running--;
    if (failure != NULL) {
        *r->order.fetched -= p->have;
        fail(r, failure);
    }
    conclude_if_over(r);
}

bool ranges_more(struct ranges *r) {
    static const struct exchange_events events = {.prepare = prepare_piece,
                                                  .begins = piece_begins,
                                                  .bytes = piece_bytes,
                                                  .complete = piece_complete,
                                                  .refused = piece_refused,
                                                  .ended = piece_ended};
    struct ranges_piece *p = r->pieces;
    if (!r->begun || r->failure.code != 0 || r->running == RANGES_WIDTH)
        return false;
    skip_present(r);
    if (r->next == r->file.count)
        return false;
    while (p->busy)
        p++;
    *p = (struct ranges_piece){.owner = r, .number = r->next++, .busy = true};
    p->exchange = (struct exchange){
        .name = r->order.name, .events = &events, .context = p, .silence = silence_of(&r->order)};
    r->running++;
    exchange_pool_add(r->pool, &p->exchange);
    return true;
}

/* --- size and ETag ---------------------------------------------------------------------------- */

/* For S3 also asks for the stored checksum, which it leaves out otherwise. */
static int prepare_question(void *context, struct request *ret, struct error *err) {
    const struct ranges *r = context;
    if (r->order.s3 != NULL && argv_add(&ret->headers, "x-amz-checksum-mode: ENABLED", err) != 0)
        return -1;
    return stream_request(&r->order, "HEAD", ret, err);
}

static int question_refused(void *context, const struct answer *a, struct error *err) {
    const struct ranges *r = context;
    return r->order.s3 != NULL ? s3_refused(r->order.s3, a, err) : -1;
}

/* If the answer does not permit pieces, the file is fetched as one stream, and its errors say why.
 * Takes size, ETag and SHA-256 from the answer. The listing's ETag, if any, has to be the same: the
 * object may have been replaced since. Encryption with KMS keys makes ETags that only look like
 * MD5s. */
static int question_complete(void *context, const struct answer *a, struct error *err) {
    struct ranges *r = context;
    bool same = r->etag[0] == '\0' || strcmp(a->etag, r->etag) == 0;
    if (!same || !stream_is_strong(a->etag) || a->length < RANGES_LEAST ||
        (r->size >= 0 && a->length != r->size))
        return error_set(err, EXIT_CODE_DATA, "its size and ETag do not permit pieces");
    (void)snprintf(r->etag, sizeof(r->etag), "%s", a->etag);
    (void)snprintf(r->sha256, sizeof(r->sha256), "%s", a->sha256);
    r->is_md5 =
        r->order.s3 != NULL && etag_is_md5(a->etag) && !str_starts_with(a->encryption, "aws:kms");
    r->size = a->length;
    return 0;
}

/* Opens the partial file. Its parts of an earlier run count as fetched. If another process has it,
 * the caller falls back to one stream under a name of its own. */
static int begin(struct ranges *r, struct error *err) {
    const struct stream_order *o = &r->order;
    int64_t there = part_file_present(o->root, o->path, r->size);
    if (safe_dir_check_room(o->root, r->size - there, err) != 0 ||
        digest_begin(&r->md5, DIGEST_OF_MD5, err) != 0 ||
        digest_begin(&r->sha, DIGEST_OF_SHA256, err) != 0)
        return -1;
    int opened = part_file_open(&r->file, o->root, o->path, r->size, r->etag, err);
    if (opened > 0) {
        r->one_stream = true;
        return error_set(err, EXIT_CODE_DATA, "another process fetches it");
    }
    for (uint32_t i = 0; opened == 0 && i < r->file.count; i++)
        if (r->file.here[i] != 0)
            *o->fetched += part_file_length(&r->file, i);
    r->begun = opened == 0;
    return opened;
}

/* Without an answer the file is tried in one stream, and a lasting fault shows there. */
static void question_ended(void *context, const struct error *failure) {
    struct ranges *r = context;
    struct error err = {0};
    r->one_stream = failure != NULL;
    if (failure != NULL)
        fail(r, failure);
    else if (begin(r, &err) != 0)
        fail(r, &err);
    conclude_if_over(r);
}

void ranges_start(struct ranges *r, const struct stream_order *order, struct exchange_pool *pool) {
    static const struct exchange_events events = {.prepare = prepare_question,
                                                  .complete = question_complete,
                                                  .refused = question_refused,
                                                  .ended = question_ended};
    *r = (struct ranges){.order = *order, .pool = pool, .size = order->size};
    r->file.fd = r->file.folder = -1;
    if (order->etag != NULL)
        (void)snprintf(r->etag, sizeof(r->etag), "%s", order->etag);
    r->question = (struct exchange){
        .name = order->name, .events = &events, .context = r, .silence = silence_of(order)};
    exchange_pool_add(pool, &r->question);
}
