#include "entrypoint/transfer/upload/multipart.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/str.h"
#include "entrypoint/transfer/disk/scan.h"
#include "entrypoint/transfer/s3/etag.h"
#include "entrypoint/transfer/s3/s3_call.h"
#include "entrypoint/transfer/s3/xml_fields.h"
#include "entrypoint/transfer/upload/part.h"
#include "entrypoint/transfer/upload/resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* For one file multipart_send does everything. It takes over a killed run's upload if its parts
 * match (go_on), or begins one, and sends the missing parts in parallel. It then checks that the
 * file is unchanged, and completes. The object does not exist before the last step. Any failure
 * aborts the upload, because parts that are never completed are stored, and charged for, without
 * being visible.
 *
 * What can be verified is verified twice: each part by its MD5 (part.c), and the joined object by
 * its ETag, which S3 computes from the parts' MD5s. An answer to the last step may be lost while
 * the server has done the work, so the object is looked at before that counts as a failure.
 *
 * upload.c calls it for large files; download_order.c probes and tidies targets at a job's start.
 */

enum {
    ASK_SECONDS = 120,
    FIND_SECONDS = 30, /* to look for parts of an earlier start; after that all parts are sent */
    COMPLETE_SECONDS = 600,     /* while the server joins the parts */
    ABORT_SECONDS = 10,         /* in total, even if a stop is nearly over */
    ABORT_TIMES = 2,            /* a part on its way may arrive after the first request */
    LIST_MAX = 2 * 1024 * 1024, /* bytes of the list of parts sent to the server */
};

/* Key of an upload that is begun and aborted. No object of that name ever exists. */
static const char probe_name[] = ".ringmaster-probe";

/* --- the steps -------------------------------------------------------------------------------- */

/* One file on its way. */
struct sending {
    const struct multipart_order *order;
    char id[XML_FIELDS_ID_MAX];
    int64_t part_size;
    unsigned count;            /* of parts */
    unsigned next;             /* index of the next part to send */
    struct resume_part *parts; /* owned; ETag and MD5 of each part */
    struct exchange_pool pool;
    struct error failure; /* the first failure; code 0: none */
};

/* One part on its way; freed when it ends. */
struct one {
    struct sending *sending;
    struct part piece;
};

/* Only the last part is shorter. NUMBER counts from 0, unlike S3's part numbers. */
static int64_t part_length(const struct sending *s, unsigned number) {
    int64_t left = s->order->size - (int64_t)number * s->part_size;
    return left < s->part_size ? left : s->part_size;
}

/* Returns the seconds for a step that may take SECONDS: no more than are left to the deadline. It
 * is one at least, so that the request is made and its own error shows. */
static int64_t seconds_for(const struct multipart_order *o, int64_t seconds) {
    int64_t left = (o->deadline - clock_now()) / CLOCK_SECOND;
    left = left > 1 ? left : 1;
    return left < seconds ? left : seconds;
}

/* Begins an upload and gets its ID. The request has a body of no bytes, so that a length of 0 is
 * announced. A failure after the server has begun it leaves an upload without parts, for
 * multipart_tidy. */
static int begin(struct s3 *s3, const char *bucket, const char *key, const char *name,
                 int64_t seconds, const volatile sig_atomic_t *give_up, char id[XML_FIELDS_ID_MAX],
                 struct error *err) {
    static const struct percent_pair pairs[] = {{"uploads", ""}};
    const struct buf nothing = {0};
    const struct s3_call a = {.s3 = s3,
                              .method = "POST",
                              .bucket = bucket,
                              .key = key,
                              .pairs = pairs,
                              .pair_count = 1,
                              .body = &nothing,
                              .seconds = seconds,
                              .give_up = give_up};
    cleanup_buf struct buf page;
    buf_init(&page, S3_CALL_ANSWER_MAX);
    if (s3_call(&a, name, &page, NULL, err) != 0)
        return -1;
    if (xml_fields_text(buf_text(&page), page.size, "InitiateMultipartUploadResult", "UploadId", id,
                        XML_FIELDS_ID_MAX, err) != 0)
        return error_wrap(err, "%s", name);
    return 0;
}

/* Aborts an upload, with little time, because another error is to be reported. It is no error if
 * the upload is gone: hosts that start together tidy the same folder and find each other's. */
