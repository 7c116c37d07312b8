#include "entrypoint/transfer/upload/part.h"

#include "common/str.h"
#include "entrypoint/transfer/s3/etag.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

static int digest(struct part *p, struct error *err) {
    const struct part_order *o = &p->order;
    struct digest md5 = {0};
    struct digest sha = {0};
    struct digest *const both[] = {&md5, &sha};
    unsigned char raw[DIGEST_SHA256];
    int result = -1;
    if (digest_begin(&md5, DIGEST_OF_MD5, err) == 0 &&
        digest_begin(&sha, DIGEST_OF_SHA256, err) == 0 &&
        etag_digest(o->fd, o->offset, o->size, both, 2, err) == 0 &&
        digest_finish(&md5, raw, err) == 0 && digest_end(&sha, p->sha256, err) == 0)
        result = 0;
    if (result == 0)
        memcpy(p->md5, raw, DIGEST_MD5);
    p->digested = result == 0;
    digest_done(&md5);
    digest_done(&sha);
    return result;
}

static int prepare(void *context, struct request *ret, struct error *err) {
    struct part *p = context;
    const struct part_order *o = &p->order;
    unsigned char text[2 * DIGEST_SHA256];
    char number[16];
    if (!p->digested && digest(p, err) != 0)
        return -1;
    (void)EVP_EncodeBlock(text, p->md5, DIGEST_MD5);
    if (argv_printf(&ret->headers, err, "content-md5: %s", (const char *)text) != 0)
        return -1;
    (void)snprintf(number, sizeof(number), "%u", o->number);
    const struct percent_pair pairs[] = {{"partNumber", number}, {"uploadId", o->upload_id}};
    const struct s3_request request = {.method = "PUT",
                                       .bucket = o->bucket,
                                       .key = o->key,
                                       .pairs = pairs,
                                       .pair_count = o->upload_id != NULL ? 2 : 0,
                                       .payload = p->sha256};
    ret->fd = o->fd;
    ret->offset = o->offset;
    ret->size = o->size;
    return s3_prepare(o->s3, &request, ret, err);
}

/* For objects encrypted with KMS the ETag is not an MD5, though it may look like one. */
static int complete(void *context, const struct answer *a, struct error *err) {
    struct part *p = context;
    char own[DIGEST_HEX_MAX];
    digest_hex(p->md5, DIGEST_MD5, own);
    if (etag_is_md5(a->etag) && !str_starts_with(a->encryption, "aws:kms") &&
        strcmp(a->etag, own) != 0)
        return exchange_fail_again(err,
                                   "the server's ETag does not match the MD5 of the bytes sent");
    /* A successful answer has no body; one that has contains an error. */
    if (a->etag[0] == '\0' && (p->order.upload_id != NULL || a->length > 0))
        return exchange_fail_again(err, "the server's answer has no ETag");
    (void)snprintf(p->etag, sizeof(p->etag), "%s", a->etag);
    return 0;
}

/* Returns true if the server's bytes differ from those digested: damaged on the way, or the file
 * has changed meanwhile. */
static bool is_broken(const struct answer *a) {
    const char *words = buf_text(&a->words);
    return strstr(words, "<Code>BadDigest</Code>") != NULL ||
           strstr(words, "<Code>XAmzContentSHA256Mismatch</Code>") != NULL;
}

static int refused(void *context, const struct answer *a, struct error *err) {
    struct part *p = context;
    if (!is_broken(a))
        return s3_refused(p->order.s3, a, err);
    p->digested = false;
    return 0;
}

static void ended(void *context, const struct error *failure) {
    struct part *p = context;
    if (failure == NULL)
        *p->order.sent += p->order.size;
    p->order.ended(p->order.context, failure);
}

void part_start(struct part *p, const struct part_order *order, struct exchange_pool *pool) {
    static const struct exchange_events events = {
        .prepare = prepare, .complete = complete, .refused = refused, .ended = ended};
    *p = (struct part){.order = *order};
    p->exchange = (struct exchange){
        .name = order->name, .events = &events, .context = p, .silence = order->s3->silence};
    exchange_pool_add(pool, &p->exchange);
}
