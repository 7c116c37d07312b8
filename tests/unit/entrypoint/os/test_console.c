#include "entrypoint/os/console.h"

#include "common/clock.h"
#include "tests/support/pty.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/* Nobody reads for a while: the loop must not stall, and lost output must be reported. */
static void a_full_pipe_blocks_nothing_and_losses_are_counted(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    open_on(ends[1]);
    char line[1001];
    memset(line, 'x', sizeof(line));
    line[1000] = '\n';
    int64_t start = clock_now();
    for (int i = 0; i < 4000; i++)
        console_line(&console, line, sizeof(line));
    run_for(50 * CLOCK_MILLISECOND);
    CU_ASSERT(clock_now() - start < 60 * CLOCK_SECOND); /* which else would have no end */
    CU_ASSERT(console.dropped_ever > 1600);
    size_t whole = 0;
    bool told = false;
    pid_t reader = fork();
    if (reader == 0) {
        (void)close(ends[1]);
        (void)close(console.writer.fd);
        FILE *file = fdopen(ends[0], "r");
        char got[2048];
        while (fgets(got, sizeof(got), file) != NULL) {
            whole += strlen(got) == 1001;
            told = told || strstr(got, "lines dropped") != NULL;
        }
        _exit(whole + 0 == 4000 - console.dropped_ever && told ? 0 : 1);
    }
    (void)close(ends[0]);
    /* Before a flush, which leaves out what is too much for its deadline. */
    for (int64_t end_of_wait = clock_now() + 60 * CLOCK_SECOND;
         console_waiting(&console) > 0 && clock_now() < end_of_wait;)
        run_for(20 * CLOCK_MILLISECOND);
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
    CU_ASSERT_EQUAL(console_waiting(&console), 0);
    close_all();
    (void)close(ends[1]);
}

enum { READER_TRIES = 5 };

/* Of the last slow reader, which has half a second for the end: since when it reads, and how late
 * it or its writer woke at most. */
static int64_t reader_since;
static int64_t reader_late;

/* What a writer ends with that had to wait for a processor in its last second. */
enum { WRITER_WAS_LATE = 7 };

/* How long this thread has waited for a processor in all; 0 where the kernel does not tell. */
static int64_t waited_for_processor(void) {
    long long waited = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file != NULL && fscanf(file, "%*s %lld", &waited) != 1)
        waited = 0;
    if (file != NULL)
        (void)fclose(file);
    return waited;
}

/* Flushes within SECONDS; returns whether it had the processor when it wanted it. */
static bool flush_in_time(int64_t seconds) {
    const int64_t before = waited_for_processor();
    console_flush(&console, clock_now() + seconds * CLOCK_SECOND);
    return waited_for_processor() - before < CLOCK_SECOND / 5;
}

static void end_writer(pid_t writer) {
    int status = 1;
    CU_ASSERT_EQUAL(waitpid(writer, &status, 0), writer);
    CU_ASSERT(WIFEXITED(status));
    if (WEXITSTATUS(status) == WRITER_WAS_LATE)
        reader_late = CLOCK_SECOND;
    else
        CU_ASSERT_EQUAL(status, 0);
}

/* On a busy machine; then what it heard proves nothing, and it is tried again. */
static bool reader_was_late(int tries) {
    const bool late = reader_late >= CLOCK_SECOND / 5;
    if (late && tries == READER_TRIES)
        unit_skip("processes wake too late on this machine");
    return late;
}

/* So many bytes a second from FROM into ALL until its end, as the clock has it: a reader that wakes
 * late reads more. All there is for a rate of 0. */
static size_t read_slowly(int from, size_t rate, char *all, size_t max) {
    const int64_t start = reader_since;
    int64_t last = start;
    size_t size = 0;
    for (reader_late = 0;; last = clock_now()) {
        (void)poll(NULL, 0, rate > 0 ? 100 : 0);
        const int64_t late = clock_now() - last - 100 * CLOCK_MILLISECOND;
        reader_late = late > reader_late ? late : reader_late;
        size_t until =
            rate > 0 ? (size_t)((clock_now() - start) * (int64_t)rate / CLOCK_SECOND) : max;
        ssize_t got = 1;
        while (got > 0 && size < until && size < max) {
            got = read(from, all + size, (until < max ? until : max) - size);
            size += got > 0 ? (size_t)got : 0;
        }
        if (got <= 0 || size >= max)
            return size;
    }
}

