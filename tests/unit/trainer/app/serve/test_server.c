#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/app/serve/server.h"

#include <stdlib.h>
#include <string.h>

/* The server without its protocol and without threads: each case plays the protocol's part itself,
 * then calls server_compute on the same thread, which returns because a stop was asked for before.
 * Time does not matter, as the stop leaves a minute, or nothing. */

enum { MOST = 4, BODY = 64 };

/* A network that answers with the first byte of a picture; 'x' is no picture, 'n' gives no answer,
 * and 'b' breaks it. `own` counts the batches, and keeps pictures and size of the last one. A
 * worker is a byte of memory, so that a leak of one is found. */
static int open_worker(const struct servable *servable, void **ret, struct error *err) {
    (void)servable;
    (void)err;
    *ret = malloc(1);
    return 0;
}

/* A picture is one byte; pixels are freed by the server. */
static int decode(const struct servable *servable, void *worker, const uint8_t *bytes, size_t size,
                  struct served_picture *picture, struct error *err) {
    (void)servable;
    (void)worker;
    if (size == 0 || bytes[0] == 'x')
        return error_set(err, EXIT_CODE_DATA, "not a picture");
    picture->pixels = malloc(1);
    picture->pixels[0] = bytes[0];
    return 0;
}

/* Fails for the whole batch at a 'b'; an 'n' is an error of its picture alone. */
static int compute(const struct servable *servable, struct served_picture *const *pictures,
                   int count, int size, struct error *err) {
    int *batches = servable->own;
    batches[0]++;
    batches[1] = count;
    batches[2] = size;
    for (int i = 0; i < count; i++) {
        const char c = (char)pictures[i]->pixels[0];
        if (c == 'b')
            return error_set(err, EXIT_CODE_DEVICE, "broken");
        buf_init(&pictures[i]->answer, BODY);
        if (c == 'n')
            (void)error_set(&pictures[i]->error, EXIT_CODE_INTERNAL, "not finite");
        else
            (void)buf_printf(&pictures[i]->answer, NULL, "\"%c\"", c);
    }
    return 0;
}

static void close_none(struct servable *servable) {
    (void)servable;
}

/* Without `drop`: no size is given up here. */
static const struct servable_table TABLE = {.worker_open = open_worker,
                                            .worker_close = free,
                                            .decode = decode,
                                            .compute = compute,
                                            .close = close_none};

/* A server with its network. */
struct fixture {
    struct server server;
    struct servable servable;
    int batches[3];
};

/* A request, and what became of it. */
struct asked {
    struct server_request request; /* first */
    enum server_status status;
    char text[256];
};

/* Keeps the answer and ends the request, as a protocol does once the answer is sent. server_end
 * frees the pictures, so the text is copied before. */
static void answered(struct server_request *request) {
    struct asked *asked = (struct asked *)request;
    cleanup_buf struct buf out = {.max = sizeof(asked->text) - 1};
    CU_ASSERT_EQUAL(server_answer(request, &out, NULL), 0);
    memcpy(asked->text, buf_text(&out), out.size + 1);
    asked->status = request->status;
    server_end(request);
}

/* Makes a server with a queue of LIMIT pictures, batches up to MOST, and memory for two bodies. */
static void make(struct fixture *f, size_t limit) {
    struct server_options o = {.queue = {.limit = limit},
                               .body_max = BODY,
                               .bodies_max = 2 * BODY,
                               .stop = 60 * CLOCK_SECOND};
    memset(f, 0, sizeof(*f));
    picture_queue_sizes(&o.queue, MOST);
    f->servable = (struct servable){&TABLE, f->batches};
    CU_ASSERT_EQUAL(server_init(&f->server, &o, &f->servable, NULL), 0);
}

/* Returns the status; of a refused request the answer is kept, and the request has ended. A body
 * that begins with '{' is JSON, any other one a picture. A must not move afterwards. */
