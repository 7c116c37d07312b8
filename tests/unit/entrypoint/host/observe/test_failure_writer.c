#include "entrypoint/host/observe/failure_writer.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "entrypoint/host/observe/output_lock.h"
#include "tests/support/ended.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A disk that stalls: in place of the library's. */
static bool stalls;
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    while (stalls)
        (void)pause();
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

/* A container that is full of processes, likewise. */
static bool is_full;
pid_t fork(void) {
    pid_t (*librarys)(void) = NULL;
    *(void **)&librarys = dlsym(RTLD_NEXT, "fork");
    errno = EAGAIN;
    return is_full ? -1 : librarys();
}

static char said[4096];
static struct reaper reaper;
static struct failure_writer child;
static char base[512];

static void keep(void *context, const char *line, size_t size) {
    (void)context;
    (void)snprintf(said, sizeof(said), "%.*s", (int)size, line);
}

static void open_on(const char *folder) {
    (void)log_set_sink((struct log_sink){.put = keep});
    said[0] = '\0';
    snprintf(base, sizeof(base), "%s/%s", unit_temp_dir(), folder);
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    failure_writer_open(&child, &reaper, base);
}

/* In place of the library's, as others may fill the disk. */
int fsync(int fd) {
    (void)fd;
    return 0;
}

/* A child has the time that it needs. */
static void run(const char *folder, bool clear, const struct verdict *verdict) {
    held_clock_begin();
    held_clock_await_others();
    failure_writer_run(folder, clear, verdict);
    held_clock_end();
}

static void await_end(void) {
    if (child.child.pid > 0 && ended_within(child.child.pid, 60 * 1000))
        (void)reaper_run(&reaper);
    CU_ASSERT_EQUAL(child.child.pid, 0);
}

static bool is_there(const char *file) {
    char path[600];
    snprintf(path, sizeof(path), "%s/output/%s", base, file);
    return access(path, F_OK) == 0;
}

static const struct verdict good = {.code = 0, .class_name = "ok"};
static const struct verdict bad = {.code = 42, .class_name = "program", .text = "rank 2: exited"};

static void a_job_that_succeeds_leaves_nothing(void) {
    open_on("good");
    failure_writer_prepare(&child);
    await_end();
    CU_ASSERT(is_there(".failure-reserve"));
    CU_ASSERT(is_there(".failure-owner"));
    failure_writer_conclude(&child, &good);
    await_end();
    CU_ASSERT_FALSE(is_there(".failure-reserve"));
    CU_ASSERT_FALSE(is_there(".failure-owner"));
    CU_ASSERT_FALSE(is_there("failure"));
    CU_ASSERT_STRING_EQUAL(said, "");
    failure_writer_close(&child);
}

static void a_job_that_fails_leaves_its_story(void) {
    open_on("bad");
    failure_writer_conclude(&child, &bad);
    await_end();
    CU_ASSERT(is_there("failure"));
    CU_ASSERT_STRING_EQUAL(said, "");
    failure_writer_conclude(&child, &bad); /* a later verdict leaves ours, and says nothing */
    await_end();
    CU_ASSERT_STRING_EQUAL(said, "");
    CU_ASSERT(is_there("failure"));
    child.written = false;
    failure_writer_conclude(&child, &bad); /* the next one finds a file that is not its own */
    await_end();
    ASSERT_CONTAINS(said, "is kept");
    failure_writer_prepare(&child);
    await_end();
    CU_ASSERT_FALSE(is_there("failure"));
    failure_writer_close(&child);
}

/* Until all is uploaded the folder is still this process's. */
static void an_early_verdict_is_not_the_last_word(void) {
    open_on("early");
    failure_writer_prepare(&child);
    await_end();
    failure_writer_conclude_early(&child, &bad);
    await_end();
    CU_ASSERT(is_there("failure"));
    CU_ASSERT(is_there(".failure-owner"));
    failure_writer_conclude(&child, &bad);
    await_end();
    CU_ASSERT(is_there("failure"));
    CU_ASSERT_FALSE(is_there(".failure-owner"));
    CU_ASSERT_STRING_EQUAL(said, "");
    failure_writer_close(&child);
}

