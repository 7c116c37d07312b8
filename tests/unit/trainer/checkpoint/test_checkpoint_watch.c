#include "trainer/checkpoint/checkpoint_watch.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error err;

/* Longer than any wait in a successful test. */
enum { PATIENCE = 60 };

/* Replaces the library's function, to simulate a kernel without any watches left. */
static bool no_watches;
int inotify_add_watch(int fd, const char *path, uint32_t mask) {
    errno = ENOSPC;
    return no_watches ? -1 : (int)syscall(SYS_inotify_add_watch, fd, path, mask);
}

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return folder;
}

static void save(const char *folder, int64_t step) {
    char state[200];
    float value = (float)step;
    const struct array array = {.name = "w", .type = ARRAY_F32, .data = &value};
    snprintf(state, sizeof(state), "{\"course\":0,\"samples\":%lld,\"step\":%lld}",
             (long long)step * 4, (long long)step);
    const struct checkpoint_words words = {.state = state, .config = "{\"model\":\"x\"}"};
    CU_ASSERT_EQUAL_FATAL(
        checkpoint_save(folder, step, CHECKPOINT_KEEP, &array, 1, &words, NULL, NULL, &err), 0);
}

/* The value of the next checkpoint, which is its step; -1 if there is none. */
static int64_t next(struct checkpoint_watch *w, struct checkpoint_position *after,
                    struct buf *notes) {
    cleanup_safetensors struct safetensors file = {0};
    bool found = true;
    float value = -1;
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_next(w, after, &file, &found, notes, &err), 0);
    if (!found)
        return -1;
    const struct array array = {.name = "w", .type = ARRAY_F32, .data = &value};
    CU_ASSERT_STRING_EQUAL(safetensors_note(&file, CHECKPOINT_CONFIG), "{\"model\":\"x\"}");
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), 0);
    CU_ASSERT_EQUAL((int64_t)value, after->step);
    return (int64_t)value;
}

static void each_checkpoint_once_and_oldest_first(void) {
    struct checkpoint_watch w;
    struct checkpoint_position after = {.samples = -1};
    cleanup_buf struct buf notes = {0};
    const char *folder = folder_of("order/below");
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder, &err), 0);
    buf_init(&notes, 4096);
    CU_ASSERT_EQUAL(next(&w, &after, &notes), -1);
    save(folder, 0);
    save(folder, 3);
    CU_ASSERT_EQUAL(next(&w, &after, &notes), 0);
    CU_ASSERT_EQUAL(next(&w, &after, &notes), 3);
    CU_ASSERT_EQUAL(next(&w, &after, &notes), -1);
    /* Only two are kept: 5 is deleted before anybody reads it. */
    save(folder, 5);
    save(folder, 7);
    save(folder, 9);
    CU_ASSERT_EQUAL(next(&w, &after, &notes), 7);
    CU_ASSERT_EQUAL(next(&w, &after, &notes), 9);
    CU_ASSERT_EQUAL(notes.size, 0);
    checkpoint_watch_done(&w);
}

static void a_damaged_one_is_reported_once(void) {
    struct checkpoint_watch w;
    struct checkpoint_position after = {.samples = -1};
    cleanup_buf struct buf notes = {0};
    char path[CHECKPOINT_PATH_MAX];
    const char *folder = folder_of("damaged");
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder, &err), 0);
    buf_init(&notes, 4096);
    save(folder, 1);
    save(folder, 2);
    CU_ASSERT_EQUAL_FATAL(checkpoint_path(folder, 1, path, &err), 0);
    int fd = open(path, O_WRONLY | O_APPEND);
    CU_ASSERT_FATAL(fd >= 0);
    off_t end = lseek(fd, 0, SEEK_END);
    (void)close(fd);
    fd = open(path, O_WRONLY);
    CU_ASSERT_EQUAL_FATAL(pwrite(fd, "\x55", 1, end - 1), 1);
    (void)close(fd);
    CU_ASSERT_EQUAL(next(&w, &after, &notes), 2);
    ASSERT_CONTAINS(buf_text(&notes), path);
    size_t told = notes.size;
    CU_ASSERT_EQUAL(next(&w, &after, &notes), -1);
    CU_ASSERT_EQUAL(notes.size, told);
    checkpoint_watch_done(&w);
}

/* Waits, at most until DEADLINE, for a checkpoint that another process saves. */
static void wait_for_other(struct checkpoint_watch *w, const char *folder, int64_t deadline) {
    pid_t child = fork();
    if (child == 0) {
        save(folder, 4);
        _exit(0);
    }
    struct checkpoint_position after = {.samples = -1};
    while (next(w, &after, NULL) < 0 && clock_now() < deadline)
        CU_ASSERT_EQUAL_FATAL(checkpoint_watch_wait(w, -1, deadline, &err), 0);
    CU_ASSERT_EQUAL(after.step, 4);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
}

static void what_another_process_saves_ends_the_wait(void) {
    struct checkpoint_watch w;
    const char *folder = folder_of("events");
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder, &err), 0);
    CU_ASSERT_FATAL(w.events >= 0);
    w.look = 3600 * CLOCK_SECOND; /* an event comes before a look */
    wait_for_other(&w, folder, clock_now() + PATIENCE * CLOCK_SECOND);
    checkpoint_watch_done(&w);
}

/* Simulates a process that starts without a standard input. */
static int watch_on_descriptor_0(void) {
    struct checkpoint_watch w;
    (void)close(0);
    if (checkpoint_watch_open(&w, folder_of("first"), NULL) != 0 || w.events != 0)
        return 1;
    save(folder_of("first"), 1);
    struct pollfd events = {.fd = w.events, .events = POLLIN};
    return poll(&events, 1, PATIENCE * 1000) == 1 ? 0 : 2;
}

