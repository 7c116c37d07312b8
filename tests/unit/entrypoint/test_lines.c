#include "entrypoint/lines.h"

#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

static struct buf seen;
static size_t longest;

static void keep(void *context, const char *line, size_t size) {
    (void)context;
    CU_ASSERT_EQUAL(line[size - 1], '\n');
    longest = size > longest ? size : longest;
    CU_ASSERT_EQUAL(buf_add(&seen, line, size, NULL), 0);
}

static void lines_are(const char *text, size_t size, size_t piece, const char *expected) {
    struct lines l;
    buf_init(&seen, 4096);
    lines_init(&l, "[a] ", NULL, keep, NULL);
    for (size_t i = 0; i < size; i += piece)
        lines_feed(&l, text + i, size - i < piece ? size - i : piece);
    lines_end(&l);
    CU_ASSERT_STRING_EQUAL(buf_text(&seen), expected);
    lines_done(&l);
    buf_done(&seen);
}

static void lines_come_whole_however_they_are_cut(void) {
    static const char text[] = "one\ntwo\r\n\nlast\rover\r\rit \xc3\xa4";
    static const char expected[] = "[a] one\n[a] two\n[a] \n[a] last\n[a] over\n[a] it \xc3\xa4\n";
    for (size_t piece = 1; piece < sizeof(text); piece++)
        lines_are(text, sizeof(text) - 1, piece, expected);
}

static void bytes_that_are_no_text_are_replaced(void) {
    lines_are("a\x83z\n", 4, 4, "[a] a\xef\xbf\xbdz\n");
    lines_are("\x00\x1b[1m\n", 6, 6, "[a] ??[1m\n");
}

static void a_long_line_is_cut_between_characters(void) {
    struct lines l;
    static char text[3 * LINES_MAX];
    for (size_t i = 0; i + 1 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    longest = 0;
    buf_init(&seen, 8 * LINES_MAX);
    lines_init(&l, "[p] ", NULL, keep, NULL);
    lines_feed(&l, "x", 1);
    lines_feed(&l, text, sizeof(text));
    lines_end(&l);
    CU_ASSERT(longest <= LINES_MAX);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&seen), "\xef\xbf\xbd"));
    size_t umlauts = 0;
    for (const char *at = buf_text(&seen); (at = strstr(at, "\xc3\xa4")) != NULL; at += 2)
        umlauts++;
    CU_ASSERT_EQUAL(umlauts, sizeof(text) / 2);
    lines_done(&l);
    buf_done(&seen);
}

static void the_tail_keeps_the_last_lines(void) {
    struct tail t = {.size = 0};
    char line[600];
    for (int i = 0; i < 100; i++) {
        int size = snprintf(line, sizeof(line), "line %d", i);
        tail_add(&t, line, (size_t)size);
    }
    CU_ASSERT_PTR_NULL(strstr(t.text, "line 87\n"));
    ASSERT_CONTAINS(t.text, "line 88\n");
    CU_ASSERT_STRING_EQUAL(strrchr(t.text, '\n'), "\nline 99");
    memset(line, 'x', sizeof(line));
    for (int i = 0; i < 20; i++)
        tail_add(&t, line, sizeof(line));
    CU_ASSERT(t.size < sizeof(t.text));
    CU_ASSERT_EQUAL(strlen(t.text), t.size);
}

UNIT_MAIN("entrypoint.lines", UNIT(lines_come_whole_however_they_are_cut),
          UNIT(bytes_that_are_no_text_are_replaced), UNIT(a_long_line_is_cut_between_characters),
          UNIT(the_tail_keeps_the_last_lines))
