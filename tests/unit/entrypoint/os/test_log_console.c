#include "entrypoint/os/console.h"

#include "common/clock.h"
#include "tests/support/lag.h"
#include "tests/support/unit.h"

#include <string.h>
#include <unistd.h>

static struct loop loop;
static struct console out;
static struct log_console words;
static int printed[2];
static int said[2];

static void open_all(int words_fd) {
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    console_init(&out, &loop, printed[1]);
    log_console_open(&words, &loop, words_fd, &out);
}

static void close_all(void) {
    int64_t deadline = clock_now() + CLOCK_SECOND / 10;
    console_flush(&out, deadline);
    log_console_close(&words, deadline);
    console_done(&out);
    loop_done(&loop);
}

static const char *read_from(int fd) {
    static char text[4096];
    ssize_t got = read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    return text;
}

static void they_go_out_before_the_loop_turns(void) {
    CU_ASSERT_EQUAL_FATAL(pipe(printed) | pipe(said), 0);
    open_all(said[1]);
    log_info("at once");
    ASSERT_CONTAINS(read_from(said[0]), "at once\n");
    close_all();
}

static void where_both_streams_are_one_the_order_is_kept(void) {
    open_all(printed[1]);
    console_line(&out, "printed\n", 8);
    log_info("said");
    const char *text = read_from(printed[0]);
    ASSERT_CONTAINS(text, "said\n");
    CU_ASSERT_EQUAL(strncmp(text, "printed\n", 8), 0);
    close_all();
}

static void nobody_reading_them_stops_nothing(void) {
    open_all(said[1]);
    /* A writer that waits for a reader waits for ever: the alarm ends the program. */
    (void)alarm(60);
    for (int i = 0; i < 20000; i++)
        log_info("word number %d, of which nobody wants to hear", i);
    (void)alarm(0);
    CU_ASSERT(words.own.dropped_ever > 0);
    struct lag lag;
    lag_begin(&lag);
    close_all();
    ASSERT_WITHIN(&lag, CLOCK_SECOND);
}

UNIT_SUITE("os.log_console", UNIT(they_go_out_before_the_loop_turns),
           UNIT(where_both_streams_are_one_the_order_is_kept),
           UNIT(nobody_reading_them_stops_nothing))
