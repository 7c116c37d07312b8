#include "entrypoint/transfer/peers/peer_request.h"
#include "tests/support/unit.h"

#include <string.h>

static int parse(const char *head, struct peer_request *ret) {
    size_t size = strlen(head);
    CU_ASSERT_EQUAL(peer_request_head(head, size), size);
    return peer_request_parse(head, size, ret);
}

static void a_head_is_whole_with_its_empty_line(void) {
    static const char text[] = "GET / HTTP/1.1\r\nhost: x\r\n\r\nmore";
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        CU_ASSERT_EQUAL(peer_request_head(text, i), i >= 27 ? 27 : 0);
}

static void what_libcurl_asks_is_understood(void) {
    struct peer_request w;
    CU_ASSERT_EQUAL(parse("GET / HTTP/1.1\r\nHost: algo-1:7074\r\nAccept: */*\r\n\r\n", &w), 0);
    CU_ASSERT_STRING_EQUAL(w.task, "");
    CU_ASSERT_EQUAL(parse("GET /train/odd/a%20b%25 HTTP/1.1\r\nHost: x\r\n\r\n", &w), 0);
    CU_ASSERT_STRING_EQUAL(w.task, "train");
    CU_ASSERT_STRING_EQUAL(w.path, "odd/a b%");
    CU_ASSERT_TRUE(w.from == 0 && w.to == -1 && w.etag[0] == '\0');
    CU_ASSERT_EQUAL(parse("GET /t/p HTTP/1.1\r\nRange: bytes=7-\r\nIf-Match: \"e-2\"\r\n\r\n", &w),
                    0);
    CU_ASSERT_TRUE(w.from == 7 && w.to == -1);
    CU_ASSERT_STRING_EQUAL(w.etag, "e-2");
    CU_ASSERT_EQUAL(parse("GET /t/p HTTP/1.1\r\nrange: bytes=7-8\r\n\r\n", &w), 0);
    CU_ASSERT_TRUE(w.from == 7 && w.to == 8);
}

static void everything_else_is_refused(void) {
    static const char *const heads[] = {
        "\r\n\r\n",
        "POST /t/p HTTP/1.1\r\n\r\n",
        "GET /t/p HTTP/2\r\n\r\n",
        "GET t/p HTTP/1.1\r\n\r\n",
        "GET /t HTTP/1.1\r\n\r\n",
        "GET //p HTTP/1.1\r\n\r\n",
        "GET /t/ HTTP/1.1\r\n\r\n",
        "GET /t/%zz HTTP/1.1\r\n\r\n",
        "GET /t/%00 HTTP/1.1\r\n\r\n",
        "GET /t/p HTTP/1.1\r\nno field\r\n\r\n",
        "GET /t/p HTTP/1.1\r\nrange: 7-\r\n\r\n",
        "GET /t/p HTTP/1.1\r\nrange: bytes=-7\r\n\r\n",
        "GET /t/p HTTP/1.1\r\nrange: bytes=8-7\r\n\r\n",
        "GET /t/p HTTP/1.1\r\nrange: bytes=9223372036854775808-\r\n\r\n",
        "GET /t/p HTTP/1.1\r\nif-match: e\r\n\r\n",
        "GET /t/p HTTP/1.1\r\nif-match: \"\r\n\r\n",
    };
    struct peer_request w;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        CU_ASSERT_EQUAL(parse(heads[i], &w), -1);
}

UNIT_SUITE("transfer.peer_request", UNIT(a_head_is_whole_with_its_empty_line),
           UNIT(what_libcurl_asks_is_understood), UNIT(everything_else_is_refused))
