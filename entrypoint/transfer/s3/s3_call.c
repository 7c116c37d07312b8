#include "entrypoint/transfer/s3/s3_call.h"

#include "entrypoint/transfer/disk/digest.h"

struct asking {
    const struct s3_call *ask;
    char payload[DIGEST_HEX_MAX];
    bool gone;
};

static int prepare(void *context, struct request *ret, struct error *err) {
    const struct asking *asking = context;
    const struct s3_call *a = asking->ask;
    const struct s3_request request = {.method = a->method,
                                       .bucket = a->bucket,
                                       .key = a->key,
                                       .pairs = a->pairs,
                                       .pair_count = a->pair_count,
                                       .payload = a->body != NULL ? asking->payload : NULL};
    if (a->body != NULL) {
        ret->body = buf_text(a->body);
        ret->size = (int64_t)a->body->size;
    }
    return s3_prepare(a->s3, &request, ret, err);
}

static int refused(void *context, const struct answer *answer, struct error *err) {
    struct asking *asking = context;
    asking->gone = s3_says(answer, "NoSuchUpload");
    return s3_refused(asking->ask->s3, answer, err);
}

int s3_call(const struct s3_call *a, const char *name, struct buf *ret, struct answer *ret_answer,
            struct error *err) {
    struct asking asking = {.ask = a};
    unsigned char raw[DIGEST_SHA256];
    const struct question q = {.name = name,
                               .prepare = prepare,
                               .refused = refused,
                               .context = &asking,
                               .tries = a->tries,
                               .silence = a->s3->silence > 0 ? a->s3->silence : a->seconds,
                               .seconds = a->seconds,
                               .certificates = a->s3->certificates,
                               .give_up = a->give_up};
    if (a->body != NULL && digest_sha256(buf_text(a->body), a->body->size, raw, err) != 0)
        return -1;
    if (a->body != NULL)
        digest_hex(raw, DIGEST_SHA256, asking.payload);
    struct error why = {0};
    if (exchange_pool_ask(&q, ret, ret_answer, &why) == 0 || (a->may_be_gone && asking.gone))
        return 0;
    if (err != NULL)
        *err = why;
    return -1;
}
