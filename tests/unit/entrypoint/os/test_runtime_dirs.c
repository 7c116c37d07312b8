#include "entrypoint/os/runtime_dirs.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char place[512];

static const char *path_of(const char *name) {
    static char path[4][700];
    static unsigned turn;
    char *ret = path[turn++ % 4];
    snprintf(ret, sizeof(path[0]), "%s/%s", place, name);
    return ret;
}

static void settle(const char *name) {
    snprintf(place, sizeof(place), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL(file_make_dirs(place, NULL), 0);
}

static bool is_there(const char *name) {
    struct stat st;
    return lstat(path_of(name), &st) == 0;
}

static void fill(const char *folder) {
    char path[900];
    snprintf(path, sizeof(path), "%s/deep/er", folder);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/deep/er/secret", folder);
    CU_ASSERT_EQUAL(file_put(path, "canary", 6, 0600, NULL), 0);
}

/* A container that was killed leaves such folders behind. */
static void what_nobody_holds_is_swept(void) {
    char path[600];
    settle("dead");
    snprintf(path, sizeof(path), "%s", path_of("ringmaster-run-XXXXXX"));
    pid_t dead = fork();
    if (dead == 0) {
        int lock = runtime_dirs_make_new(path, NULL);
        fill(path);
        _exit(lock >= 0 && runtime_dirs_make(path_of("ringmaster-run-fixed"), NULL) >= 0 ? 0 : 1);
    }
    int status = 1;
    (void)waitpid(dead, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    snprintf(path, sizeof(path), "%s", path_of("ringmaster-run-XXXXXX"));
    int lock = runtime_dirs_make_new(path, NULL);
    CU_ASSERT_FATAL(lock >= 0);
    fill(path);
    CU_ASSERT_EQUAL(runtime_dirs_sweep(place), 2);
    CU_ASSERT_EQUAL(access(path, F_OK), 0); /* the folder that is in use */
    CU_ASSERT_EQUAL(runtime_dirs_sweep(place), 0);
    runtime_dirs_remove(path, lock);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    runtime_dirs_remove(path, -1);
}

static void only_what_is_ours_alone_is_touched(void) {
    settle("others");
    CU_ASSERT_EQUAL(mkdir(path_of("elsewhere"), 0700), 0);
    fill(path_of("elsewhere"));
    CU_ASSERT_EQUAL(mkdir(path_of("ringmaster-run-open"), 0755), 0);
    CU_ASSERT_EQUAL(chmod(path_of("ringmaster-run-open"), 0755), 0);
    CU_ASSERT_EQUAL(symlink(path_of("elsewhere"), path_of("ringmaster-run-link")), 0);
    CU_ASSERT_EQUAL(file_put(path_of("ringmaster-run-file"), "x", 1, 0600, NULL), 0);
    CU_ASSERT_EQUAL(mkfifo(path_of("ringmaster-run-fifo"), 0700), 0);
    CU_ASSERT_EQUAL(mkdir(path_of("ringmaster-run-dead"), 0700), 0);
    CU_ASSERT_EQUAL(symlink(path_of("elsewhere"), path_of("ringmaster-run-dead/link")), 0);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(mkdir(path_of("ringmaster-run-other"), 0700), 0);
        CU_ASSERT_EQUAL(chown(path_of("ringmaster-run-other"), 4321, 4321), 0);
    }
    CU_ASSERT_EQUAL(runtime_dirs_sweep(place), 1);
    CU_ASSERT_FALSE(is_there("ringmaster-run-dead"));
    CU_ASSERT(is_there("elsewhere/deep/er/secret"));
    CU_ASSERT(is_there("ringmaster-run-open"));
    CU_ASSERT(is_there("ringmaster-run-link"));
    CU_ASSERT(is_there("ringmaster-run-file"));
    CU_ASSERT(is_there("ringmaster-run-fifo"));
    CU_ASSERT(geteuid() != 0 || is_there("ringmaster-run-other"));
    struct error err = {0};
    CU_ASSERT_EQUAL(runtime_dirs_make(path_of("ringmaster-run-open"), &err), -1);
    ASSERT_CONTAINS(err.text, "must be a directory that only this user can enter");
    CU_ASSERT_EQUAL(runtime_dirs_make(path_of("ringmaster-run-link"), &err), -1);
    CU_ASSERT_EQUAL(runtime_dirs_sweep(path_of("no-such-place")), 0);
}

/* Hosts that share one /dev/shm share the folder of their run. */
static void the_last_one_who_holds_it_removes_it(void) {
    settle("shared");
    int one = runtime_dirs_make(path_of("ringmaster-run-1"), NULL);
    int other = runtime_dirs_make(path_of("ringmaster-run-1"), NULL);
    CU_ASSERT(one >= 0 && other >= 0);
    runtime_dirs_remove(path_of("ringmaster-run-1"), one);
    CU_ASSERT(is_there("ringmaster-run-1"));
    runtime_dirs_remove(path_of("ringmaster-run-1"), other);
    CU_ASSERT_FALSE(is_there("ringmaster-run-1"));
}

static void a_folder_that_took_its_place_stays(void) {
    settle("replaced");
    int lock = runtime_dirs_make(path_of("ringmaster-run-1"), NULL);
    CU_ASSERT_FATAL(lock >= 0);
    fill(path_of("ringmaster-run-1"));
    CU_ASSERT_EQUAL(rename(path_of("ringmaster-run-1"), path_of("moved")), 0);
    CU_ASSERT_EQUAL(mkdir(path_of("ringmaster-run-1"), 0700), 0);
    runtime_dirs_remove(path_of("ringmaster-run-1"), lock);
    CU_ASSERT(is_there("ringmaster-run-1"));
    CU_ASSERT(is_there("moved/deep/er/secret"));
}

static void a_child_sweeps_many_places(void) {
    settle("apart");
    CU_ASSERT_EQUAL(mkdir(path_of("ringmaster-run-dead"), 0700), 0);
    const char *const places[] = {"/no/such/place", place};
    runtime_dirs_sweep_apart(places, 2);
    CU_ASSERT(waitpid(-1, NULL, 0) > 0);
    CU_ASSERT_FALSE(is_there("ringmaster-run-dead"));
}

/* Another container may sweep while this one makes its folder: that is no failure and leaves no
 * error behind. */
static void a_folder_is_made_while_others_sweep(void) {
    enum { ROUNDS = 3000 };
    settle("busy");
    pid_t sweeper = fork();
    if (sweeper == 0)
        for (;;)
            (void)runtime_dirs_sweep(place);
    int failed = 0, told = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct error err = {0};
        char path[600];
        snprintf(path, sizeof(path), "%s", path_of("ringmaster-run-XXXXXX"));
        int lock = runtime_dirs_make_new(path, &err);
        failed += lock < 0;
        told += err.code != 0 || err.text[0] != '\0';
        runtime_dirs_remove(path, lock);
    }
    (void)kill(sweeper, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(sweeper, NULL, 0), sweeper);
    CU_ASSERT_EQUAL(failed, 0);
    CU_ASSERT_EQUAL(told, 0);
}

UNIT_SUITE("os.runtime_dirs", UNIT(what_nobody_holds_is_swept),
           UNIT(only_what_is_ours_alone_is_touched), UNIT(the_last_one_who_holds_it_removes_it),
           UNIT(a_folder_that_took_its_place_stays), UNIT(a_child_sweeps_many_places),
           UNIT(a_folder_is_made_while_others_sweep))
