#include "entrypoint/os/line_splitter.h"

#include "common/clock.h"
#include "tests/support/unit.h"

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
    struct line_splitter l;
    buf_init(&seen, 4096);
    line_splitter_init(&l, "[a] ", NULL, keep, NULL);
    for (size_t i = 0; i < size; i += piece)
        line_splitter_feed(&l, text + i, size - i < piece ? size - i : piece);
    line_splitter_end(&l);
    CU_ASSERT_STRING_EQUAL(buf_text(&seen), expected);
    line_splitter_done(&l);
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

static void feed_long(size_t size, const char *character) {
    struct line_splitter l;
    size_t width = strlen(character);
    longest = 0;
    buf_init(&seen, 8 * LINE_SPLITTER_MAX);
    line_splitter_init(&l, "[p] ", NULL, keep, NULL);
    line_splitter_feed(&l, "x", 1);
    for (size_t i = 0; i < size; i += width)
        line_splitter_feed(&l, character, width);
    line_splitter_feed(&l, "\nnext\n", 6);
    line_splitter_done(&l);
}

static void a_line_of_the_documented_length_comes_whole(void) {
    feed_long(LINE_SPLITTER_MAX - strlen("[p] x\n"), "y");
    CU_ASSERT_EQUAL(longest, LINE_SPLITTER_MAX);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&seen), "cut"));
    ASSERT_CONTAINS(buf_text(&seen), "yyy\n[p] next\n");
    CU_ASSERT_EQUAL(seen.size, LINE_SPLITTER_MAX + strlen("[p] next\n"));
    buf_done(&seen);
}

static void of_a_longer_line_the_beginning_comes_and_a_mark(void) {
    static const char *const characters[] = {"y", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x92\xa9",
                                             "\x83"};
    for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
        feed_long(1200000, characters[i]);
        CU_ASSERT(longest <= LINE_SPLITTER_MAX && longest > LINE_SPLITTER_MAX - 8);
        ASSERT_CONTAINS(buf_text(&seen), " [cut: the line has 1200001 bytes]\n[p] next\n");
        CU_ASSERT_EQUAL(strncmp(buf_text(&seen), "[p] x", 5), 0);
        bool bad = strstr(buf_text(&seen), "\xef\xbf\xbd") != NULL;
        CU_ASSERT_EQUAL(bad, characters[i][0] == '\x83');
        buf_done(&seen);
    }
    feed_long(LINE_SPLITTER_MAX - strlen("[p] x\n") + 1, "y");
    ASSERT_CONTAINS(buf_text(&seen), " bytes]\n[p] next\n");
    buf_done(&seen);
}

