#include "entrypoint/transfer/s3/s3_call.h"
#include "tests/unit/entrypoint/transfer/s3_stage.h"

static struct s3_stage stage;

static void answer(struct http_call *call) {
    bool first = atomic_fetch_add(&call->shared->counters[0], 1) == 0;
    if (strstr(call->target, "/later") != NULL && first)
        http_reply_text(call, 503, "<Error><Code>SlowDown</Code></Error>");
    else if (strstr(call->target, "/no") != NULL)
        http_reply_text(call, 403, "");
    else if (call->size > 0)
        http_reply(call, 200, "", call->body, call->size);
    else
        http_reply_text(call, 200, http_header(call, "content-length"));
}

static int run(const char *method, const char *key, const char *body, struct buf *ret,
               struct error *err) {
    struct buf text;
    buf_init(&text, 64);
    (void)buf_add_text(&text, body != NULL ? body : "", NULL);
    const struct s3_call a = {.s3 = &stage.s3,
                              .method = method,
                              .bucket = "bucket",
                              .key = key,
                              .body = body != NULL ? &text : NULL,
                              .seconds = 60};
    int result = s3_call(&a, "it", ret, NULL, err);
    buf_done(&text);
    return result;
}

static void all(void) {
    struct error err = {0};
    cleanup_buf struct buf ret;
    buf_init(&ret, S3_CALL_ANSWER_MAX);
    s3_stage_open(&stage, answer);
    CU_ASSERT_EQUAL(run("POST", "later", "words", &ret, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&ret), "words");
    CU_ASSERT_EQUAL(stage.server.shared->requests, 2);
    ret.size = 0;
    CU_ASSERT_EQUAL(run("POST", "empty", "", &ret, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&ret), "0"); /* the length of an empty body is sent */
    CU_ASSERT_EQUAL(run("DELETE", "no", NULL, &ret, &err), -1);
    ASSERT_CONTAINS(err.text, "it: the server answers 403");
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "DELETE /bucket/no"), 1);
    s3_stage_close(&stage);
}

UNIT_SUITE("transfer.s3_call", UNIT(all))
