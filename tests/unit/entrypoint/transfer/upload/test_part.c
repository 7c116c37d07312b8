#include "common/cleanup.h"
#include "entrypoint/transfer/upload/part.h"
#include "tests/unit/entrypoint/transfer/s3_stage.h"

/* The digests of "aaa", and another one. */
#define MD5 "47bce5c74f589f4867dbd57e9ca9f808"
#define MD5_TOLD "R7zlx09Yn0hn29V+nKn4CA=="
#define SHA256 "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0"
#define OTHER "00000000000000000000000000000000"

static struct s3_stage stage;
static struct error failure;
static unsigned ends;

static bool is_right(struct http_call *call) {
    return strcmp(call->method, "PUT") == 0 && strcmp(call->body, "aaa") == 0 &&
           strcmp(http_header(call, "content-md5"), MD5_TOLD) == 0 &&
           strcmp(http_header(call, "x-amz-content-sha256"), SHA256) == 0;
}

/* The key says how a request is answered, the first time and later. */
static void answer(struct http_call *call) {
    bool first = atomic_fetch_add(&call->shared->counters[0], 1) == 0;
    const char *key = call->target + strlen("/bucket/");
    if (!is_right(call))
        http_reply_text(call, 418, "");
    else if (strncmp(key, "liar", 4) == 0 || (strncmp(key, "once", 4) == 0 && first))
        http_reply(call, 200, "ETag: \"" OTHER "\"\r\n", "", 0);
    else if (strncmp(key, "broken", 6) == 0 && first)
        http_reply_text(call, 400, "<Error><Code>BadDigest</Code></Error>");
    else if (strncmp(key, "kms", 3) == 0)
        http_reply(call, 200, "ETag: \"" OTHER "\"\r\nx-amz-server-side-encryption: aws:kms\r\n",
                   "", 0);
    else if (strncmp(key, "mute", 4) == 0)
        http_reply_text(call, 200, "");
    else
        http_reply(call, 200, "ETag: \"" MD5 "\"\r\n", "", 0);
}

static void ended(void *context, const struct error *why) {
    (void)context;
    ends++;
    failure = why != NULL ? *why : (struct error){0};
}

static int64_t send_piece(const char *key, const char *id, struct part *p) {
    struct exchange_pool pool;
    int64_t sent = 0;
    cleanup_fd int fd = s3_stage_file("file", 5, 'a');
    const struct part_order order = {.s3 = &stage.s3,
                                     .bucket = "bucket",
                                     .key = key,
                                     .name = key,
                                     .upload_id = id,
                                     .number = 7,
                                     .fd = fd,
                                     .offset = 2,
                                     .size = 3,
                                     .sent = &sent,
                                     .ended = ended};
    stage.server.shared->counters[0] = 0;
    CU_ASSERT_EQUAL_FATAL(exchange_pool_open(&pool, NULL, NULL), 0);
    part_start(p, &order, &pool);
    p->exchange.tries = 3;
    CU_ASSERT_EQUAL(exchange_pool_run(&pool, clock_now() + 60 * CLOCK_SECOND, NULL), 0);
    exchange_pool_close(&pool);
    return sent;
}

static void all(void) {
    static const char *const good[] = {"whole", "once", "broken", "kms", "mute"};
    struct part p;
    s3_stage_open(&stage, answer);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CU_ASSERT_EQUAL(send_piece(good[i], NULL, &p), 3);
        CU_ASSERT_EQUAL(failure.code, 0);
        CU_ASSERT_EQUAL(ends, i + 1);
    }
    CU_ASSERT_EQUAL(send_piece("part", "an id", &p), 3);
    CU_ASSERT_STRING_EQUAL(p.etag, MD5);
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "PUT /bucket/part?partNumber=7&uploadId=an%20id"), 1);
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "PUT /bucket/once"), 2);
    CU_ASSERT_EQUAL(send_piece("liar", NULL, &p), 0);
    ASSERT_CONTAINS(failure.text, "ETag does not match the MD5 of the bytes sent");
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "PUT /bucket/liar"), 3);
    CU_ASSERT_EQUAL(send_piece("mute", "id", &p), 0);
    ASSERT_CONTAINS(failure.text, "answer has no ETag");
    s3_stage_close(&stage);
}

UNIT_SUITE("transfer.part", UNIT(all))
