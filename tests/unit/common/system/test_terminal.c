#include "common/system/terminal.h"

#include "tests/support/pty.h"

static void a_terminal_is_rewritten_and_coloured(void) {
    struct pty pty = pty_open(80);
    (void)unsetenv("NO_COLOR");
    CU_ASSERT(terminal_can_rewrite(pty.terminal));
    CU_ASSERT(terminal_has_colour(pty.terminal));
    (void)setenv("NO_COLOR", "", 1);
    CU_ASSERT(terminal_has_colour(pty.terminal));
    (void)setenv("NO_COLOR", "1", 1);
    CU_ASSERT(terminal_can_rewrite(pty.terminal));
    CU_ASSERT_FALSE(terminal_has_colour(pty.terminal));
    (void)unsetenv("NO_COLOR");
    (void)setenv("TERM", "dumb", 1);
    CU_ASSERT_FALSE(terminal_can_rewrite(pty.terminal));
    CU_ASSERT_FALSE(terminal_has_colour(pty.terminal));
    (void)unsetenv("TERM");
    CU_ASSERT_FALSE(terminal_can_rewrite(pty.terminal));
    CU_ASSERT(terminal_has_colour(pty.terminal));
    CU_ASSERT(terminal_has_colour_by(pty.terminal, "xterm", NULL));
    CU_ASSERT_FALSE(terminal_has_colour_by(pty.terminal, "xterm", "1"));
    pty_close(&pty);
}

static void files_and_pipes_are_none(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)setenv("TERM", "xterm", 1);
    CU_ASSERT_FALSE(terminal_can_rewrite(ends[1]));
    CU_ASSERT_FALSE(terminal_has_colour(ends[1]));
    CU_ASSERT_EQUAL(terminal_columns(ends[1]), TERMINAL_WIDTH_UNKNOWN);
    CU_ASSERT_EQUAL(terminal_lines(ends[1]), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void it_is_as_large_as_its_window(void) {
    struct pty pty = pty_open(132);
    CU_ASSERT_EQUAL(terminal_columns(pty.terminal), 132);
    CU_ASSERT_EQUAL(terminal_lines(pty.terminal), 24);
    const struct winsize narrow = {.ws_row = 24, .ws_col = 3}, unknown = {0};
    CU_ASSERT_EQUAL(ioctl(pty.terminal, TIOCSWINSZ, &narrow), 0);
    CU_ASSERT_EQUAL(terminal_columns(pty.terminal), 20);
    CU_ASSERT_EQUAL(ioctl(pty.terminal, TIOCSWINSZ, &unknown), 0);
    CU_ASSERT_EQUAL(terminal_columns(pty.terminal), 80);
    CU_ASSERT_EQUAL(terminal_lines(pty.terminal), 0);
    pty_close(&pty);
}

static void colours_are_nothing_where_they_are_off(void) {
    CU_ASSERT_STRING_EQUAL(terminal_colour(false, TERMINAL_RED), "");
    CU_ASSERT_STRING_EQUAL(terminal_colour(true, TERMINAL_YELLOW), "\x1b[33m");
    CU_ASSERT_STRING_EQUAL(terminal_colour(true, TERMINAL_PLAIN), "\x1b[0m");
}

UNIT_SUITE("common.terminal", UNIT(a_terminal_is_rewritten_and_coloured),
           UNIT(files_and_pipes_are_none), UNIT(it_is_as_large_as_its_window),
           UNIT(colours_are_nothing_where_they_are_off))
