#include "common/html/html.h"
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

static void text_from_outside_is_escaped(void) {
    cleanup_html struct html h;
    html_open(&h);
    html_text(&h, "<b a='1' b=\"2\">&\xff\x01");
    html_text(&h, NULL);
    CU_ASSERT_STRING_EQUAL(buf_text(&h.out),
                           "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;\xef\xbf\xbd?");
    CU_ASSERT_EQUAL(html_error(&h, NULL), 0);
}

static void bytes_become_base64(void) {
    static const char *const words[] = {"", "f", "fo", "foo", "foob", "\xff\xfe"};
    static const char *const coded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "//4="};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        cleanup_html struct html h;
        html_open(&h);
        html_base64(&h, words[i], strlen(words[i]));
        CU_ASSERT_STRING_EQUAL(buf_text(&h.out), coded[i]);
    }
}

static void numbers_are_for_people(void) {
    static const double values[] = {0,      1234567, 999.96, 12.345, 1.5,
                                    0.0123, 1.2e-7,  3,      -45000, 2e15};
    static const char *const texts[] = {
        "0", "1\u202f234\u202f567", "1000.0", "12.35", "1.500", "0.0123", "1.2e-07",
        "3", "-45\u202f000",        "2e+15"};
    char text[HTML_NUMBER_SIZE];
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        html_number(text, values[i]);
        CU_ASSERT_STRING_EQUAL(text, texts[i]);
    }
    html_number(text, (double)NAN);
    CU_ASSERT_STRING_EQUAL(text, "–");
}

static void durations_have_units(void) {
    cleanup_html struct html h;
    html_open(&h);
    const double seconds[] = {1.25, 61, 3725, 200000, -1, (double)NAN, 1e300};
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        html_put_duration(&h, seconds[i]);
        html_put(&h, ";");
    }
    CU_ASSERT_STRING_EQUAL(buf_text(&h.out), "1.2 s;1 min 01 s;1 h 02 min;2.3 d;–;–;–;");
}

/* Nothing more is added after the first error. */
static void too_large_a_page_is_an_error(void) {
    cleanup_html struct html h;
    struct error err = {0};
    html_open(&h);
    h.out.max = 8;
    html_put(&h, "<p>12345");
    html_put(&h, "6");
    html_text(&h, "7");
    CU_ASSERT_EQUAL(html_error(&h, &err), -1);
    CU_ASSERT_STRING_EQUAL(buf_text(&h.out), "<p>12345");
}

UNIT_SUITE("report.html", UNIT(text_from_outside_is_escaped), UNIT(bytes_become_base64),
           UNIT(numbers_are_for_people), UNIT(durations_have_units),
           UNIT(too_large_a_page_is_an_error))