static char all[4 * 1024 * 1024];

/* Far more lines than a slow reader takes, then a word of ours, one more line, and the end. */
static void leave_after_many_lines(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)fcntl(ends[1], F_SETPIPE_SZ, 4096); /* less to wait for in this test */
    reader_since = clock_now();
    pid_t writer = fork();
    if (writer == 0) {
        (void)close(ends[0]);
        open_on(ends[1]);
        for (int i = 0; i < 50000; i++) {
            char line[128];
            int size = snprintf(line, sizeof(line),
                                "[a rank 0] line %07d of what nobody needs to know\n", i);
            console_line(&console, line, (size_t)size);
            if (i % 10000 == 0)
                run_for(20 * CLOCK_MILLISECOND);
        }
        console_line(&console, "[a rank 0] the real cause\n", 26);
        console_word(&console, "leaving with 9\n", 15);
        const bool in_time = flush_in_time(1);
        _exit(console.dropped_ever == 0 ? 1 : in_time ? 0 : WRITER_WAS_LATE);
    }
    (void)close(ends[1]);
    all[read_slowly(ends[0], CONSOLE_READER_LEAST, all, sizeof(all) - 1)] = '\0';
    (void)close(ends[0]);
    end_writer(writer);
}

static void a_slow_reader_hears_the_end(void) {
    int tries = 0;
    do
        leave_after_many_lines();
    while (reader_was_late(++tries) && tries < READER_TRIES);
    if (reader_was_late(0))
        return;
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\nleaving with 9\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "line 0049999 of"));
    CU_ASSERT_PTR_NOT_NULL(strstr(all, "\n[a rank 0] the real cause\n"));
    const char *told = strstr(all, " in all: this log is read too slowly");
    CU_ASSERT_PTR_NOT_NULL(told);
    size_t whole = 0;
    for (const char *at = all; (at = strstr(at, "] line ")) != NULL; at++)
        whole++;
    unsigned long long dropped = 0;
    for (const char *at = all; (at = strstr(at, "lines dropped here, ")) != NULL; at++)
        dropped = strtoull(at + strlen("lines dropped here, "), NULL, 10);
    CU_ASSERT_EQUAL(whole + dropped, 50000);
}