/* A progress bar. */
static void a_return_in_the_middle_ends_a_line(void) {
    lines_are("10%\r100%\nnext", 13, 13, "[a] 10%\n[a] 100%\n[a] next\n");
    lines_are("10%\r100%\nnext", 13, 1, "[a] 10%\n[a] 100%\n[a] next\n");
    lines_are("a\r\rb\r\n\nc\n", 9, 3, "[a] a\n[a] b\n[a] \n[a] c\n");
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

/* Lines of every length up to the most that is kept of one, so that every possible number of bytes
 * is left over; the memory after the tail's buffer must stay unchanged. */
static void the_tail_never_leaves_its_room(void) {
    struct {
        struct tail tail;
        char behind[8];
    } t = {.behind = "behind."};
    char line[500];
    memset(line, 'x', sizeof(line));
    for (size_t first = 1; first <= 400; first++) {
        t.tail.size = 0;
        tail_add(&t.tail, line, first);
        while (t.tail.size + 402 < sizeof(t.tail.text))
            tail_add(&t.tail, line, 399);
        for (size_t size = 1; size < 8; size++)
            tail_add(&t.tail, line, 396 + size);
        CU_ASSERT(t.tail.size < sizeof(t.tail.text));
        CU_ASSERT_EQUAL(t.tail.text[t.tail.size], '\0');
        CU_ASSERT_STRING_EQUAL(t.behind, "behind.");
    }
}

static void lines_of(struct tail *t, const char *name, int count) {
    char line[16];
    for (int i = 0; i < count; i++)
        tail_add(t, line, (size_t)snprintf(line, sizeof(line), "%s%d", name, i));
}

static void join(int outs, int errors, const char *expected) {
    struct tail out = {.size = 0};
    struct tail error_out = {.size = 0};
    struct tail both;
    lines_of(&out, "o", outs);
    lines_of(&error_out, "e", errors);
    tail_join(&out, &error_out, &both);
    CU_ASSERT_STRING_EQUAL(both.text, expected);
}

/* However much a program prints beside its error. */
static void both_streams_are_in_the_last_lines(void) {
    join(0, 0, "");
    join(1, 1, "o0\ne0");
    join(40, 1, "o29\no30\no31\no32\no33\no34\no35\no36\no37\no38\no39\ne0");
    join(1, 40, "o0\ne29\ne30\ne31\ne32\ne33\ne34\ne35\ne36\ne37\ne38\ne39");
    join(40, 40, "o34\no35\no36\no37\no38\no39\ne34\ne35\ne36\ne37\ne38\ne39");
    join(8, 8, "o2\no3\no4\no5\no6\no7\ne2\ne3\ne4\ne5\ne6\ne7");
    join(0, 12, "e0\ne1\ne2\ne3\ne4\ne5\ne6\ne7\ne8\ne9\ne10\ne11");
}

/* A warning of hours ago, and what standard output said last. */
static void old_warnings_come_before_what_was_said_last(void) {
    struct tail out = {.size = 0};
    struct tail error_out = {.size = 0};
    struct tail both;
    lines_of(&error_out, "e", 8);
    lines_of(&out, "o", 40);
    error_out.last = 5;
    out.last = 5 + LINE_SPLITTER_TAIL_TOGETHER_NS;
    tail_join(&out, &error_out, &both);
    CU_ASSERT_STRING_EQUAL(both.text, "o34\no35\no36\no37\no38\no39\ne2\ne3\ne4\ne5\ne6\ne7");
    out.last++;
    tail_join(&out, &error_out, &both);
    CU_ASSERT_STRING_EQUAL(both.text, "e2\ne3\ne4\ne5\ne6\ne7\no34\no35\no36\no37\no38\no39");
    error_out = (struct tail){.last = 5};
    lines_of(&error_out, "e", 1);
    tail_join(&out, &error_out, &both);
    CU_ASSERT_STRING_EQUAL(both.text, "e0\no29\no30\no31\no32\no33\no34\no35\no36\no37\no38\no39");
    out = (struct tail){.size = 0};
    tail_join(&out, &error_out, &both);
    CU_ASSERT_STRING_EQUAL(both.text, "e0");
    tail_join(&error_out, &out, &both);
    CU_ASSERT_STRING_EQUAL(both.text, "e0");
}

static void nothing(void *context, const char *line, size_t size) {
    (void)context;
    (void)line;
    (void)size;
}

static void the_tail_knows_when_a_line_came(void) {
    struct line_splitter l;
    struct tail t = {.size = 0};
    int64_t before = clock_now();
    line_splitter_init(&l, "", &t, nothing, NULL);
    line_splitter_feed(&l, "half", 4);
    CU_ASSERT_EQUAL(t.last, 0);
    line_splitter_feed(&l, "\n", 1);
    CU_ASSERT(t.last >= before && t.last <= clock_now());
    line_splitter_done(&l);
}

UNIT_SUITE("os.line_splitter", UNIT(old_warnings_come_before_what_was_said_last),
           UNIT(the_tail_knows_when_a_line_came), UNIT(lines_come_whole_however_they_are_cut),
           UNIT(bytes_that_are_no_text_are_replaced),
           UNIT(a_line_of_the_documented_length_comes_whole),
           UNIT(of_a_longer_line_the_beginning_comes_and_a_mark),
           UNIT(a_return_in_the_middle_ends_a_line), UNIT(the_tail_never_leaves_its_room),
           UNIT(both_streams_are_in_the_last_lines), UNIT(the_tail_keeps_the_last_lines))
