#include "entrypoint/os/pipe_reader.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <string.h>
#include <unistd.h>

static struct loop loop;
static struct buf seen;

static void keep(void *context, const char *line, size_t size) {
    (void)context;
    CU_ASSERT_EQUAL(buf_add(&seen, line, size, NULL), 0);
}

static void end(void *context) {
    loop_end(context);
}

static void run_for(int64_t nanoseconds) {
    struct error err;
    struct timer t = {.fire = end, .context = &loop};
    loop_after(&loop, &t, nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
}

static void lines_are_read_to_the_end_of_the_pipe(void) {
    struct pipe_reader t;
    struct tail tail = {.size = 0};
    struct error err;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err) | pipe(ends), 0);
    buf_init(&seen, 4096);
    CU_ASSERT_EQUAL(pipe_reader_open(&t, &loop, ends[0], "[x] ", &tail, keep, NULL, &err), 0);
    CU_ASSERT_EQUAL(write(ends[1], "one\ntw", 6), 6);
    run_for(20 * CLOCK_MILLISECOND);
    CU_ASSERT_STRING_EQUAL(buf_text(&seen), "[x] one\n");
    CU_ASSERT_EQUAL(write(ends[1], "o", 1), 1);
    (void)close(ends[1]);
    run_for(20 * CLOCK_MILLISECOND);
    CU_ASSERT_STRING_EQUAL(buf_text(&seen), "[x] one\n[x] two\n");
    CU_ASSERT_EQUAL(t.watch.fd, -1);
    CU_ASSERT_STRING_EQUAL(tail.text, "one\ntwo");
    pipe_reader_close(&t);
    buf_done(&seen);
    loop_done(&loop);
}

/* A surviving process may hold the other end for ever. */
static void closing_reads_what_is_there_and_waits_for_nobody(void) {
    struct pipe_reader t;
    struct error err;
    int ends[2];
    char text[50000];
    memset(text, 'y', sizeof(text));
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err) | pipe(ends), 0);
    buf_init(&seen, 100000);
    CU_ASSERT_EQUAL(pipe_reader_open(&t, &loop, ends[0], "", NULL, keep, NULL, &err), 0);
    CU_ASSERT_EQUAL(write(ends[1], text, sizeof(text)), (ssize_t)sizeof(text));
    pipe_reader_close(&t);
    size_t count = 0;
    for (size_t i = 0; i < seen.size; i++)
        count += seen.data[i] == 'y';
    CU_ASSERT_EQUAL(count, sizeof(text));
    pipe_reader_close(&t);
    (void)close(ends[1]);
    buf_done(&seen);
    loop_done(&loop);
}

/* A program has ended, its child has not. */
static void after_draining_others_are_still_heard(void) {
    struct pipe_reader t;
    struct error err;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err) | pipe(ends), 0);
    buf_init(&seen, 4096);
    CU_ASSERT_EQUAL(pipe_reader_open(&t, &loop, ends[0], "[x] ", NULL, keep, NULL, &err), 0);
    CU_ASSERT_EQUAL(write(ends[1], "end", 3), 3);
    pipe_reader_drain(&t);
    CU_ASSERT_STRING_EQUAL(buf_text(&seen), "[x] end\n");
    CU_ASSERT_EQUAL(write(ends[1], "more\n", 5), 5);
    run_for(20 * CLOCK_MILLISECOND);
    CU_ASSERT_STRING_EQUAL(buf_text(&seen), "[x] end\n[x] more\n");
    (void)close(ends[1]);
    pipe_reader_drain(&t);
    CU_ASSERT_EQUAL(t.watch.fd, -1);
    pipe_reader_drain(&t);
    pipe_reader_close(&t);
    buf_done(&seen);
    loop_done(&loop);
}

UNIT_SUITE("os.pipe_reader", UNIT(lines_are_read_to_the_end_of_the_pipe),
           UNIT(closing_reads_what_is_there_and_waits_for_nobody),
           UNIT(after_draining_others_are_still_heard))