static int give_up(struct s3 *s3, const char *bucket, const char *key, const char *name,
                   const char *id, struct error *err) {
    const struct percent_pair pairs[] = {{"uploadId", id}};
    const struct s3_call a = {.s3 = s3,
                              .method = "DELETE",
                              .bucket = bucket,
                              .key = key,
                              .pairs = pairs,
                              .pair_count = 1,
                              .seconds = ABORT_SECONDS / ABORT_TIMES,
                              .tries = 4,
                              .may_be_gone = true};
    cleanup_buf struct buf page;
    buf_init(&page, S3_CALL_ANSWER_MAX);
    return s3_call(&a, name, &page, NULL, err);
}

/* Keeps the ETag and MD5 of a part that is there. The first failure stops the pool; parts on their
 * way are then ended by exchange_pool_work when it closes the pool. */
static void part_ended(void *context, const struct error *failure) {
    struct one *o = context;
    struct sending *s = o->sending;
    if (failure != NULL && s->failure.code == 0)
        s->failure = *failure;
    s->pool.stop = s->failure.code != 0;
    if (failure == NULL) {
        struct resume_part *part = &s->parts[o->piece.order.number - 1];
        memcpy(part->etag, o->piece.etag, EXCHANGE_FIELD_MAX);
        memcpy(part->md5, o->piece.md5, DIGEST_MD5);
    }
    free(o);
}

/* Starts the next part that the server lacks. Each is read from the file only when it is sent, so a
 * file of any size needs no memory. */
static bool more(void *context) {
    struct sending *s = context;
    const struct multipart_order *o = s->order;
    while (s->next < s->count && s->parts[s->next].there)
        s->next++;
    if (s->failure.code != 0 || s->next == s->count)
        return false;
    struct one *one = calloc(1, sizeof(*one));
    if (one == NULL) {
        (void)error_no_memory(&s->failure, "a part");
        return false;
    }
    unsigned number = s->next++;
    const struct part_order order = {.s3 = o->s3,
                                     .bucket = o->bucket,
                                     .key = o->key,
                                     .name = o->name,
                                     .upload_id = s->id,
                                     .number = number + 1,
                                     .fd = o->fd,
                                     .offset = (int64_t)number * s->part_size,
                                     .size = part_length(s, number),
                                     .sent = o->sent,
                                     .ended = part_ended,
                                     .context = one};
    one->sending = s;
    part_start(&one->piece, &order, &s->pool);
    return true;
}

static void tick(void *context) {
    const struct sending *s = context;
    if (s->order->tick != NULL)
        s->order->tick(s->order->context);
}

/* Returns 0 once all parts are there. A part's failure is reported before that of the pool. */
static int send_parts(struct sending *s, struct error *err) {
    const struct multipart_order *o = s->order;
    const struct exchange_pool_work work = {.certificates = o->s3->certificates,
                                            .more = more,
                                            .tick = tick,
                                            .context = s,
                                            .give_up = o->give_up,
                                            .deadline = o->deadline};
    int result = exchange_pool_work(&s->pool, &work, err);
    if (s->failure.code == 0)
        return result < 0 ? error_wrap(err, "%s", o->name) : 0;
    if (err != NULL)
        *err = s->failure;
    return -1;
}

/* Writes the body of the last request. ETags come from the server and are copied into XML, so those
 * with special characters are refused instead of escaped: no real one has any. */
static int list_parts(const struct sending *s, struct buf *ret, struct error *err) {
    if (buf_add_text(ret, "<CompleteMultipartUpload>", err) != 0)
        return -1;
    for (unsigned i = 0; i < s->count; i++) {
        const char *etag = s->parts[i].etag;
        if (strpbrk(etag, "<>&\"") != NULL)
            return error_set(err, EXIT_CODE_DATA, "a part has an invalid ETag: \"%.64s\"", etag);
        if (buf_printf(ret, err, "<Part><PartNumber>%u</PartNumber><ETag>\"%s\"</ETag></Part>",
                       i + 1, etag) != 0)
            return -1;
    }
    return buf_add_text(ret, "</CompleteMultipartUpload>", err);
}

/* Computes the ETag that S3 gives the object: the MD5 of all parts' MD5s in order, "-", and their
 * number. */
static int whole_etag(const struct sending *s, char ret[ETAG_MAX], struct error *err) {
    struct digest all = {0};
    char hex[DIGEST_HEX_MAX];
    int result = digest_begin(&all, DIGEST_OF_MD5, err);
    for (unsigned i = 0; result == 0 && i < s->count; i++)
        result = digest_add(&all, s->parts[i].md5, DIGEST_MD5, err);
    if (result == 0)
        result = digest_end(&all, hex, err);
    if (result == 0)
        (void)snprintf(ret, ETAG_MAX, "%s-%u", hex, s->count);
    digest_done(&all);
    return result;
}

