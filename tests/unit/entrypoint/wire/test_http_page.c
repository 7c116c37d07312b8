#include "entrypoint/wire/http_page.h"

#include "entrypoint/wire/http_request.h"
#include "entrypoint/wire/listener.h"
#include "tests/support/addresses.h"
#include "tests/support/lag.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ASK "GET /page HTTP/1.1\r\nHost: x\r\n\r\n"

static struct loop loop;
static struct http_page page;
static struct timer patience;
static uint16_t port;
static unsigned written;
static size_t text_size; /* of the page; 0: it cannot be made */
static char got[HTTP_PAGE_TEXT_MAX + 1024];
static size_t got_size;

static int write_page(void *context, struct buf *ret, struct error *err) {
    CU_ASSERT_PTR_EQUAL(context, &page);
    written++;
    if (text_size == 0)
        return error_set(err, EXIT_CODE_INTERNAL, "no page");
    if (buf_reserve(ret, text_size, err) != 0)
        return -1;
    memset(ret->data, 'p', text_size);
    ret->size = text_size;
    return 0;
}

static void end_loop(void *context) {
    (void)context;
    loop_end(&loop);
}

static void open_page(void) {
    struct error err;
    struct net_address loopback = address_of("127.0.0.1");
    struct sockaddr_in at;
    socklen_t size = sizeof(at);
    const struct http_page_options options = {
        .path = "/page", .type = "text/x-page", .write = write_page, .context = &page};
    (void)signal(SIGPIPE, SIG_IGN);
    written = 0;
    text_size = 5;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    int listener = listener_listen(&loopback, 0, "a test", &err);
    CU_ASSERT_FATAL(listener >= 0);
    (void)getsockname(listener, (struct sockaddr *)&at, &size);
    port = ntohs(at.sin_port);
    CU_ASSERT_EQUAL_FATAL(http_page_open(&page, &loop, listener, &options, &err), 0);
    patience = (struct timer){.fire = end_loop};
}

static void close_page(void) {
    http_page_close(&page);
    loop_cancel(&loop, &patience);
    loop_done(&loop);
}

