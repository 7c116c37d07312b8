#include "entrypoint/console.h"

#include "common/clock.h"
#include "support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct loop loop;
static struct console console;

static void end(void *context) {
    loop_end(context);
}

static void run_for(int64_t nanoseconds) {
    struct error err;
    struct timer t = {.fire = end, .context = &loop};
    loop_after(&loop, &t, nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
}

static void open_on(int fd) {
    struct error err;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    console_init(&console, &loop, fd);
}

static void close_all(void) {
    console_done(&console);
    loop_done(&loop);
}

static void lines_pass_through_a_pipe_in_order(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    open_on(ends[1]);
    console_line(&console, "one\n", 4);
    console_line(&console, "two\n", 4);
    run_for(20 * CLOCK_MILLISECOND);
    char text[16] = "";
    CU_ASSERT_EQUAL(read(ends[0], text, sizeof(text)), 8);
    CU_ASSERT_STRING_EQUAL(text, "one\ntwo\n");
    close_all();
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Nobody reads for a while: the loop must not stand, and what is lost must be told. */
static void a_full_pipe_blocks_nothing_and_losses_are_counted(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    open_on(ends[1]);
    char line[1001];
    memset(line, 'x', sizeof(line));
    line[1000] = '\n';
    int64_t start = clock_now();
    for (int i = 0; i < 2000; i++)
        console_line(&console, line, sizeof(line));
    run_for(50 * CLOCK_MILLISECOND);
    CU_ASSERT(clock_now() - start < 2 * CLOCK_SECOND);
    CU_ASSERT(console.dropped_ever > 800);
    size_t whole = 0;
    bool told = false;
    pid_t reader = fork();
    if (reader == 0) {
        (void)close(ends[1]);
        (void)close(console.outlet.fd);
        FILE *file = fdopen(ends[0], "r");
        char got[2048];
        while (fgets(got, sizeof(got), file) != NULL) {
            whole += strlen(got) == 1001;
            told = told || strstr(got, "lines dropped") != NULL;
        }
        _exit(whole + 0 == 2000 - console.dropped_ever && told ? 0 : 1);
    }
    (void)close(ends[0]);
    run_for(200 * CLOCK_MILLISECOND);
    console_flush(&console, clock_now() + CLOCK_SECOND);
    close_all();
    (void)close(ends[1]);
    int status = 1;
    (void)waitpid(reader, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

static void a_plain_file_works_too(void) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/log", unit_temp_dir());
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    open_on(fd);
    console_line(&console, "kept\n", 5);
    char text[8] = "";
    CU_ASSERT_EQUAL(pread(fd, text, sizeof(text), 0), 5);
    CU_ASSERT_STRING_EQUAL(text, "kept\n");
    close_all();
    (void)close(fd);
}

static void a_closed_pipe_ends_the_writing_not_the_process(void) {
    int ends[2];
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)close(ends[0]);
    open_on(ends[1]);
    console_line(&console, "lost\n", 5);
    run_for(20 * CLOCK_MILLISECOND);
    CU_ASSERT(console.broken);
    console_line(&console, "lost\n", 5);
    CU_ASSERT_EQUAL(console.queue.size, 0);
    close_all();
    (void)close(ends[1]);
}

UNIT_MAIN("entrypoint.console", UNIT(lines_pass_through_a_pipe_in_order),
          UNIT(a_full_pipe_blocks_nothing_and_losses_are_counted), UNIT(a_plain_file_works_too),
          UNIT(a_closed_pipe_ends_the_writing_not_the_process))
