#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/inotify_wait.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t left;

static void on_signal(int number) {
    (void)number;
    left = 1;
}

static const char *path_of(const char *name) {
    static char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

/* Returns whether a wait of at most LONGEST ended early. */
static bool ends_early(struct inotify_wait *w, int64_t longest) {
    int64_t begin = clock_now();
    inotify_wait_wait(w, longest, &left);
    return clock_now() - begin < longest;
}

static void what_comes_ends_the_wait(void) {
    struct inotify_wait w;
    char folder[1024];
    (void)snprintf(folder, sizeof(folder), "%s/watched", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(inotify_wait_open(&w, folder, NULL), 0);
    CU_ASSERT_FALSE(ends_early(&w, CLOCK_SECOND / 4));
    CU_ASSERT_EQUAL(file_put(path_of("watched/a"), "x", 1, 0644, NULL), 0);
    CU_ASSERT_TRUE(ends_early(&w, 60 * CLOCK_SECOND));
    CU_ASSERT_EQUAL(mkdir(path_of("watched/new"), 0755), 0);
    CU_ASSERT_TRUE(ends_early(&w, 60 * CLOCK_SECOND));
    CU_ASSERT_EQUAL(file_put(path_of("watched/new/b"), "x", 1, 0644, NULL), 0);
    CU_ASSERT_TRUE(ends_early(&w, 60 * CLOCK_SECOND));
    CU_ASSERT_EQUAL(rename(path_of("watched/a"), "/nowhere/at/all"), -1);
    CU_ASSERT_EQUAL(unlink(path_of("watched/a")), 0);
    CU_ASSERT_TRUE(ends_early(&w, 60 * CLOCK_SECOND));
    inotify_wait_done(&w);
}

static void a_signal_that_came_before_is_heard(void) {
    struct inotify_wait w;
    struct sigaction action = {.sa_handler = on_signal};
    CU_ASSERT_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(inotify_wait_open(&w, NULL, NULL), 0);
    CU_ASSERT_FALSE(ends_early(&w, CLOCK_SECOND / 4));
    (void)raise(SIGUSR1);
    CU_ASSERT_TRUE(ends_early(&w, 60 * CLOCK_SECOND));
    left = 0;
    inotify_wait_done(&w);
}

static void a_folder_that_cannot_be_made_is_an_error(void) {
    struct inotify_wait w;
    struct error err = {0};
    CU_ASSERT_EQUAL(inotify_wait_open(&w, "/proc/no/folder", &err), -1);
    ASSERT_CONTAINS(err.text, "/proc/no");
}

UNIT_SUITE("transfer.inotify_wait", UNIT(what_comes_ends_the_wait),
           UNIT(a_signal_that_came_before_is_heard), UNIT(a_folder_that_cannot_be_made_is_an_error))
