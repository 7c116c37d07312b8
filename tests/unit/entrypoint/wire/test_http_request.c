#include "entrypoint/wire/http_request.h"

#include "tests/support/unit.h"

#include <string.h>

static enum http_request_status judge(const char *text) {
    return http_request_judge(text, strlen(text), "/metrics");
}

static void the_page_may_be_asked_for(void) {
    CU_ASSERT_EQUAL(judge("GET /metrics HTTP/1.1\r\nHost: algo-1:9464\r\n\r\n"), HTTP_REQUEST_GOOD);
    CU_ASSERT_EQUAL(judge("GET /metrics HTTP/1.0\r\n\r\n"), HTTP_REQUEST_GOOD);
    CU_ASSERT_EQUAL(judge("GET /metrics HTTP/1.1\n\n"), HTTP_REQUEST_GOOD);
    CU_ASSERT_EQUAL(judge("GET /metrics?name[]=x HTTP/1.1\r\nA:\r\n\r\nand a body"),
                    HTTP_REQUEST_GOOD);
}

/* Every prefix of a valid request is incomplete. */
static void it_ends_with_an_empty_line(void) {
    const char *whole = "GET /metrics HTTP/1.1\r\nAccept: text/plain; version=0.0.4\r\n\r\n";
    for (size_t i = 0; i < strlen(whole); i++)
        CU_ASSERT_EQUAL(http_request_judge(whole, i, "/metrics"), HTTP_REQUEST_MORE);
    CU_ASSERT_EQUAL(judge(whole), HTTP_REQUEST_GOOD);
}

static void nothing_else_is_answered(void) {
    CU_ASSERT_EQUAL(judge("GET / HTTP/1.1\r\n\r\n"), HTTP_REQUEST_NOT_FOUND);
    CU_ASSERT_EQUAL(judge("GET /metrics/ HTTP/1.1\r\n\r\n"), HTTP_REQUEST_NOT_FOUND);
    CU_ASSERT_EQUAL(judge("GET /metric HTTP/1.1\r\n\r\n"), HTTP_REQUEST_NOT_FOUND);
    CU_ASSERT_EQUAL(judge("GET http://algo-1/metrics HTTP/1.1\r\n\r\n"), HTTP_REQUEST_NOT_FOUND);
    CU_ASSERT_EQUAL(judge("POST /metrics HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi"),
                    HTTP_REQUEST_NOT_ALLOWED);
    CU_ASSERT_EQUAL(judge("HEAD /metrics HTTP/1.1\r\n\r\n"), HTTP_REQUEST_NOT_ALLOWED);
    CU_ASSERT_EQUAL(judge("get /metrics HTTP/1.1\r\n\r\n"), HTTP_REQUEST_NOT_ALLOWED);
    CU_ASSERT_EQUAL(judge("GET /metrics HTTP/2\r\n\r\n"), HTTP_REQUEST_VERSION);
    CU_ASSERT_EQUAL(judge("GET /metrics HTTP/1.1 \r\n\r\n"), HTTP_REQUEST_VERSION);
}

static void what_is_no_http_is_refused_at_its_first_line(void) {
    static const char *const bad[] = {"\r\n",
                                      "GET\r\n",
                                      "GET /metrics\r\n",
                                      " GET /metrics HTTP/1.1\r\n",
                                      "GET  /metrics HTTP/1.1\r\n",
                                      "GET /metrics HTTP/\r\n",
                                      "GET /metrics FTP/1.1\r\n",
                                      "GET /met\rrics HTTP/1.1\r\n",
                                      "GET /metrics\t HTTP/1.1\r\n",
                                      "\x16\x03\x01 a b\r\n",
                                      "GET /metrics HTTP/1.1\r\nno header\r\n",
                                      "GET /metrics HTTP/1.1\r\n: nameless\r\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(judge(bad[i]), HTTP_REQUEST_BAD);
    CU_ASSERT_EQUAL(http_request_judge("GET \0 HTTP/1.1\r\n", 16, "/metrics"), HTTP_REQUEST_BAD);
}

static void it_has_a_ceiling(void) {
    static char text[HTTP_REQUEST_MAX];
    memset(text, 'x', sizeof(text));
    CU_ASSERT_EQUAL(http_request_judge(text, sizeof(text) - 1, "/"), HTTP_REQUEST_MORE);
    CU_ASSERT_EQUAL(http_request_judge(text, sizeof(text), "/"), HTTP_REQUEST_TOO_LARGE);
    memcpy(text, "GET / HTTP/1.1\r\nA: ", 19);
    CU_ASSERT_EQUAL(http_request_judge(text, sizeof(text), "/"), HTTP_REQUEST_TOO_LARGE);
    memcpy(text + sizeof(text) - 4, "\r\n\r\n", 4);
    CU_ASSERT_EQUAL(http_request_judge(text, sizeof(text), "/"), HTTP_REQUEST_GOOD);
}

static void each_answer_has_its_words(void) {
    CU_ASSERT_STRING_EQUAL(http_request_reason(HTTP_REQUEST_GOOD), "200 OK");
    CU_ASSERT_STRING_EQUAL(http_request_reason(HTTP_REQUEST_BAD), "400 Bad Request");
    CU_ASSERT_STRING_EQUAL(http_request_reason(HTTP_REQUEST_NOT_FOUND), "404 Not Found");
    CU_ASSERT_STRING_EQUAL(http_request_reason(HTTP_REQUEST_NOT_ALLOWED), "405 Method Not Allowed");
    CU_ASSERT_STRING_EQUAL(http_request_reason(HTTP_REQUEST_TOO_LARGE),
                           "431 Request Header Fields Too Large");
    CU_ASSERT_STRING_EQUAL(http_request_reason(HTTP_REQUEST_VERSION),
                           "505 HTTP Version Not Supported");
}

UNIT_SUITE("wire.http_request", UNIT(the_page_may_be_asked_for), UNIT(it_ends_with_an_empty_line),
           UNIT(nothing_else_is_answered), UNIT(what_is_no_http_is_refused_at_its_first_line),
           UNIT(it_has_a_ceiling), UNIT(each_answer_has_its_words))
