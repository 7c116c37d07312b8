#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/transfer/http/exchange_pool.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Says what was sent. The first try of /again is refused with 403, that of /odd brings less than
 * its caller wants. */
static void answer(struct http_call *call) {
    char text[4096];
    (void)snprintf(text, sizeof(text), "%s %s %s %zu %.*s", call->method,
                   http_header(call, "x-number"), http_header(call, "expect"), call->size,
                   (int)(call->size < 64 ? call->size : 64), call->body);
    bool first = call->target[1] != '\0' && atomic_fetch_add(&call->shared->counters[0], 1) == 0;
    if (first && strcmp(call->target, "/again") == 0)
        http_reply(call, 403, "Date: then\r\n", "<Code>Expired</Code>", 20);
    else
        http_reply_text(call, 200, first && strcmp(call->target, "/odd") == 0 ? "odd" : text);
}

static struct http_server server;

struct sending {
    struct exchange exchange;
    const char *method;
    const char *path;
    const char *body;
    int fd;
    int64_t size;
    unsigned prepared;
    char seen[256];
    char date[EXCHANGE_FIELD_MAX];
    struct error failure;
    unsigned ended;
};

static int prepare(void *context, struct request *ret, struct error *err) {
    struct sending *s = context;
    ret->method = s->method;
    ret->body = s->body;
    ret->fd = s->fd;
    ret->offset = 2;
    ret->size = s->size;
    s->seen[0] = '\0';
    if (argv_printf(&ret->headers, err, "x-number: %u", ++s->prepared) != 0)
        return -1;
    return buf_printf(&ret->url, err, "http://127.0.0.1:%u%s", server.port, s->path);
}

static int bytes(void *context, const char *data, size_t size, struct error *err) {
    struct sending *s = context;
    size_t at = strlen(s->seen);
    (void)err;
    (void)snprintf(s->seen + at, sizeof(s->seen) - at, "%.*s", (int)size, data);
    return 0;
}

static int complete(void *context, const struct answer *a, struct error *err) {
    struct sending *s = context;
    (void)a;
    return strcmp(s->seen, "odd") == 0 ? exchange_fail_again(err, "it is odd") : 0;
}

static int refused(void *context, const struct answer *a, struct error *err) {
    struct sending *s = context;
    (void)err;
    (void)snprintf(s->date, sizeof(s->date), "%s", a->date);
    return strstr(buf_text(&a->words), "Expired") != NULL ? 0 : -1;
}

static void ended(void *context, const struct error *failure) {
    struct sending *s = context;
    s->ended++;
    if (failure != NULL)
        s->failure = *failure;
}

static void run(struct sending *s) {
    static const struct exchange_events events = {.prepare = prepare,
                                                  .bytes = bytes,
                                                  .complete = complete,
                                                  .refused = refused,
                                                  .ended = ended};
    struct exchange_pool pool;
    atomic_store(&server.shared->counters[0], 0);
    s->exchange = (struct exchange){.name = "it", .events = &events, .context = s, .tries = 2};
    CU_ASSERT_EQUAL(exchange_pool_open(&pool, NULL, NULL), 0);
    exchange_pool_add(&pool, &s->exchange);
    CU_ASSERT_EQUAL(exchange_pool_run(&pool, clock_now() + 30 * CLOCK_SECOND, NULL), 0);
    exchange_pool_close(&pool);
    CU_ASSERT_EQUAL(s->ended, 1);
}

static void bodies_are_sent_whole(void) {
    cleanup_fd int fd = memfd_create("body", MFD_CLOEXEC);
    CU_ASSERT_EQUAL(pwrite(fd, "0123456789", 10, 0), 10);
    struct sending cases[] = {
        {.method = "GET", .path = "/", .size = -1},
        {.method = "POST", .path = "/", .body = "", .size = 0},
        {.method = "PUT", .path = "/", .body = "hello", .size = 5},
        {.method = "PUT", .path = "/", .fd = fd, .size = 8},
        {.method = "DELETE", .path = "/", .size = -1},
    };
    static const char *const expected[] = {"GET 1  0 ", "POST 1  0 ", "PUT 1  5 hello",
                                           "PUT 1  8 23456789", "DELETE 1  0 "};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run(&cases[i]);
        CU_ASSERT_STRING_EQUAL(cases[i].seen, expected[i]);
        CU_ASSERT_EQUAL(cases[i].failure.code, 0);
    }
}

static void a_file_that_shrinks_is_no_body(void) {
    cleanup_fd int fd = memfd_create("body", MFD_CLOEXEC);
    struct sending s = {.method = "PUT", .path = "/", .fd = fd, .size = 8};
    run(&s);
    ASSERT_CONTAINS(s.failure.text, "it: the file changed while it was sent");
}

static void each_try_is_made_anew(void) {
    static const char *const paths[] = {"/again", "/odd"};
    for (size_t i = 0; i < 2; i++) {
        struct sending s = {.method = "PUT", .path = paths[i], .body = "x", .size = 1};
        run(&s);
        CU_ASSERT_STRING_EQUAL(s.seen, "PUT 2  1 x");
        CU_ASSERT_EQUAL(s.prepared, 2);
        CU_ASSERT_STRING_EQUAL(s.date, i == 0 ? "then" : "");
    }
}

static void all(void) {
    http_server_start(&server, answer);
    bodies_are_sent_whole();
    a_file_that_shrinks_is_no_body();
    each_try_is_made_anew();
    http_server_stop(&server);
}

UNIT_SUITE("transfer.exchange", UNIT(all))
