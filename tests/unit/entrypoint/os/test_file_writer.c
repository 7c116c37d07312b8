#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/os/file_writer.h"
#include "entrypoint/os/file_writer_process.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A disk that stalls: in place of the library's. */
static bool stalls;

int flock(int fd, int operation) {
    while (stalls)
        (void)pause();
    return (int)syscall(SYS_flock, fd, operation);
}

static struct loop loop;
static struct reaper reaper;
static struct file_writer writer;
static struct timer deadline;
static char base[512];
static char folder[600];
static char said[1024];
static unsigned said_count;

static void keep(void *context, const char *text) {
    (void)context;
    said_count++;
    (void)snprintf(said, sizeof(said), "%s", text);
}

static void on_signal(void *context, int number) {
    (void)context;
    (void)number;
    (void)reaper_run(&reaper);
    if (writer.child.pid == 0)
        loop_end(&loop);
}

static void give_up(void *context) {
    (void)context;
    loop_end(&loop);
}

static void open_on(const char *name, size_t queue_max) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)snprintf(base, sizeof(base), "%s/%s", unit_temp_dir(), name);
    (void)snprintf(folder, sizeof(folder), "%s/data", base);
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(&loop, &set, on_signal, NULL, NULL), 0);
    const struct file_writer_options options = {
        .base = base, .folder = folder, .queue_max = queue_max, .said = keep};
    said[0] = '\0';
    said_count = 0;
    file_writer_open(&writer, &loop, &reaper, &options);
}

static bool put(const char *line) {
    return file_writer_put(&writer, "a.log", 1 << 20, line, strlen(line));
}

/* Until the child has ended, or for SECONDS. */
static void run(int seconds) {
    loop.ended = false;
    deadline = (struct timer){.fire = give_up};
    loop_after(&loop, &deadline, seconds * CLOCK_SECOND);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    loop_cancel(&loop, &deadline);
}

/* A child that works has the time that it needs. */
static bool shut(void) {
    held_clock_begin();
    if (!stalls)
        held_clock_await_others();
    bool complete = file_writer_close(&writer);
    held_clock_end();
    loop_done(&loop);
    return complete;
}

static size_t size_of_file(void) {
    char path[700];
    cleanup_buf struct buf got;
    buf_init(&got, 1 << 22);
    (void)snprintf(path, sizeof(path), "%s/a.log", folder);
    return file_read(path, &got, NULL) == 0 ? got.size : 0;
}

static void lines_are_written_before_it_rests(void) {
    open_on("rest", 1 << 16);
    CU_ASSERT(put("one\n"));
    CU_ASSERT(put("two\n"));
    file_writer_rest(&writer);
    CU_ASSERT(writer.child.pid > 0);
    run(60);
    CU_ASSERT_EQUAL(writer.child.pid, 0);
    CU_ASSERT_EQUAL(size_of_file(), 8);
    CU_ASSERT(put("three\n")); /* and it wakes */
    run(1);                    /* the timer starts a child, which then waits for more */
    CU_ASSERT(writer.child.pid > 0);
    file_writer_rest(&writer);
    run(60);
    CU_ASSERT_EQUAL(size_of_file(), 14);
    CU_ASSERT(shut());
    CU_ASSERT_EQUAL(said_count, 0);
}

/* If a process leaves at once, as with a wrong setting, its loop does not run. */
static void what_was_not_told_to_rest_is_written_as_it_closes(void) {
    open_on("begun", 1 << 16);
    CU_ASSERT(put("one\n"));
    run(1); /* the timer starts a child, which then waits for more */
    CU_ASSERT(writer.child.pid > 0);
    CU_ASSERT(put("two\n"));
    CU_ASSERT(shut());
    CU_ASSERT_EQUAL(size_of_file(), 8);
    open_on("hurry", 1 << 16);
    CU_ASSERT(put("one\n"));
    CU_ASSERT_EQUAL(writer.child.pid, 0);
    CU_ASSERT(shut());
    CU_ASSERT_EQUAL(size_of_file(), 4);
}

