#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
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

/* NAME below "deep", so many folders below it. */
static void make_deep(const char *name, int depth) {
    char path[1024];
    int size = snprintf(path, sizeof(path), "deep/%s", name);
    for (int i = 1; i < depth; i++)
        size += snprintf(path + size, sizeof(path) - (size_t)size, "/d");
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path_of(path), NULL), 0);
    (void)snprintf(path + size, sizeof(path) - (size_t)size, "/file");
    put(path);
}

static void a_folder_too_deep_keeps_nothing_else_from_being_found(void) {
    struct scan l;
    make_deep("near", 63);
    make_deep("too-deep", 64);
    make_deep("far", 80);
    put("deep/a");
    put("deep/z");
    CU_ASSERT_EQUAL_FATAL(scan_read(path_of("deep"), &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, 3);
    CU_ASSERT_PTR_NOT_NULL(scan_find(&l, "a"));
    CU_ASSERT_PTR_NOT_NULL(scan_find(&l, "z"));
    CU_ASSERT_EQUAL(l.missed, 2);
    CU_ASSERT_EQUAL(l.first_missed.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(l.first_missed.text, "lies too deep");
    scan_done(&l);
}

static void files_beyond_the_most_are_missed_alone(void) {
    struct scan l;
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path_of("many/below"), NULL), 0);
    static const char *const names[] = {"many/a", "many/b", "many/c", "many/below/d", "many/e"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        put(names[i]);
    CU_ASSERT_EQUAL_FATAL(scan_read_some(path_of("many"), 5, &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, 5);
    CU_ASSERT_EQUAL(l.missed, 0);
    scan_done(&l);
    CU_ASSERT_EQUAL_FATAL(scan_read_some(path_of("many"), 3, &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, 3);
    CU_ASSERT_EQUAL(l.missed, 2);
    CU_ASSERT_EQUAL(l.first_missed.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(l.first_missed.text, "more than 3 files");
    scan_done(&l);
}

/* Root opens what others may not; a name that is too long for one path stops it, too. */
static void what_cannot_be_named_is_missed_alone(void) {
    struct scan l;
    char name[251];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path_of("long"), NULL), 0);
    put("long/a");
    cleanup_fd int at = open(path_of("long"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL_FATAL(mkdirat(at, name, 0755), 0);
        int below = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = below;
    }
    CU_ASSERT_EQUAL_FATAL(scan_read(path_of("long"), &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, 1);
    CU_ASSERT_EQUAL(l.missed, 1);
    ASSERT_CONTAINS(l.first_missed.text, "too long");
    scan_done(&l);
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
    ASSERT_CONTAINS(err.text, "is not a readable file");
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

UNIT_SUITE("transfer.scan", UNIT(whole_files_are_found_and_nothing_else),
           UNIT(a_folder_too_deep_keeps_nothing_else_from_being_found),
           UNIT(files_beyond_the_most_are_missed_alone), UNIT(what_cannot_be_named_is_missed_alone),
           UNIT(one_file_is_found_alone), UNIT(a_stamp_tells_what_was_written),
           UNIT(a_link_is_not_opened), UNIT(a_file_with_a_writer_is_not_at_rest))