static enum server_status begin(struct fixture *f, struct asked *a, const char *body) {
    *a = (struct asked){.request = {.content = body[0] == '{' ? REQUEST_JSON : REQUEST_PICTURE,
                                    .answered = answered}};
    enum server_status status = server_begin(&f->server, &a->request);
    if (status == SERVER_OK) {
        CU_ASSERT_EQUAL(server_body(&a->request, body, strlen(body)), 0);
        status = server_prepare(&a->request);
    }
    if (status != SERVER_OK)
        answered(&a->request);
    return status;
}

/* One request is queued before the stop, one is only begun, one comes too late. The second has two
 * pictures, answered in the order of its list. Nothing is left over at the end. */
static void requests_that_were_begun_are_answered_at_a_stop(void) {
    struct fixture f;
    struct asked one, two, late;
    make(&f, 8);
    CU_ASSERT_EQUAL(begin(&f, &one, "a"), SERVER_OK);
    CU_ASSERT_EQUAL(begin(&f, &two, "{\"instances\":[{\"b64\":\"ZA\"},{\"b64\":\"ZQ\"}]}"),
                    SERVER_OK);
    CU_ASSERT(server_queue(&two.request));
    server_stop(&f.server);
    CU_ASSERT(server_is_stopping(&f.server));
    CU_ASSERT_EQUAL(begin(&f, &late, "d"), SERVER_BUSY);
    CU_ASSERT_STRING_EQUAL(late.text, "{\"error\": \"the server is stopping\"}\n");
    CU_ASSERT(server_queue(&one.request));
    server_compute(&f.server);
    CU_ASSERT_STRING_EQUAL(one.text, "{\"predictions\": [\"a\"]}\n");
    CU_ASSERT_STRING_EQUAL(two.text, "{\"predictions\": [\"d\",\n\"e\"]}\n");
    /* The refused request has been taken off again as well. */
    CU_ASSERT(f.server.begun == 0 && f.server.body_bytes == 0);
    server_done(&f.server);
}

/* A stop without any time: what waits is handed back, and what is queued later finds the server
 * closed. The caller ends the second request itself, as it was never queued. */
static void requests_beyond_the_stop_are_refused(void) {
    struct fixture f;
    struct asked slow, queued;
    make(&f, 8);
    f.server.options.stop = 0;
    CU_ASSERT_EQUAL(begin(&f, &slow, "a"), SERVER_OK);
    CU_ASSERT_EQUAL(begin(&f, &queued, "c"), SERVER_OK);
    CU_ASSERT(server_queue(&queued.request));
    server_stop(&f.server);
    server_compute(&f.server);
    CU_ASSERT_EQUAL(queued.status, SERVER_BUSY);
    CU_ASSERT_FALSE(server_queue(&slow.request));
    CU_ASSERT_EQUAL(slow.request.status, SERVER_BUSY);
    server_end(&slow.request);
    server_done(&f.server);
}

/* A picture that cannot be decoded is the client's fault; one without a finite answer fails alone,
 * and the network stays healthy. */
static void faults_have_a_status_each(void) {
    struct fixture f;
    struct asked bad, wild, good;
    make(&f, 8);
    CU_ASSERT_EQUAL(begin(&f, &bad, "x"), SERVER_BAD_REQUEST);
    CU_ASSERT_STRING_EQUAL(bad.text, "{\"error\": \"not a picture\"}\n");
    CU_ASSERT_EQUAL(begin(&f, &wild, "n"), SERVER_OK);
    CU_ASSERT_EQUAL(begin(&f, &good, "a"), SERVER_OK);
    CU_ASSERT(server_queue(&wild.request) && server_queue(&good.request));
    server_stop(&f.server);
    server_compute(&f.server);
    /* Both were in one batch. */
    CU_ASSERT(wild.status == SERVER_FAILED && good.status == SERVER_OK);
    CU_ASSERT(server_is_healthy(&f.server));
    server_done(&f.server);
}

/* After the failure even a good picture is refused at once. `stopping` is taken back by hand, as
 * that would refuse it, too. */
