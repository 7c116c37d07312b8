#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file.h"
#include "entrypoint/transfer/disk/scan.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path_of(const char *name) {
    static char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static void put(const char *name) {
    CU_ASSERT_EQUAL(file_put(path_of(name), "x", 1, 0644, NULL), 0);
}

static void whole_files_are_found_and_nothing_else(void) {
    struct scan l;
    CU_ASSERT_EQUAL(file_make_dirs(path_of("a/deep/er"), NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(path_of("a/.hidden"), NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(path_of("a/empty"), NULL), 0);
    static const char *const names[] = {
        "a/b",     "a/deep/er/file", "a/with\nline", "a/.lock",
        "a/x.tmp", "a/y.part",       "a/.hidden/z",  "a/step-1.safetensors.partial-abc"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        put(names[i]);
    CU_ASSERT_EQUAL(symlink("/etc/passwd", path_of("a/link")), 0);
    CU_ASSERT_EQUAL(symlink("/etc", path_of("a/folder")), 0);
    CU_ASSERT_EQUAL(mkfifo(path_of("a/fifo"), 0644), 0);
    CU_ASSERT_EQUAL_FATAL(scan_read(path_of("a"), &l, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(l.count, 3);
    CU_ASSERT_STRING_EQUAL(l.items[0].path, "b");
    CU_ASSERT_STRING_EQUAL(l.items[1].path, "deep/er/file");
    CU_ASSERT_STRING_EQUAL(l.items[2].path, "with\nline");
    CU_ASSERT_EQUAL(l.odd, 3);
    CU_ASSERT_PTR_EQUAL(scan_find(&l, "b"), &l.items[0]);
    CU_ASSERT_PTR_NULL(scan_find(&l, "c"));
    scan_done(&l);
    CU_ASSERT_EQUAL(scan_read(path_of("absent"), &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, 0);
    CU_ASSERT_PTR_NULL(scan_find(&l, "b"));
    CU_ASSERT_EQUAL(scan_read(path_of("a/b"), &l, NULL), -1);
}

static void one_file_is_found_alone(void) {
    struct scan l;
    struct error err = {0};
    CU_ASSERT_EQUAL(scan_read_one(path_of("a"), "b", &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, 1);
    scan_done(&l);
    CU_ASSERT_EQUAL(scan_read_one(path_of("a"), "absent", &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, 0);
    CU_ASSERT_EQUAL(scan_read_one(path_of("a"), "link", &l, &err), -1);
    ASSERT_CONTAINS(err.text, "is no file");
}

static void a_stamp_tells_what_was_written(void) {
    struct stat st;
    struct scan_stamp before;
    struct scan_stamp after;
    CU_ASSERT_EQUAL(stat(path_of("a/b"), &st), 0);
    scan_stamp(&st, &before);
    scan_stamp(&st, &after);
    CU_ASSERT_TRUE(scan_same(&before, &after));
    put("a/b"); /* anew: another inode */
    CU_ASSERT_EQUAL(stat(path_of("a/b"), &st), 0);
    scan_stamp(&st, &after);
    CU_ASSERT_FALSE(scan_same(&before, &after));
}

static void a_link_is_not_opened(void) {
    cleanup_fd int good = scan_open(path_of("a"), "deep/er/file", NULL);
    CU_ASSERT(good >= 0);
    CU_ASSERT_EQUAL(scan_open(path_of("a"), "link", NULL), -1);
    CU_ASSERT_EQUAL(scan_open(path_of("a"), "folder/passwd", NULL), -1);
}

/* A file with a writer is not at rest; where a lease cannot be had its age decides. */
static void a_file_with_a_writer_is_not_at_rest(void) {
    struct scan_stamp stamp = {.modified = {.tv_sec = 100}};
    int64_t later = (100 + SCAN_QUIET_SECONDS) * CLOCK_SECOND;
    put("written");
    int writer = open(path_of("written"), O_WRONLY | O_CLOEXEC);
    cleanup_fd int fd = open(path_of("written"), O_RDONLY | O_CLOEXEC);
    CU_ASSERT_FALSE(scan_at_rest(fd, &stamp, later));
    (void)close(writer);
    CU_ASSERT_TRUE(scan_at_rest(fd, &stamp, later));
    cleanup_fd int none = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    bool lease = scan_at_rest(none, &stamp, later - 1);
    CU_ASSERT_TRUE(scan_at_rest(none, &stamp, later));
    CU_ASSERT(lease || !scan_at_rest(none, &stamp, 100 * CLOCK_SECOND));
}

UNIT_SUITE("transfer.leaving", UNIT(whole_files_are_found_and_nothing_else),
           UNIT(one_file_is_found_alone), UNIT(a_stamp_tells_what_was_written),
           UNIT(a_link_is_not_opened), UNIT(a_file_with_a_writer_is_not_at_rest))
