#include "entrypoint/transfer/http/percent.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void every_byte_but_the_plain_ones_is_encoded(void) {
    static const struct {
        const char *text, *encoded, *path;
    } cases[] = {
        {"AZaz09-._~", "AZaz09-._~", "AZaz09-._~"},
        {"a b+c=d%/é", "a%20b%2Bc%3Dd%25%2F%C3%A9", "a%20b%2Bc%3Dd%25/%C3%A9"},
        {"a//b/../c", "a%2F%2Fb%2F..%2Fc", "a//b/../c"},
        {"!*'()$&,:;@\x01\x7f", "%21%2A%27%28%29%24%26%2C%3A%3B%40%01%7F",
         "%21%2A%27%28%29%24%26%2C%3A%3B%40%01%7F"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_buf struct buf text;
        cleanup_buf struct buf path;
        buf_init(&text, 1024);
        buf_init(&path, 1024);
        CU_ASSERT_EQUAL(percent_add(&text, cases[i].text, NULL), 0);
        CU_ASSERT_EQUAL(percent_add_path(&path, cases[i].text, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&text), cases[i].encoded);
        CU_ASSERT_STRING_EQUAL(buf_text(&path), cases[i].path);
        char back[256];
        (void)snprintf(back, sizeof(back), "%s", cases[i].encoded);
        CU_ASSERT_EQUAL(percent_decode(back, NULL), 0);
        CU_ASSERT_STRING_EQUAL(back, cases[i].text);
    }
}

static void a_query_is_in_the_order_of_encoded_names(void) {
    static const struct percent_pair pairs[] = {
        {"prefix", "a/b c"}, {"list-type", "2"}, {"a1", "z"}, {"a", "y"}, {"a", "é"}, {"A", ""},
    };
    cleanup_buf struct buf got;
    buf_init(&got, 1024);
    CU_ASSERT_EQUAL(percent_add_query(&got, pairs, 6, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&got), "A=&a=%C3%A9&a=y&a1=z&list-type=2&prefix=a%2Fb%20c");
    struct error err = {0};
    CU_ASSERT_EQUAL(percent_add_query(&got, pairs, PERCENT_PAIRS_MAX + 1, &err), -1);
    ASSERT_CONTAINS(err.text, "9 pairs");
}

static void what_is_no_encoding_is_refused(void) {
    static const char *const bad[] = {"%", "a%4", "%zz", "%4g", "a%00b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[16];
        struct error err = {0};
        (void)snprintf(text, sizeof(text), "%s", bad[i]);
        CU_ASSERT_EQUAL(percent_decode(text, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    }
    char plus[] = "a+b%2f%2F";
    CU_ASSERT_EQUAL(percent_decode(plus, NULL), 0);
    CU_ASSERT_STRING_EQUAL(plus, "a+b//");
    char form[] = "a+b%2Bc";
    CU_ASSERT_EQUAL(percent_decode_form(form, NULL), 0);
    CU_ASSERT_STRING_EQUAL(form, "a b+c");
}

UNIT_SUITE("transfer.percent", UNIT(every_byte_but_the_plain_ones_is_encoded),
           UNIT(a_query_is_in_the_order_of_encoded_names), UNIT(what_is_no_encoding_is_refused))