static void network_that_cannot_compute_is_not_healthy(void) {
    struct fixture f;
    struct asked a, b;
    make(&f, 8);
    CU_ASSERT_EQUAL(begin(&f, &a, "b"), SERVER_OK);
    CU_ASSERT(server_queue(&a.request));
    server_stop(&f.server);
    server_compute(&f.server);
    CU_ASSERT_EQUAL(a.status, SERVER_FAILED);
    CU_ASSERT_FALSE(server_is_healthy(&f.server));
    f.server.stopping = false;
    CU_ASSERT_EQUAL(begin(&f, &b, "a"), SERVER_FAILED);
    server_done(&f.server);
}

/* The third is refused before its body is read, since the queue is full by then. The two that wait
 * are answered. */
static void pictures_that_wait_are_limited(void) {
    struct fixture f;
    struct asked a[2], third;
    make(&f, 2);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(begin(&f, &a[i], "a"), SERVER_OK);
        CU_ASSERT(server_queue(&a[i].request));
    }
    CU_ASSERT_EQUAL(begin(&f, &third, "a"), SERVER_BUSY);
    server_stop(&f.server);
    server_compute(&f.server);
    CU_ASSERT(a[0].status == SERVER_OK && a[1].status == SERVER_OK);
    server_done(&f.server);
}

/* A body has a limit of its own, and all together another one. Ending a request gives its bytes
 * back. */
static void bytes_of_bodies_are_limited(void) {
    struct fixture f;
    struct server_request r[3];
    char body[BODY];
    memset(body, 'a', sizeof(body));
    make(&f, 2);
    for (int i = 0; i < 3; i++) {
        r[i] = (struct server_request){.content = REQUEST_PICTURE, .answered = answered};
        CU_ASSERT_EQUAL(server_begin(&f.server, &r[i]), SERVER_OK);
    }
    CU_ASSERT_EQUAL(server_body(&r[0], body, BODY), 0);
    /* One byte above the limit of one body, then two bodies that leave one byte of all memory. */
    CU_ASSERT_EQUAL(server_body(&r[0], body, 1), -1);
    CU_ASSERT_EQUAL(server_body(&r[1], body, BODY - 1), 0);
    CU_ASSERT_EQUAL(server_body(&r[2], body, 2), -1);
    server_end(&r[0]);
    CU_ASSERT_EQUAL(server_body(&r[2], body, 2), 0);
    server_end(&r[1]);
    server_end(&r[2]);
    CU_ASSERT_EQUAL(f.server.body_bytes, 0);
    server_done(&f.server);
}

/* Five pictures make a batch of four and one of one. Buckets are cumulative, as Prometheus demands:
 * the one up to 4 counts both batches. */
static void metrics_count_answers_and_batches(void) {
    struct fixture f;
    struct asked a[5];
    cleanup_buf struct buf text = {.max = 1 << 20};
    make(&f, 8);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(begin(&f, &a[i], "a"), SERVER_OK);
        CU_ASSERT(server_queue(&a[i].request));
    }
    server_stop(&f.server);
    server_compute(&f.server);
    CU_ASSERT(f.batches[0] == 2 && f.batches[1] == 1); /* of four and of one */
    CU_ASSERT_EQUAL(server_print_metrics(&f.server, &text, NULL), 0);
    ASSERT_CONTAINS(buf_text(&text), "ringtrain_requests_total{code=\"200\"} 5\n");
    ASSERT_CONTAINS(buf_text(&text), "ringtrain_batch_pictures_bucket{le=\"1\"} 1\n");
    ASSERT_CONTAINS(buf_text(&text), "ringtrain_batch_pictures_bucket{le=\"4\"} 2\n");
    ASSERT_CONTAINS(buf_text(&text), "ringtrain_batch_pictures_sum 5\n");
    ASSERT_CONTAINS(buf_text(&text), "ringtrain_pictures_total 5\n");
    ASSERT_CONTAINS(buf_text(&text), "ringtrain_request_seconds_count 5\n");
    server_done(&f.server);
}

UNIT_SUITE("serve.server", UNIT(requests_that_were_begun_are_answered_at_a_stop),
           UNIT(requests_beyond_the_stop_are_refused), UNIT(faults_have_a_status_each),
           UNIT(network_that_cannot_compute_is_not_healthy), UNIT(pictures_that_wait_are_limited),
           UNIT(bytes_of_bodies_are_limited), UNIT(metrics_count_answers_and_batches))
