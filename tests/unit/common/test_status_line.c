#include "common/status_line.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int screen = -1;
static int terminal = -1;

static void open_terminal(unsigned short columns) {
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    screen = posix_openpt(O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(screen >= 0 && grantpt(screen) == 0 && unlockpt(screen) == 0);
    terminal = open(ptsname(screen), O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(terminal >= 0);
    CU_ASSERT_EQUAL(ioctl(terminal, TIOCSWINSZ, &size), 0);
    (void)setenv("TERM", "xterm", 1);
}

static void close_terminal(void) {
    (void)close(terminal);
    (void)close(screen);
}

/* What has come onto the screen. */
static const char *seen(void) {
    static char text[4096];
    struct pollfd p = {.fd = screen, .events = POLLIN};
    size_t used = 0;
    while (used < sizeof(text) - 1 && poll(&p, 1, 50) == 1) {
        ssize_t got = read(screen, text + used, sizeof(text) - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return text;
}

static void it_is_rewritten_in_place_a_few_times_a_second(void) {
    struct status_line line;
    open_terminal(80);
    status_line_open(&line, terminal);
    int64_t now = clock_now();
    CU_ASSERT(status_line_due(&line, now));
    status_line_show(&line, now, "one");
    CU_ASSERT_FALSE(status_line_due(&line, now + 100 * CLOCK_MILLISECOND));
    status_line_show(&line, now + 100 * CLOCK_MILLISECOND, "too soon");
    status_line_show(&line, now + CLOCK_SECOND / 2, "two");
    CU_ASSERT_STRING_EQUAL(seen(), "\r\x1b[Kone\r\x1b[Ktwo");
    status_line_close(&line);
    CU_ASSERT_STRING_EQUAL(seen(), "\r\x1b[K");
    status_line_close(&line);
    CU_ASSERT_STRING_EQUAL(seen(), "");
    close_terminal();
}

static void what_is_not_shown_is_not_cleared(void) {
    struct status_line line;
    open_terminal(80);
    status_line_open(&line, terminal);
    status_line_clear(&line);
    CU_ASSERT_STRING_EQUAL(seen(), "");
    status_line_show(&line, clock_now(), "one");
    status_line_clear(&line);
    status_line_clear(&line);
    CU_ASSERT_STRING_EQUAL(seen(), "\r\x1b[Kone\r\x1b[K");
    status_line_close(&line);
    CU_ASSERT_STRING_EQUAL(seen(), "");
    CU_ASSERT_FALSE(status_line_due(&line, INT64_MAX));
    close_terminal();
}

static void it_is_cut_at_the_width(void) {
    struct status_line line;
    open_terminal(8);
    status_line_open(&line, terminal);
    status_line_show(&line, clock_now(), "0123456789");
    CU_ASSERT_STRING_EQUAL(seen(), "\r\x1b[K0123456");
    status_line_close(&line);
    close_terminal();
}

static void log_lines_stand_on_lines_of_their_own(void) {
    struct status_line line;
    open_terminal(80);
    int saved = dup(STDERR_FILENO);
    (void)dup2(terminal, STDERR_FILENO);
    status_line_open(&line, STDERR_FILENO);
    status_line_show(&line, clock_now(), "half way");
    log_info("a word");
    status_line_close(&line);
    log_info("another");
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    const char *text = seen();
    CU_ASSERT_EQUAL(strncmp(text, "\r\x1b[Khalf way\r\x1b[K2", 17), 0); /* the time begins */
    ASSERT_CONTAINS(text, "a word\r\n");
    ASSERT_CONTAINS(text, "another\r\n");
    close_terminal();
}

static void it_is_silent_where_it_would_be_in_the_way(void) {
    struct status_line line;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    status_line_open(&line, ends[1]);
    CU_ASSERT_FALSE(status_line_due(&line, clock_now()));
    status_line_show(&line, clock_now(), "lost");
    status_line_close(&line);
    (void)close(ends[1]);
    char byte = 0;
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
    open_terminal(80);
    (void)setenv("TERM", "dumb", 1);
    status_line_open(&line, terminal);
    CU_ASSERT_FALSE(status_line_due(&line, clock_now()));
    (void)unsetenv("TERM");
    status_line_open(&line, terminal);
    CU_ASSERT_FALSE(status_line_due(&line, clock_now()));
    close_terminal();
}

static void its_texts_say_where_things_stand(void) {
    char text[STATUS_LINE_MAX];
    struct status_training at = {.steps = 400};
    status_text_training(text, &at);
    CU_ASSERT_STRING_EQUAL(text, "step 0/400");
    at = (struct status_training){.step = 100,
                                  .steps = 400,
                                  .epoch = 2.5,
                                  .loss = 1.25,
                                  .step_seconds = 0.5,
                                  .step_images = 64};
    status_text_training(text, &at);
    CU_ASSERT_STRING_EQUAL(text, "step 100/400  epoch 2.50  128 images/s  loss 1.2500  ETA 2:30");
    status_text_evaluation(text, 0, 800, 0.5);
    CU_ASSERT_STRING_EQUAL(text, "evaluating: 0/800 images");
    status_text_evaluation(text, 64, 800, 8);
    CU_ASSERT_STRING_EQUAL(text, "evaluating: 64/800 images  8 images/s  ETA 1:32");
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
           UNIT(log_lines_stand_on_lines_of_their_own),
           UNIT(it_is_silent_where_it_would_be_in_the_way), UNIT(its_texts_say_where_things_stand))