/* Compares GIVEN with the ETag of all parts' MD5s; fails if it is one that could match and does
 * not. Other servers may form ETags in another way: what has not 32 digits before its "-" says
 * nothing. */
static int check_whole(const struct sending *s, const char *given, struct error *err) {
    char own[ETAG_MAX];
    const char *dash = strchr(given, '-');
    if (dash == NULL || dash - given != (ptrdiff_t)2 * DIGEST_MD5)
        return 0;
    if (whole_etag(s, own, err) != 0)
        return -1;
    if (strcmp(own, given) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: the joined object's ETag does not match its parts",
                     s->order->name);
}

/* Checks whether the object is complete. The server may have finished the request although its
 * answer was lost. Size and ETag have to be right, since an older object may have the same key. */
static bool is_there(const struct sending *s) {
    const struct multipart_order *o = s->order;
    struct answer answer = {0};
    char own[ETAG_MAX];
    const struct s3_call a = {.s3 = o->s3,
                              .method = "HEAD",
                              .bucket = o->bucket,
                              .key = o->key,
                              .seconds = seconds_for(o, ASK_SECONDS),
                              .give_up = o->give_up};
    cleanup_buf struct buf page;
    buf_init(&page, S3_CALL_ANSWER_MAX);
    return s3_call(&a, o->name, &page, &answer, NULL) == 0 && answer.length == o->size &&
           whole_etag(s, own, NULL) == 0 && strcmp(own, answer.etag) == 0;
}

/* Joins the parts. Objects that are encrypted with KMS keys have ETags that are no MD5s, and are
 * not compared. */
static int complete(struct sending *s, struct error *err) {
    const struct multipart_order *o = s->order;
    const struct percent_pair pairs[] = {{"uploadId", s->id}};
    char etag[EXCHANGE_FIELD_MAX] = "";
    struct answer answer = {0};
    cleanup_buf struct buf list;
    cleanup_buf struct buf page;
    buf_init(&list, LIST_MAX);
    buf_init(&page, S3_CALL_ANSWER_MAX);
    const struct s3_call a = {.s3 = o->s3,
                              .method = "POST",
                              .bucket = o->bucket,
                              .key = o->key,
                              .pairs = pairs,
                              .pair_count = 1,
                              .body = &list,
                              .seconds = seconds_for(o, COMPLETE_SECONDS),
                              .give_up = o->give_up};
    if (list_parts(s, &list, err) != 0)
        return -1;
    if (s3_call(&a, o->name, &page, &answer, err) != 0)
        return is_there(s) ? 0 : -1;
    /* The answer may have status 200 and yet contain an error. */
    if (xml_fields_text(buf_text(&page), page.size, "CompleteMultipartUploadResult", "ETag", etag,
                        sizeof(etag), err) != 0)
        return is_there(s) ? 0 : error_wrap(err, "%s", o->name);
    size_t quoted = strlen(etag) >= 2 && etag[0] == '"' ? 1 : 0;
    etag[strlen(etag) - quoted] = '\0';
    bool has_keys = str_starts_with(answer.encryption, "aws:kms");
    return has_keys ? 0 : check_whole(s, etag + quoted, err);
}

/* --- one file --------------------------------------------------------------------------------- */

/* Sends, checks and completes. The abort is repeated: a part that arrives after the first request
 * would be stored for good. Its own failure is not reported, as there is one already. */
static int run(struct sending *s, struct error *err) {
    const struct multipart_order *o = s->order;
    if (send_parts(s, err) == 0 && (o->check == NULL || o->check(o->context, err) == 0) &&
        complete(s, err) == 0)
        return 0;
    for (int i = 0; i < ABORT_TIMES; i++)
        (void)give_up(o->s3, o->bucket, o->key, o->name, s->id, NULL);
    return -1;
}

/* Takes over the upload ID if at least one of its parts matches; these count as sent at once. */
static bool take_unfinished(struct sending *s, const struct resume *u, const char *id) {
    const struct multipart_order *o = s->order;
    if (resume_parts(u, o->key, id, o->fd, o->size, s->parts, s->count, s->count) == 0)
        return false;
    (void)snprintf(s->id, sizeof(s->id), "%s", id);
    for (unsigned i = 0; i < s->count; i++)
        if (s->parts[i].there)
            *o->sent += part_length(s, i);
    return true;
}

/* Continues with the parts that a killed start has sent of exactly this file; the latest upload
 * comes first. Any failure here, such as a missing permission to list, only means that everything
 * is sent. Uploads of longer keys with the same beginning are listed, too, and skipped. */