static void nothing_to_write_starts_no_child(void) {
    open_on("nothing", 1 << 16);
    file_writer_rest(&writer);
    CU_ASSERT_EQUAL(writer.child.pid, 0);
    CU_ASSERT(shut());
    writer = (struct file_writer){0};
    CU_ASSERT(file_writer_close(&writer)); /* never opened */
}

/* More than a socket takes at once goes out as there is room. */
static void much_comes_whole(void) {
    static char line[60000];
    memset(line, 'z', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    open_on("much", 4 << 20);
    size_t count = 0;
    while (count < 15 && put(line))
        count++;
    CU_ASSERT_EQUAL(count, 15);
    file_writer_rest(&writer);
    run(60);
    CU_ASSERT_EQUAL(writer.queue.size, 0);
    char path[700];
    (void)snprintf(path, sizeof(path), "%s/a.log.1", folder);
    cleanup_buf struct buf old;
    buf_init(&old, 1 << 22);
    CU_ASSERT_EQUAL(file_read(path, &old, NULL), 0);
    CU_ASSERT_EQUAL(size_of_file() + old.size, 15 * strlen(line));
    CU_ASSERT(shut());
}

static void nobody_waits_for_a_disk_that_stalls(void) {
    static char line[1000];
    memset(line, 'z', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    open_on("stall", 1 << 20); /* more than a socket takes */
    stalls = true;
    held_clock_begin();
    int64_t begun = clock_now();
    for (int i = 0; i < 5000; i++)
        (void)put(line);
    file_writer_rest(&writer);
    for (int i = 0; i < 5000; i++)
        (void)put(line);
    CU_ASSERT_EQUAL(clock_now(), begun); /* nor for anything else */
    held_clock_end();
    CU_ASSERT(writer.dropped > 0);
    CU_ASSERT(writer.queue.size <= 1 << 20);
    CU_ASSERT(writer.child.pid > 0);
    CU_ASSERT_FALSE(shut()); /* it was not complete */
    stalls = false;
}

/* A child that was killed takes with it what it had; what follows is whole lines. */
static void after_a_child_that_died_another_goes_on(void) {
    open_on("killed", 1 << 16);
    CU_ASSERT(put("one\n"));
    for (int i = 0; i < 60 && size_of_file() == 0; i++)
        run(1);
    CU_ASSERT_FATAL(writer.child.pid > 0);
    (void)kill(writer.child.pid, SIGKILL);
    run(60);
    CU_ASSERT_EQUAL(writer.child.pid, 0);
    CU_ASSERT(put("two\n"));
    file_writer_rest(&writer);
    run(60);
    CU_ASSERT_EQUAL(size_of_file(), 8);
    CU_ASSERT(shut());
}

static void what_went_wrong_is_reported_once(void) {
    open_on("wrong", 1 << 16);
    writer.options.base = "/proc/nowhere";
    CU_ASSERT(put("one\n"));
    CU_ASSERT(put("two\n"));
    file_writer_rest(&writer);
    run(60);
    CU_ASSERT_EQUAL(said_count, 1);
    ASSERT_CONTAINS(said, "/proc/nowhere: the directory does not exist");
    CU_ASSERT(shut());
}

static void what_is_too_long_is_dropped(void) {
    static char line[LINE_SPLITTER_MAX + 2];
    char name[LOG_FILE_NAME_SIZE + 1];
    open_on("long", 8 << 20);
    memset(line, 'x', sizeof(line) - 1);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CU_ASSERT_FALSE(file_writer_put(&writer, "a.log", 1 << 20, line, LINE_SPLITTER_MAX + 1));
    CU_ASSERT_FALSE(file_writer_put(&writer, name, 1 << 20, "x\n", 2));
    CU_ASSERT_EQUAL(writer.dropped, 2);
    CU_ASSERT(shut());
}

UNIT_SUITE("os.file_writer", UNIT(lines_are_written_before_it_rests),
           UNIT(what_was_not_told_to_rest_is_written_as_it_closes),
           UNIT(nothing_to_write_starts_no_child), UNIT(much_comes_whole),
           UNIT(nobody_waits_for_a_disk_that_stalls), UNIT(after_a_child_that_died_another_goes_on),
           UNIT(what_went_wrong_is_reported_once), UNIT(what_is_too_long_is_dropped))