/* The beginning had no time to do its work. */
static void a_job_that_fails_at_once_leaves_its_own_story(void) {
    cleanup_buf struct buf text;
    char path[600];
    buf_init(&text, 1024);
    open_on("at-once");
    run(base, false, &bad);
    failure_writer_prepare(&child);
    struct verdict own = bad;
    snprintf(own.class_name, sizeof(own.class_name), "other");
    failure_writer_conclude(&child, &own);
    await_end();
    snprintf(path, sizeof(path), "%s/output/failure", base);
    CU_ASSERT_EQUAL(file_read(path, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "other: rank 2: exited\n");
    failure_writer_close(&child);
}

static void what_went_wrong_is_reported(void) {
    open_on("wrong");
    failure_writer_open(&child, &reaper, "/proc/1");
    failure_writer_conclude(&child, &bad);
    await_end();
    ASSERT_CONTAINS(said, "was not written: /proc/1/output");
    failure_writer_close(&child);
    run("/proc/1", false, &bad);
    ASSERT_CONTAINS(said, "was not written: /proc/1/output");
}

static bool says(const char *file, const char *words) {
    char path[600];
    cleanup_buf struct buf text;
    buf_init(&text, 1024);
    snprintf(path, sizeof(path), "%s/output/%s", base, file);
    return file_read(path, &text, NULL) == 0 && strstr(buf_text(&text), words) != NULL;
}

static void leave(const char *file, const char *words) {
    char path[600];
    snprintf(path, sizeof(path), "%s/output", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/output/%s", base, file);
    CU_ASSERT_EQUAL(file_publish(path, words, strlen(words), 0644, NULL), 0);
}

/* The folder outlives jobs: the marks of yesterday's are not this one's, though no loop has run. */
static void a_job_that_never_began_clears_what_an_earlier_one_left(void) {
    open_on("never-began");
    leave("failure", "yesterday");
    leave("success", "");
    run(base, true, &bad);
    CU_ASSERT(says("failure", "program: rank 2: exited"));
    CU_ASSERT_FALSE(is_there("success"));
    CU_ASSERT_STRING_EQUAL(said, "");
    leave("failure", "the program's own");
    run(base, false, &bad);
    CU_ASSERT(says("failure", "the program's own"));
    ASSERT_CONTAINS(said, "is kept");
}

static void a_folder_that_is_not_there_is_not_made(void) {
    char path[600];
    open_on("machine");
    snprintf(path, sizeof(path), "%s/ml", base);
    failure_writer_open(&child, &reaper, path);
    failure_writer_prepare(&child);
    await_end();
    failure_writer_conclude(&child, &bad);
    await_end();
    ASSERT_CONTAINS(said, "info");
    ASSERT_CONTAINS(said, "no failure file: ");
    ASSERT_CONTAINS(said, "/ml: the directory does not exist and is not created; a volume on ");
    ASSERT_CONTAINS(said, "/ml/output keeps it");
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    failure_writer_close(&child);
    said[0] = '\0';
    run(path, true, &bad);
    ASSERT_CONTAINS(said, "no failure file: ");
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

/* It is no job: what the last job left stays, and there is no mark of success; a check that fails
 * says so in the file, as it may be all that a container was started for. */
static void a_check_leaves_no_mark_unless_it_fails(void) {
    open_on("check");
    leave("failure", "yesterday");
    child.check = true;
    failure_writer_prepare(&child);
    await_end();
    failure_writer_conclude(&child, &good);
    await_end();
    CU_ASSERT(says("failure", "yesterday"));
    CU_ASSERT_FALSE(is_there("success"));
    CU_ASSERT_FALSE(is_there(".failure-reserve"));
    leave("success", "");
    failure_writer_conclude(&child, &bad);
    await_end();
    CU_ASSERT(says("failure", "program: rank 2: exited"));
    CU_ASSERT_FALSE(is_there("success"));
    failure_writer_close(&child);
}

static void without_a_process_it_is_written_later(void) {
    open_on("full");
    is_full = true;
    failure_writer_conclude(&child, &bad);
    CU_ASSERT(child.child.pid <= 0);
    CU_ASSERT_FALSE(is_there("failure"));
    is_full = false;
    CU_ASSERT(failure_writer_again(&child, &bad));
    await_end();
    CU_ASSERT(is_there("failure"));
    CU_ASSERT_FALSE(failure_writer_again(&child, &bad));
    failure_writer_close(&child);
    CU_ASSERT_STRING_EQUAL(said, "");
    open_on("full-for-ever");
    is_full = true;
    failure_writer_conclude(&child, &bad);
    CU_ASSERT(failure_writer_again(&child, &bad));
    failure_writer_close(&child);
    is_full = false;
    ASSERT_CONTAINS(said, "was not written: Resource temporarily unavailable");
}

static void nobody_waits_for_a_disk_that_stalls(void) {
    open_on("stalling");
    stalls = true;
    held_clock_begin();
    int64_t begun = clock_now();
    failure_writer_run(base, false, &bad);
    CU_ASSERT_EQUAL(clock_now() - begun, 1500 * CLOCK_MILLISECOND);
    ASSERT_CONTAINS(said, "the disk did not answer in time");
    said[0] = '\0';
    begun = clock_now();
    failure_writer_conclude(&child, &bad);
    CU_ASSERT_EQUAL(clock_now(), begun);
    held_clock_end();
    CU_ASSERT(child.child.pid > 0);
    (void)kill(child.child.pid, SIGKILL); /* as the sweep does */
    await_end();
    ASSERT_CONTAINS(said, "the disk did not answer in time");
    failure_writer_conclude(&child, &bad);
    stalls = false;
    failure_writer_conclude(&child, &bad); /* takes the stuck one's place */
    await_end();
    CU_ASSERT(is_there("failure"));
    failure_writer_close(&child);
}

/* --- another process in the folder, until it is ended ------------------------------------------
 */

static pid_t another(void) {
    int ends[2];
    char byte;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        output_lock_end();
        output_lock_begin(base);
        (void)output_lock_take(true);
        (void)!write(ends[1], "x", 1);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return pid;
}
static void end(pid_t pid) {
    (void)kill(pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

/* What is not this process's is neither cleared away nor added to, nor is room taken there. */
static void the_folder_of_another_is_left_alone(void) {
    open_on("anothers");
    run(base, false, &bad);
    output_lock_end(); /* that was another's */
    pid_t other = another();
    failure_writer_open(&child, &reaper, base);
    failure_writer_prepare(&child);
    await_end();
    CU_ASSERT(is_there("failure"));
    CU_ASSERT_FALSE(is_there(".failure-reserve"));
    failure_writer_conclude(&child, &good);
    await_end();
    CU_ASSERT_FALSE(is_there("success"));
    CU_ASSERT_STRING_EQUAL(said, "");
    failure_writer_conclude(&child, &bad);
    await_end();
    ASSERT_CONTAINS(said, "was not written: another running host has this output directory");
    said[0] = '\0';
    run(base, false, &bad);
    ASSERT_CONTAINS(said, "was not written: another running host has this output directory");
    /* A launcher inside a job's program knows that it belongs to that job. */
    (void)setenv("RINGMASTER_RUN_ID", "0123456789abcdef", 1);
    said[0] = '\0';
    run(base, false, &bad);
    (void)unsetenv("RINGMASTER_RUN_ID");
    ASSERT_CONTAINS(said,
                    "was not written: the ringmaster around this one has this output directory: "
                    "run the program itself");
    /* When it is gone what it has left stays. */
    end(other);
    child.written = false;
    failure_writer_conclude(&child, &bad);
    await_end();
    ASSERT_CONTAINS(said, "was not written: another host had this output directory; its files");
    failure_writer_conclude(&child, &good);
    await_end();
    CU_ASSERT_FALSE(is_there("success"));
    failure_writer_prepare(&child); /* another attempt is all its own */
    await_end();
    CU_ASSERT_FALSE(is_there("failure"));
    CU_ASSERT(is_there(".failure-reserve"));
    failure_writer_conclude(&child, &good);
    await_end();
    CU_ASSERT(is_there("success"));
    failure_writer_close(&child);
}

/* It has the folder, and the other one's job comes there. */
static void who_was_refused_leaves_a_shared_folder_alone(void) {
    open_on("refused");
    failure_writer_prepare(&child);
    await_end();
    pid_t other = another();
    child.refused = true;
    failure_writer_conclude(&child, &bad);
    await_end();
    CU_ASSERT_FALSE(is_there("failure"));
    ASSERT_CONTAINS(said, "another running host has this output directory");
    end(other);
    child.written = false;
    failure_writer_conclude(&child, &bad);
    await_end();
    CU_ASSERT(is_there("failure"));
    failure_writer_close(&child);
}

/* A host that takes part in the job writes, whichever other hosts are there. */
static void who_has_the_folder_writes(void) {
    open_on("shared");
    failure_writer_prepare(&child);
    await_end();
    pid_t other = another();
    failure_writer_conclude(&child, &bad);
    await_end();
    CU_ASSERT(is_there("failure"));
    CU_ASSERT_STRING_EQUAL(said, "");
    end(other);
    failure_writer_close(&child);
}

/* A link that it held open would keep the other host waiting. */
static void it_holds_no_descriptor_of_ours(void) {
    int ends[2];
    char byte;
    open_on("open");
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    stalls = true;
    failure_writer_conclude(&child, &bad);
    (void)close(ends[1]);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&p, 1, 60 * 1000), 1);
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 0);
    CU_ASSERT(child.child.pid > 0 && kill(child.child.pid, 0) == 0);
    stalls = false;
    failure_writer_close(&child);
    (void)close(ends[0]);
}

UNIT_SUITE("host.failure_writer", UNIT(a_job_that_succeeds_leaves_nothing),
           UNIT(a_job_that_fails_leaves_its_story), UNIT(an_early_verdict_is_not_the_last_word),
           UNIT(a_job_that_fails_at_once_leaves_its_own_story), UNIT(what_went_wrong_is_reported),
           UNIT(a_job_that_never_began_clears_what_an_earlier_one_left),
           UNIT(a_folder_that_is_not_there_is_not_made),
           UNIT(a_check_leaves_no_mark_unless_it_fails),
           UNIT(without_a_process_it_is_written_later), UNIT(nobody_waits_for_a_disk_that_stalls),
           UNIT(the_folder_of_another_is_left_alone),
           UNIT(who_was_refused_leaves_a_shared_folder_alone), UNIT(who_has_the_folder_writes),
           UNIT(it_holds_no_descriptor_of_ours))
