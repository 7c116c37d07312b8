#include "common/log/status_line.h"

#include "common/clock.h"
#include "tests/support/pty.h"

#include <string.h>

static void it_is_rewritten_in_place_a_few_times_a_second(void) {
    struct status_line line;
    struct pty pty = pty_open(80);
    status_line_open(&line, pty.terminal);
    int64_t now = clock_now();
    CU_ASSERT(status_line_due(&line, now));
    status_line_show(&line, now, -1, "one");
    CU_ASSERT_FALSE(status_line_due(&line, now + 100 * CLOCK_MILLISECOND));
    status_line_show(&line, now + 100 * CLOCK_MILLISECOND, -1, "too soon");
    status_line_show(&line, now + CLOCK_SECOND / 2, -1, "two");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[Kone\r\x1b[Ktwo");
    status_line_close(&line);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K");
    status_line_close(&line);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "");
    pty_close(&pty);
}

static void what_is_not_shown_is_not_cleared(void) {
    struct status_line line;
    struct pty pty = pty_open(80);
    status_line_open(&line, pty.terminal);
    status_line_clear(&line);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "");
    status_line_show(&line, clock_now(), -1, "one");
    status_line_clear(&line);
    status_line_clear(&line);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[Kone\r\x1b[K");
    status_line_close(&line);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "");
    CU_ASSERT_FALSE(status_line_due(&line, INT64_MAX));
    pty_close(&pty);
}

static void it_is_cut_at_the_width(void) {
    struct status_line line;
    struct pty pty = pty_open(20);
    status_line_open(&line, pty.terminal);
    status_line_show(&line, clock_now(), -1, "0123456789012345678901");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K0123456789012345678");
    status_line_close(&line);
    pty_close(&pty);
}

/* What the line is without a bar, on COLUMNS. */
static const char *fitted(size_t columns) {
    static char drawn[STATUS_LINE_BYTES];
    (void)status_line_draw(drawn, columns, false, -1,
                           "step 100/400  epoch 2.50  128 images/s  loss 1.2500  2:30 left");
    return drawn + strlen("\r\x1b[K");
}

static void the_time_left_stays_on_a_narrow_terminal(void) {
    CU_ASSERT_STRING_EQUAL(fitted(64),
                           "step 100/400  epoch 2.50  128 images/s  loss 1.2500  2:30 left");
    CU_ASSERT_STRING_EQUAL(fitted(62), "step 100/400  epoch 2.50  128 images/s  2:30 left");
    CU_ASSERT_STRING_EQUAL(fitted(40), "step 100/400  epoch 2.50  2:30 left");
    CU_ASSERT_STRING_EQUAL(fitted(24), "step 100/400  2:30 left");
    CU_ASSERT_STRING_EQUAL(fitted(23), "step 100/400");
    CU_ASSERT_STRING_EQUAL(fitted(10), "step 100/");
}

static void log_lines_stand_on_lines_of_their_own(void) {
    struct status_line line;
    struct pty pty = pty_open(80);
    int saved = dup(STDERR_FILENO);
    (void)dup2(pty.terminal, STDERR_FILENO);
    status_line_open(&line, STDERR_FILENO);
    status_line_show(&line, clock_now(), -1, "half way");
    log_info("a word");
    status_line_close(&line);
    log_info("another");
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    const char *text = pty_seen(&pty);
    CU_ASSERT_EQUAL(strncmp(text, "\r\x1b[Khalf way\r\x1b[K2", 17), 0); /* the time begins */
    ASSERT_CONTAINS(text, "a word\r\n");
    ASSERT_CONTAINS(text, "another\r\n");
    pty_close(&pty);
}

static void it_is_silent_where_it_would_be_in_the_way(void) {
    struct status_line line;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    status_line_open(&line, ends[1]);
    CU_ASSERT_FALSE(status_line_due(&line, clock_now()));
    status_line_show(&line, clock_now(), -1, "lost");
    status_line_close(&line);
    (void)close(ends[1]);
    char byte = 0;
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
    struct pty pty = pty_open(80);
    (void)setenv("TERM", "dumb", 1);
    status_line_open(&line, pty.terminal);
    CU_ASSERT_FALSE(status_line_due(&line, clock_now()));
    (void)unsetenv("TERM");
    status_line_open(&line, pty.terminal);
    CU_ASSERT_FALSE(status_line_due(&line, clock_now()));
    pty_close(&pty);
}

/* A bar takes the columns that the text leaves, with its last one free. */
static void a_bar_shows_how_much_is_done(void) {
    struct status_line line;
    struct pty pty = pty_open(24);
    (void)setenv("NO_COLOR", "1", 1);
    status_line_open(&line, pty.terminal);
    int64_t now = clock_now();
    status_line_show(&line, now, 0.5, "half");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K[=====>     ] half");
    status_line_show(&line, now += CLOCK_SECOND, 1, "done");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K[===========] done");
    status_line_show(&line, now += CLOCK_SECOND, 0, "");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K[>          ] ");
    status_line_show(&line, now += CLOCK_SECOND, 0.5, "no room for a bar");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[Kno room for a bar");
    status_line_close(&line);
    pty_close(&pty);
}

static void the_bar_has_a_colour(void) {
    struct status_line line;
    struct pty pty = pty_open(200);
    (void)unsetenv("NO_COLOR");
    status_line_open(&line, pty.terminal);
    status_line_show(&line, clock_now(), 0.5, "half");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K[\x1b[36m=====>\x1b[0m     ] half");
    status_line_close(&line);
    pty_close(&pty);
}

static void durations_are_for_people(void) {
    char text[32];
    status_duration(text, sizeof(text), 3723);
    CU_ASSERT_STRING_EQUAL(text, "1:02:03");
    status_duration(text, sizeof(text), 6.6);
    CU_ASSERT_STRING_EQUAL(text, "0:07");
    status_duration(text, sizeof(text), 48 * 3600 - 1);
    CU_ASSERT_STRING_EQUAL(text, "47:59:59");
    status_duration(text, sizeof(text), 1876.25 * 3600);
    CU_ASSERT_STRING_EQUAL(text, "78 days 4 h");
}

UNIT_SUITE("common.status_line", UNIT(it_is_rewritten_in_place_a_few_times_a_second),
           UNIT(what_is_not_shown_is_not_cleared), UNIT(it_is_cut_at_the_width),
           UNIT(the_time_left_stays_on_a_narrow_terminal),
           UNIT(log_lines_stand_on_lines_of_their_own),
           UNIT(it_is_silent_where_it_would_be_in_the_way), UNIT(a_bar_shows_how_much_is_done),
           UNIT(the_bar_has_a_colour), UNIT(durations_are_for_people))