/* A program's last words, more than a pipe holds, come while the reader does something else. */
static void a_reader_who_is_late_at_the_end_loses_nothing(void) {
    int ends[2];
    enum { LINES = 6000 };
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    reader_since = clock_now();
    pid_t writer = fork();
    if (writer == 0) {
        (void)close(ends[0]);
        open_on(ends[1]);
        for (int i = 0; i < LINES; i++) {
            char line[64];
            int size = snprintf(line, sizeof(line), "[a rank 0] line %07d of all\n", i);
            console_line(&console, line, (size_t)size);
        }
        console_word(&console, "done\n", 5);
        console_flush(&console, clock_now() + 60 * CLOCK_SECOND);
        _exit(console.dropped_ever == 0 ? 0 : 1);
    }
    (void)close(ends[1]);
    (void)poll(NULL, 0, 300);
    all[read_slowly(ends[0], 0, all, sizeof(all) - 1)] = '\0';
    size_t whole = 0;
    for (const char *at = all; (at = strstr(at, " of all\n")) != NULL; at++)
        whole++;
    CU_ASSERT_EQUAL(whole, LINES);
    ASSERT_CONTAINS(all, "\ndone\n");
    (void)close(ends[0]);
    int status = 1;
    (void)waitpid(writer, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

/* A writer leaves while a line of a mebibyte is on its way to its reader (read_slowly). */
static void leave_in_a_long_line(size_t rate, int64_t seconds) {
    int ends[2];
    enum { SIZE = 1024 * 1024 };
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
    reader_since = clock_now();
    pid_t writer = fork();
    if (writer == 0) {
        (void)close(ends[0]);
        open_on(ends[1]);
        memset(all, 'x', SIZE);
        all[SIZE - 1] = '\n';
        console_line(&console, all, SIZE);
        console_line(&console, "[a rank 0] the real cause\n", 26);
        run_for(50 * CLOCK_MILLISECOND);
        console_word(&console, "leaving with 9\n", 15);
        _exit(flush_in_time(seconds) ? 0 : WRITER_WAS_LATE);
    }
    (void)close(ends[1]);
    all[read_slowly(ends[0], rate, all, sizeof(all) - 1)] = '\0';
    end_writer(writer);
    (void)close(ends[0]);
}

/* It keeps nobody from hearing how the job ended. */
static void a_long_line_is_cut_for_a_slow_reader_alone(void) {
    int tries = 0;
    do
        leave_in_a_long_line(CONSOLE_READER_LEAST, 1);
    while (reader_was_late(++tries) && tries < READER_TRIES);
    if (!reader_was_late(0))
        ASSERT_CONTAINS(all, "xxx [cut: this log is read too slowly]\nleaving with 9\n"
                             "[a rank 0] the real cause\n");
    leave_in_a_long_line(0, 60);
    CU_ASSERT_PTR_NULL(strstr(all, "cut"));
    CU_ASSERT_EQUAL(strspn(all, "x"), 1024 * 1024 - 1);
    ASSERT_CONTAINS(all, "\nleaving with 9\n");
    ASSERT_CONTAINS(all, "\n[a rank 0] the real cause\n");
}

static size_t read_now(int from) {
    ssize_t got = read(from, all, sizeof(all) - 1);
    all[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Words pass the lines that wait, but never into the middle of one. */
static void words_go_first_and_between_lines(void) {
    int ends[2];
    static char line[20001];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
    open_on(ends[1]);
    memset(line, 'x', sizeof(line));
    line[20000] = '\n';
    console_line(&console, "early\n", 6);
    console_word(&console, "in order\n", 9);
    CU_ASSERT_EQUAL(read_now(ends[0]), 15);
    CU_ASSERT_STRING_EQUAL(all, "early\nin order\n");
    console_line(&console, line, sizeof(line));
    console_line(&console, "waits\n", 6);
    run_for(20 * CLOCK_MILLISECOND); /* a part of the long one goes */
    console_word(&console, "word\n", 5);
    struct buf got;
    buf_init(&got, 1 << 20);
    for (int i = 0; i < 20; i++) {
        size_t size = read_now(ends[0]);
        (void)buf_add(&got, all, size, NULL);
        run_for(5 * CLOCK_MILLISECOND);
    }
    CU_ASSERT_EQUAL(strncmp(buf_text(&got), "xxxx", 4), 0);
    CU_ASSERT_EQUAL_FATAL(got.size, sizeof(line) + 5 + 6);
    CU_ASSERT_STRING_EQUAL(got.data + sizeof(line), "word\nwaits\n");
    buf_done(&got);
    close_all();
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void the_oldest_lines_go_and_words_stay(void) {
    int ends[2];
    char line[100];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
    open_on(ends[1]);
    while (write(console.writer.fd, "", 1) > 0)
        ; /* full */
    console_word(&console, "a word\n", 7);
    for (int i = 0; i < 100000; i++) {
        int size = snprintf(line, sizeof(line), "line %06d, and some more of that\n", i);
        console_line(&console, line, (size_t)size);
    }
    CU_ASSERT(console.lines.bytes.size <= CONSOLE_QUEUE_MAX);
    CU_ASSERT(console.lines.bytes.size >= CONSOLE_QUEUE_MAX / 2);
    CU_ASSERT_STRING_EQUAL(buf_text(&console.words.bytes), "a word\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_text(&console.lines.bytes), "line 099999, and"));
    CU_ASSERT_EQUAL(strncmp(buf_text(&console.lines.bytes), "line ", 5), 0);
    CU_ASSERT_EQUAL(console.dropped_ever, strtoull(buf_text(&console.lines.bytes) + 5, NULL, 10));
    console_count_dropped(&console, 7);
    CU_ASSERT_EQUAL(console.dropped, console.dropped_ever);
    close_all();
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* A file that may not grow for a while, as on a disk without room: what was printed then comes out
 * when it may, and what there was no room for in the queue is counted. */
static void a_file_without_room_is_written_when_there_is_some_again(void) {
    char path[256];
    char line[1001];
    struct rlimit before;
    (void)signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)snprintf(path, sizeof(path), "%s/log", unit_temp_dir());
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    CU_ASSERT_FATAL(fd >= 0);
    open_on(fd);
    const struct rlimit small = {.rlim_cur = 2048, .rlim_max = before.rlim_max};
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 2 * CONSOLE_QUEUE_MAX / 1000; i++)
        console_line(&console, line, sizeof(line));
    console_word(&console, "a word\n", 7);
    run_for(100 * CLOCK_MILLISECOND);
    CU_ASSERT(lseek(fd, 0, SEEK_END) <= 2048);
    CU_ASSERT_FALSE(console.broken);
    CU_ASSERT(console.dropped_ever > 0);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    run_for(1500 * CLOCK_MILLISECOND);
    CU_ASSERT_EQUAL(console_waiting(&console), 0);
    static char text[4 * CONSOLE_QUEUE_MAX];
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
    CU_ASSERT(size > CONSOLE_QUEUE_MAX / 2);
    text[size > 0 ? size : 0] = '\0';
    ASSERT_CONTAINS(text, "a word\n");
    ASSERT_CONTAINS(text, "this log could not be written for a while");
    close_all();
    (void)close(fd);
}

/* The status line is the last one: lines come above it, and the end of the output takes it away. */
static void a_status_line_stays_below_all_lines(void) {
    struct pty pty = pty_open(40);
    open_on(pty.terminal);
    CU_ASSERT(console_is_terminal(&console));
    console_status(&console, -1, "step 1");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[Kstep 1");
    console_word(&console, "one\n", 4);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[Kone\r\n\r\x1b[Kstep 1");
    console_line(&console, "two\n", 4);
    run_for(20 * CLOCK_MILLISECOND);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[Ktwo\r\n\r\x1b[Kstep 1");
    console_status(&console, -1, "step 2");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[Kstep 2");
    console_status(&console, -1, "");
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K");
    console_word(&console, "three\n", 6);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "three\r\n");
    console_status(&console, -1, "step 3");
    (void)pty_seen(&pty);
    console_flush(&console, clock_now() + CLOCK_SECOND);
    CU_ASSERT_STRING_EQUAL(pty_seen(&pty), "\r\x1b[K");
    close_all();
    pty_close(&pty);
}

static void pipes_get_no_status_line(void) {
    int ends[2];
    char text[64] = "";
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    open_on(ends[1]);
    CU_ASSERT_FALSE(console_is_terminal(&console));
    console_status(&console, 0.5, "step 1");
    console_word(&console, "one\n", 4);
    CU_ASSERT_EQUAL(read(ends[0], text, sizeof(text)), 4);
    close_all();
    (void)close(ends[0]);
    (void)close(ends[1]);
}

UNIT_SUITE("os.console", UNIT(a_status_line_stays_below_all_lines), UNIT(pipes_get_no_status_line),
           UNIT(lines_pass_through_a_pipe_in_order),
           UNIT(a_full_pipe_blocks_nothing_and_losses_are_counted), UNIT(a_plain_file_works_too),
           UNIT(a_closed_pipe_ends_the_writing_not_the_process), UNIT(a_slow_reader_hears_the_end),
           UNIT(a_reader_who_is_late_at_the_end_loses_nothing),
           UNIT(a_long_line_is_cut_for_a_slow_reader_alone), UNIT(words_go_first_and_between_lines),
           UNIT(the_oldest_lines_go_and_words_stay),
           UNIT(a_file_without_room_is_written_when_there_is_some_again))