static bool go_on(struct sending *s) {
    const struct multipart_order *o = s->order;
    const struct resume u = {.s3 = o->s3,
                             .bucket = o->bucket,
                             .name = o->name,
                             .seconds = seconds_for(o, FIND_SECONDS),
                             .give_up = o->give_up};
    struct xml_fields_uploads left;
    bool taken = false;
    if (resume_list(&u, o->key, &left, NULL) != 0)
        return false;
    for (size_t i = left.count; i-- > 0 && !taken;)
        if (strcmp(left.items[i].key, o->key) == 0)
            taken = take_unfinished(s, &u, left.items[i].id);
    xml_fields_uploads_done(&left);
    return taken;
}

/* A file that is small enough for one request is refused: the caller has chosen wrongly. */
int multipart_send(const struct multipart_order *order, struct error *err) {
    struct sending s = {.order = order, .part_size = etag_part_size(order->size)};
    if (s.part_size == 0)
        return error_set(err, EXIT_CODE_INTERNAL, "%s goes in one piece", order->name);
    s.count = (unsigned)((order->size + s.part_size - 1) / s.part_size);
    s.parts = calloc(s.count, sizeof(*s.parts));
    if (s.parts == NULL)
        return error_no_memory(err, "parts");
    int result = 0;
    if (!go_on(&s))
        result = begin(order->s3, order->bucket, order->key, order->name,
                       seconds_for(order, ASK_SECONDS), order->give_up, s.id, err);
    if (result == 0)
        result = run(&s, err);
    free(s.parts);
    return result;
}

/* --- at a job's start ------------------------------------------------------------------------- */

/* TARGET's key as a folder name: with '/' at its end, unless it is the whole bucket. */
static void folder_key(const struct address *target, char ret[ADDRESS_KEY_MAX + 2]) {
    size_t size = strlen(target->rest);
    bool open = size > 0 && target->rest[size - 1] != '/';
    (void)snprintf(ret, ADDRESS_KEY_MAX + 2, "%s%s", target->rest, open ? "/" : "");
}

/* Nothing is visible at the target at any time, and no right to delete objects is needed; abort has
 * a right of its own. */
int multipart_probe(struct s3 *s3, const struct address *target, struct error *err) {
    char key[ADDRESS_KEY_MAX + sizeof(probe_name) + 2];
    char id[XML_FIELDS_ID_MAX];
    folder_key(target, key);
    (void)strncat(key, probe_name, sizeof(key) - strlen(key) - 1);
    if (begin(s3, target->bucket, key, target->shown, ASK_SECONDS, NULL, id, err) != 0)
        return -1;
    return give_up(s3, target->bucket, key, target->shown, id, err);
}

/* Returns true if the parts in UPLOAD match the start of the file PATH below FROM. A single
 * matching part suffices. A path with ".." is not opened. */
static bool can_go_on(const struct resume *u, const struct xml_fields_upload *upload,
                      const char *from, const char *path) {
    struct stat st;
    bool leads_out = strstr(path, "..") != NULL; /* the path comes from the server */
    cleanup_fd int fd = from != NULL && !leads_out ? scan_open(from, path, NULL) : -1;
    if (fd < 0 || fstat(fd, &st) != 0 || etag_part_size(st.st_size) == 0)
        return false;
    unsigned count =
        (unsigned)((st.st_size + etag_part_size(st.st_size) - 1) / etag_part_size(st.st_size));
    cleanup_free struct resume_part *parts = calloc(count, sizeof(*parts));
    return parts != NULL &&
           resume_parts(u, upload->key, upload->id, fd, st.st_size, parts, count, 1) > 0;
}

/* Goes through one page of uploads at most; a later start finds the rest. One that cannot be
 * aborted is left out of the count. */
int multipart_tidy(struct s3 *s3, const struct address *target, const char *from,
                   struct error *err) {
    char prefix[ADDRESS_KEY_MAX + 2];
    const struct resume u = {
        .s3 = s3, .bucket = target->bucket, .name = target->shown, .seconds = ASK_SECONDS};
    struct xml_fields_uploads left;
    int count = 0;
    folder_key(target, prefix);
    if (resume_list(&u, prefix, &left, err) != 0)
        return -1;
    for (size_t i = 0; i < left.count; i++) {
        const struct xml_fields_upload *one = &left.items[i];
        if (str_starts_with(one->key, prefix) &&
            !can_go_on(&u, one, from, one->key + strlen(prefix)) &&
            give_up(s3, target->bucket, one->key, target->shown, one->id, NULL) == 0)
            count++;
    }
    xml_fields_uploads_done(&left);
    return count;
}