/* Runs the loop for that long. */
static void turn(int64_t nanoseconds) {
    loop_after(&loop, &patience, nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
}

static int knock(void) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* Adds what has come to GOT; true at the end of it. */
static bool read_some(int fd) {
    ssize_t size = 0;
    do {
        size = recv(fd, got + got_size, sizeof(got) - 1 - got_size, 0);
        got_size += size > 0 ? (size_t)size : 0;
    } while (size > 0 && got_size < sizeof(got) - 1);
    got[got_size] = '\0';
    return size == 0;
}

/* Sooner than readers are cut off for their slowness. */
static const int64_t soon = (HTTP_PAGE_SECONDS - 1) * CLOCK_SECOND;

/* Returns whether the page soon has COUNT readers. */
static bool has_readers(unsigned count) {
    for (int64_t deadline = clock_now() + soon; page.count != count && clock_now() < deadline;)
        turn(CLOCK_MILLISECOND);
    return page.count == count;
}

/* Until the page hangs up; false where it does not soon. */
static bool read_all(int fd) {
    int64_t deadline = clock_now() + soon;
    got_size = 0;
    while (!read_some(fd)) {
        if (clock_now() > deadline)
            return false;
        turn(CLOCK_MILLISECOND);
    }
    return true;
}

static void send_text(int fd, const char *text) {
    CU_ASSERT_EQUAL(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static const char *answer_to(const char *request) {
    int fd = knock();
    send_text(fd, request);
    CU_ASSERT(read_all(fd));
    (void)close(fd);
    return got;
}

static void a_reader_gets_the_page(void) {
    open_page();
    CU_ASSERT_STRING_EQUAL(answer_to(ASK),
                           "HTTP/1.1 200 OK\r\nContent-Type: text/x-page\r\nContent-Length: 5\r\n"
                           "Connection: close\r\n\r\nppppp");
    CU_ASSERT(has_readers(0));
    close_page();
}

static void other_requests_are_told_so(void) {
    open_page();
    ASSERT_CONTAINS(answer_to("GET /other HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found\r\n");
    const char *refused = answer_to("DELETE /page HTTP/1.1\r\n\r\n");
    ASSERT_CONTAINS(refused, "HTTP/1.1 405 Method Not Allowed\r\n");
    ASSERT_CONTAINS(refused, "\r\nAllow: GET\r\n");
    ASSERT_CONTAINS(answer_to("hello\r\n"), "HTTP/1.1 400 Bad Request\r\n");
    CU_ASSERT_EQUAL(written, 0);
    close_page();
}

static void a_page_that_cannot_be_made_is_no_answer(void) {
    open_page();
    text_size = 0;
    CU_ASSERT_STRING_EQUAL(answer_to(ASK), "");
    text_size = HTTP_PAGE_TEXT_MAX + 1;
    CU_ASSERT_STRING_EQUAL(answer_to(ASK), "");
    text_size = 5;
    ASSERT_CONTAINS(answer_to(ASK), "ppppp");
    close_page();
}

/* A client that asks a hundred times in a moment gets the page that was made before. */
static void it_is_made_once_in_a_while(void) {
    open_page();
    int64_t begun = clock_now();
    for (int i = 0; i < 100; i++)
        ASSERT_CONTAINS(answer_to(ASK), "ppppp");
    CU_ASSERT(written <= 1 + (unsigned)((clock_now() - begun) / HTTP_PAGE_FRESH));
    turn(HTTP_PAGE_FRESH);
    unsigned before = written;
    text_size = 7;
    ASSERT_CONTAINS(answer_to(ASK), "ppppppp");
    CU_ASSERT_EQUAL(written, before + 1);
    close_page();
}

static void a_request_may_come_in_pieces(void) {
    open_page();
    int fd = knock();
    for (const char *at = ASK; *at != '\0'; at++) {
        CU_ASSERT_EQUAL(send(fd, at, 1, MSG_NOSIGNAL), 1);
        turn(CLOCK_MILLISECOND);
    }
    CU_ASSERT(read_all(fd));
    ASSERT_CONTAINS(got, "ppppp");
    (void)close(fd);
    close_page();
}

/* Its answer is longer than the socket buffers hold. */
static void who_has_hung_up_one_half_is_answered(void) {
    open_page();
    text_size = HTTP_PAGE_TEXT_MAX;
    int fd = knock();
    send_text(fd, ASK);
    (void)shutdown(fd, SHUT_WR);
    turn(50 * CLOCK_MILLISECOND);
    CU_ASSERT(read_all(fd));
    CU_ASSERT(got_size > HTTP_PAGE_TEXT_MAX);
    (void)close(fd);
    int silent = knock();
    (void)shutdown(silent, SHUT_WR);
    CU_ASSERT(read_all(silent));
    CU_ASSERT_EQUAL(got_size, 0);
    (void)close(silent);
    CU_ASSERT_EQUAL(page.count, 0);
    close_page();
}

/* Ten words a second, for ever. */
static void who_is_slow_is_cut_off(void) {
    open_page();
    struct lag lag;
    int64_t begun = clock_now();
    lag_begin(&lag);
    int fd = knock();
    bool ended = false;
    got_size = 0;
    while (!ended && clock_now() - begun < 2 * HTTP_PAGE_SECONDS * CLOCK_SECOND) {
        (void)send(fd, "G", 1, MSG_NOSIGNAL);
        turn(CLOCK_SECOND / 10);
        ended = recv(fd, got, sizeof(got), 0) == 0 || page.count == 0;
    }
    CU_ASSERT(clock_now() - begun >= 5 * CLOCK_SECOND);
    ASSERT_WITHIN(&lag, 5 * CLOCK_SECOND + CLOCK_SECOND / 10); /* by the next word */
    (void)close(fd);
    close_page();
}

/* A client that never reads the answer, too. */
static void who_does_not_read_is_cut_off(void) {
    open_page();
    text_size = HTTP_PAGE_TEXT_MAX;
    int fd = knock();
    int small = 1024;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    send_text(fd, ASK);
    turn(CLOCK_SECOND);
    CU_ASSERT_EQUAL(page.count, 1);
    turn(HTTP_PAGE_SECONDS * CLOCK_SECOND);
    CU_ASSERT_EQUAL(page.count, 0);
    (void)close(fd);
    close_page();
}

static void a_head_without_end_is_refused(void) {
    static char much[4 * HTTP_REQUEST_MAX];
    open_page();
    memset(much, 'x', sizeof(much));
    memcpy(much, "GET /page HTTP/1.1\r\nX: ", 23);
    int fd = knock();
    CU_ASSERT(send(fd, much, sizeof(much), MSG_NOSIGNAL) > HTTP_REQUEST_MAX);
    CU_ASSERT(read_all(fd) || got_size > 0);
    ASSERT_CONTAINS(got, "HTTP/1.1 431 ");
    (void)close(fd);
    close_page();
}

/* After the answer, too, there is an end to what is read. */
static void who_goes_on_talking_is_cut_off(void) {
    static char much[256 * 1024];
    open_page();
    int fd = knock();
    send_text(fd, ASK);
    int64_t begun = clock_now();
    while (clock_now() - begun < soon && (page.count > 0 || written == 0)) {
        (void)send(fd, much, sizeof(much), MSG_NOSIGNAL);
        turn(CLOCK_MILLISECOND);
    }
    CU_ASSERT_EQUAL(page.count, 0);
    (void)close(fd);
    close_page();
}

static void silent_readers_keep_nobody_out(void) {
    enum { MANY = 200 };
    int crowd[MANY];
    open_page();
    for (int i = 0; i < MANY; i++) {
        crowd[i] = knock();
        turn(CLOCK_MILLISECOND / 2);
        CU_ASSERT(page.count <= HTTP_PAGE_READERS_MAX);
    }
    CU_ASSERT(has_readers(HTTP_PAGE_READERS_MAX));
    ASSERT_CONTAINS(answer_to(ASK), "ppppp");
    for (int i = 0; i < MANY; i++)
        (void)close(crowd[i]);
    CU_ASSERT(has_readers(0));
    close_page();
}

/* Its listener then pauses, and does not spin. */
static int starve(void) {
    open_page();
    int fd = knock();
    struct rlimit none = {.rlim_cur = (rlim_t)fd + 1, .rlim_max = (rlim_t)fd + 1};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0)
        return 1;
    struct rusage before, after;
    (void)getrusage(RUSAGE_SELF, &before);
    turn(CLOCK_SECOND);
    (void)getrusage(RUSAGE_SELF, &after);
    long used = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 +
                after.ru_utime.tv_usec - before.ru_utime.tv_usec;
    used += (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 + after.ru_stime.tv_usec -
            before.ru_stime.tv_usec;
    if (page.count != 0 || used > 200000)
        return 2;
    http_page_close(&page);
    return 0;
}

static void without_descriptors_it_rests(void) {
    CU_ASSERT_EQUAL(unit_in_child(starve), 0);
}

UNIT_SUITE("wire.http_page", UNIT(a_reader_gets_the_page), UNIT(other_requests_are_told_so),
           UNIT(a_page_that_cannot_be_made_is_no_answer), UNIT(it_is_made_once_in_a_while),
           UNIT(a_request_may_come_in_pieces), UNIT(who_has_hung_up_one_half_is_answered),
           UNIT(who_is_slow_is_cut_off), UNIT(who_does_not_read_is_cut_off),
           UNIT(a_head_without_end_is_refused), UNIT(who_goes_on_talking_is_cut_off),
           UNIT(silent_readers_keep_nobody_out), UNIT(without_descriptors_it_rests))
