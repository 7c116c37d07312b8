#include "common/clock.h"
#include "entrypoint/transfer/http/exchange_pool.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 40 };

/* The path says how a request is answered. */
static void answer(struct http_call *call) {
    if (strcmp(call->target, "/busy") == 0 && atomic_fetch_add(&call->shared->counters[0], 1) < 2)
        http_reply(call, 503, "Retry-After: 0\r\n", "<Error><Code>SlowDown</Code></Error>", 36);
    else if (strcmp(call->target, "/cut") == 0 &&
             atomic_fetch_add(&call->shared->counters[1], 1) < 2)
        http_write(call, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", 45);
    else if (strcmp(call->target, "/gone") == 0)
        http_reply_text(call, 404, "<Error><Code>NoSuchKey</Code><Message>x</Message></Error>");
    else if (strcmp(call->target, "/round") == 0)
        http_reply(call, 302, "Location: /round\r\n", "", 0);
    else if (strcmp(call->target, "/away") == 0)
        http_reply(call, 302, "Location: /fine\r\n", "", 0);
    else if (strcmp(call->target, "/elsewhere") == 0)
        http_reply(call, 302, "Location: file:///etc/passwd\r\n", "", 0);
    else if (strcmp(call->target, "/later") == 0)
        http_reply(call, 503, "Retry-After: 99999999999\r\n",
                   "<Error><Code>SlowDown</Code></Error>", 36);
    else if (strcmp(call->target, "/silent") == 0)
        http_await_end(call);
    else if (strcmp(call->target, "/headers") == 0) {
        http_write(call, "HTTP/1.1 200 OK\r\n", 17);
        for (size_t i = 0; i < 4096; i++)
            http_write(call, "X-Much: abcdefghijklmnopqrstuvwxyz0123456789\r\n", 46);
    } else
        http_reply(call, 200, "ETag: \"abc\"\r\nX-Amz-Bucket-Region: eu-west-1\r\n", "fine", 4);
}

static struct http_server server;

struct asking {
    const char *path;
    bool may_redirect;
};

static int prepare(void *context, struct request *ret, struct error *err) {
    const struct asking *a = context;
    ret->method = "GET";
    ret->may_redirect = a->may_redirect;
    return buf_printf(&ret->url, err, "http://127.0.0.1:%u%s", server.port, a->path);
}

static int ask(const char *path, bool may_redirect, struct buf *body, struct answer *ret,
               struct error *err) {
    struct asking asking = {.path = path, .may_redirect = may_redirect};
    struct question q = {.name = "the question",
                         .prepare = prepare,
                         .context = &asking,
                         .tries = 3,
                         .silence = strcmp(path, "/silent") == 0 ? 2 : 20,
                         .seconds = 60};
    return exchange_pool_ask(&q, body, ret, err);
}

static void an_answer_comes_with_its_fields(void) {
    struct answer got = {0};
    cleanup_buf struct buf body;
    buf_init(&body, 64);
    CU_ASSERT_EQUAL(buf_add_text(&body, "kept ", NULL), 0);
    CU_ASSERT_EQUAL(ask("/fine", false, &body, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&body), "kept fine");
    CU_ASSERT_EQUAL(got.status, 200);
    CU_ASSERT_EQUAL(got.length, 4);
    CU_ASSERT_STRING_EQUAL(got.etag, "abc");
    CU_ASSERT_STRING_EQUAL(got.region, "eu-west-1");
}

static void what_is_busy_or_cut_off_is_tried_again(void) {
    static const char *const paths[] = {"/busy", "/cut"};
    for (size_t i = 0; i < 2; i++) {
        cleanup_buf struct buf body;
        buf_init(&body, 128);
        CU_ASSERT_EQUAL(ask(paths[i], false, &body, NULL, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&body), "fine");
        CU_ASSERT_EQUAL(atomic_load(&server.shared->counters[i]), 3);
    }
}

/* Requests that were not waited for may not have been counted yet. */
static unsigned requests_since(unsigned before, unsigned expected) {
    (void)http_await_requests(&server, before + expected, 60 * 1000);
    return atomic_load(&server.shared->requests) - before;
}

static void what_will_not_get_better_ends_at_once(void) {
    static const struct {
        const char *path, *words;
        bool may_redirect;
        unsigned requests;
    } cases[] = {
        {"/gone", "the question: the server answers 404 NoSuchKey", true, 1},
        {"/away", "the server answers 302", false, 1},
        {"/round", "redirects", true, 1 + EXCHANGE_REDIRECTS_MAX},
        {"/elsewhere", "the question: ", true, 1},
        {"/headers", "bytes of headers", true, 1},
        {"/silent", "tried 3 times", true, 3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        unsigned before = atomic_load(&server.shared->requests);
        cleanup_buf struct buf body;
        buf_init(&body, 1024);
        CU_ASSERT_EQUAL(ask(cases[i].path, cases[i].may_redirect, &body, NULL, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_EQUAL(requests_since(before, cases[i].requests), cases[i].requests);
    }
}

static void a_redirect_is_followed_where_allowed(void) {
    cleanup_buf struct buf body;
    buf_init(&body, 64);
    CU_ASSERT_EQUAL(ask("/away", true, &body, NULL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&body), "fine");
}

static void a_body_has_its_ceiling(void) {
    struct error err = {0};
    cleanup_buf struct buf body;
    buf_init(&body, 3);
    CU_ASSERT_EQUAL(ask("/fine", false, &body, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "the question: ");
}

static int prepare_none(void *context, struct request *ret, struct error *err) {
    (void)context, (void)ret;
    return error_set(err, EXIT_CODE_CONFIG, "no key to sign it with");
}

static void a_request_that_cannot_be_made_ends_with_the_reason(void) {
    struct question q = {.name = "it", .prepare = prepare_none, .silence = 5, .seconds = 5};
    struct error err = {0};
    unsigned before = atomic_load(&server.shared->requests);
    cleanup_buf struct buf body;
    buf_init(&body, 64);
    CU_ASSERT_EQUAL(exchange_pool_ask(&q, &body, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "it: no key to sign it with");
    CU_ASSERT_EQUAL(atomic_load(&server.shared->requests), before);
}

static void the_whole_has_a_deadline(void) {
    struct asking asking = {.path = "/silent"};
    struct question q = {
        .name = "it", .prepare = prepare, .context = &asking, .silence = 30, .seconds = 1};
    struct error err = {0};
    cleanup_buf struct buf body;
    buf_init(&body, 64);
    CU_ASSERT_EQUAL(exchange_pool_ask(&q, &body, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "it: it did not finish in time");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_READY);
}

/* The server's answer is the reason; the deadline only says when the request was given up. */
static void the_last_refusal_stands_behind_the_deadline(void) {
    struct asking asking = {.path = "/later"};
    struct question q = {.name = "it",
                         .prepare = prepare,
                         .context = &asking,
                         .tries = 3,
                         .silence = 5,
                         .seconds = 1};
    struct error err = {0};
    cleanup_buf struct buf body;
    buf_init(&body, 64);
    CU_ASSERT_EQUAL(exchange_pool_ask(&q, &body, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "it: it did not finish in time; the last try: ");
    ASSERT_CONTAINS(err.text, "503 SlowDown");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_READY);
}

struct one {
    struct exchange exchange;
    struct asking asking;
    unsigned ended;
    bool failed;
};

static int prepare_one(void *context, struct request *ret, struct error *err) {
    struct one *o = context;
    return prepare(&o->asking, ret, err);
}

static void one_ended(void *context, const struct error *failure) {
    struct one *o = context;
    o->ended++;
    o->failed = failure != NULL;
}

static struct one many[MANY];
static size_t given;
static struct exchange_pool pool;

static bool more(void *context) {
    static const struct exchange_events events = {.prepare = prepare_one, .ended = one_ended};
    (void)context;
    if (given == MANY)
        return false;
    struct one *o = &many[given];
    o->asking.path = given % 10 == 3 ? "/gone" : "/fine";
    o->exchange = (struct exchange){.name = "one", .events = &events, .context = o};
    given++;
    exchange_pool_add(&pool, &o->exchange);
    return true;
}

static void many_go_side_by_side_and_each_ends_once(void) {
    CU_ASSERT_EQUAL(exchange_pool_open(&pool, NULL, NULL), 0);
    pool.more = more;
    CU_ASSERT_EQUAL(exchange_pool_run(&pool, clock_now() + 60 * CLOCK_SECOND, NULL), 0);
    exchange_pool_close(&pool);
    for (size_t i = 0; i < MANY; i++) {
        CU_ASSERT_EQUAL(many[i].ended, 1);
        CU_ASSERT_EQUAL(many[i].failed, i % 10 == 3);
    }
}

static void all(void) {
    http_server_start(&server, answer);
    an_answer_comes_with_its_fields();
    what_is_busy_or_cut_off_is_tried_again();
    what_will_not_get_better_ends_at_once();
    a_redirect_is_followed_where_allowed();
    a_body_has_its_ceiling();
    a_request_that_cannot_be_made_ends_with_the_reason();
    the_whole_has_a_deadline();
    the_last_refusal_stands_behind_the_deadline();
    many_go_side_by_side_and_each_ends_once();
    http_server_stop(&server);
}

UNIT_SUITE("transfer.exchange_pool", UNIT(all))