static void the_first_descriptor_announces_as_well(void) {
    CU_ASSERT_EQUAL(unit_in_child(watch_on_descriptor_0), 0);
}

static void where_there_are_no_watches_nothing_is_waited_for_but_looks(void) {
    struct checkpoint_watch w;
    no_watches = true;
    CU_ASSERT_EQUAL(checkpoint_watch_open(&w, folder_of("unwatched"), &err), 0);
    no_watches = false;
    CU_ASSERT_EQUAL(w.events, -1);
    checkpoint_watch_done(&w);
}

/* Simulates a file system that other hosts write to: there is no event, so polling finds the
 * checkpoint. */
static void without_events_a_look_finds_it(void) {
    struct checkpoint_watch w;
    const char *folder = folder_of("silent");
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder, &err), 0);
    (void)close(w.events);
    w.events = -1;
    CU_ASSERT_EQUAL(w.look, CHECKPOINT_WATCH_SECONDS * CLOCK_SECOND);
    w.look = CLOCK_SECOND / 5;
    wait_for_other(&w, folder, clock_now() + PATIENCE * CLOCK_SECOND);
    checkpoint_watch_done(&w);
}

static void a_stop_and_a_deadline_end_the_wait(void) {
    struct checkpoint_watch w;
    int stop = eventfd(1, EFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder_of("stop"), &err), 0);
    int64_t start = clock_now();
    int64_t far = start + 3600 * CLOCK_SECOND;
    CU_ASSERT_EQUAL(checkpoint_watch_wait(&w, stop, far, &err), 0);
    CU_ASSERT(clock_now() - start < PATIENCE * CLOCK_SECOND);
    start = clock_now();
    CU_ASSERT_EQUAL(checkpoint_watch_wait(&w, -1, start + CLOCK_SECOND / 10, &err), 0);
    CU_ASSERT(clock_now() - start >= CLOCK_SECOND / 10);
    CU_ASSERT(clock_now() - start < PATIENCE * CLOCK_SECOND);
    (void)close(stop);
    checkpoint_watch_done(&w);
}

static void ring(int number) {
    (void)number;
}

static void a_signal_ends_the_wait(void) {
    struct checkpoint_watch w;
    const struct sigaction action = {.sa_handler = ring};
    /* The signal repeats, because a single one could arrive before the wait. */
    const struct itimerval soon = {.it_value = {.tv_usec = 50000},
                                   .it_interval = {.tv_usec = 50000}};
    const struct itimerval never = {.it_value = {.tv_usec = 0}};
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder_of("signal"), &err), 0);
    CU_ASSERT_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
    int64_t start = clock_now();
    CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CU_ASSERT_EQUAL(checkpoint_watch_wait(&w, -1, start + 3600 * CLOCK_SECOND, &err), 0);
    CU_ASSERT(clock_now() - start < PATIENCE * CLOCK_SECOND);
    CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
    (void)signal(SIGALRM, SIG_DFL);
    checkpoint_watch_done(&w);
}

static void a_folder_that_is_none_any_more_is_an_error(void) {
    struct checkpoint_watch w;
    struct checkpoint_position after = {.samples = -1};
    struct safetensors file;
    bool found = true;
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder_of("gone"), &err), 0);
    CU_ASSERT_EQUAL(rmdir(folder_of("gone")), 0);
    CU_ASSERT_EQUAL(file_put(folder_of("gone"), "", 0, 0644, NULL), 0);
    CU_ASSERT_EQUAL(checkpoint_watch_next(&w, &after, &file, &found, NULL, &err), -1);
    CU_ASSERT_FALSE(found);
    ASSERT_CONTAINS(err.text, "gone");
    checkpoint_watch_done(&w);
}

/* Skipping it would leave it out of the scores for good. */
static void one_that_cannot_be_read_is_an_error(void) {
    struct checkpoint_watch w;
    struct checkpoint_position after = {.samples = -1};
    struct safetensors file;
    bool found = true;
    const char *folder = folder_of("unreadable");
    char path[700];
    CU_ASSERT_EQUAL_FATAL(checkpoint_watch_open(&w, folder, &err), 0);
    snprintf(path, sizeof(path), "%s/step-000000007.safetensors", folder);
    CU_ASSERT_EQUAL_FATAL(symlink("step-000000007.safetensors", path), 0);
    CU_ASSERT_EQUAL(checkpoint_watch_next(&w, &after, &file, &found, NULL, &err), -1);
    CU_ASSERT_FALSE(found);
    CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == ELOOP);
    ASSERT_CONTAINS(err.text, path);
    CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    checkpoint_watch_done(&w);
}

static void a_folder_that_cannot_be_is_an_error(void) {
    struct checkpoint_watch w;
    CU_ASSERT_EQUAL(checkpoint_watch_open(&w, "/dev/null/x", &err), -1);
    ASSERT_CONTAINS(err.text, "/dev/null");
    checkpoint_watch_done(&w);
}

UNIT_SUITE("checkpoint.checkpoint_watch", UNIT(each_checkpoint_once_and_oldest_first),
           UNIT(a_damaged_one_is_reported_once), UNIT(what_another_process_saves_ends_the_wait),
           UNIT(without_events_a_look_finds_it), UNIT(the_first_descriptor_announces_as_well),
           UNIT(where_there_are_no_watches_nothing_is_waited_for_but_looks),
           UNIT(a_signal_ends_the_wait), UNIT(a_folder_that_is_none_any_more_is_an_error),
           UNIT(a_stop_and_a_deadline_end_the_wait), UNIT(one_that_cannot_be_read_is_an_error),
           UNIT(a_folder_that_cannot_be_is_an_error))
