#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/copy.h"
#include "tests/support/unit.h"

#include <dirent.h>
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

static int source(void) {
    CU_ASSERT_EQUAL(file_put(path_of("source"), "content", 7, 0600, NULL), 0);
    return open(path_of("source"), O_RDONLY | O_CLOEXEC);
}

static int copy(int64_t size, const char *path, struct error *err) {
    char folder[1024];
    cleanup_fd int fd = source();
    (void)snprintf(folder, sizeof(folder), "%s/target", unit_temp_dir());
    return copy_file(fd, size, folder, path, err);
}

static int entries(const char *folder) {
    int count = 0;
    DIR *listing = opendir(path_of(folder));
    while (readdir(listing) != NULL)
        count++;
    (void)closedir(listing);
    return count - 2;
}

static void a_file_appears_whole(void) {
    cleanup_buf struct buf text;
    buf_init(&text, 64);
    CU_ASSERT_EQUAL(copy(7, "deep/er/file", NULL), 0);
    CU_ASSERT_EQUAL(file_read(path_of("target/deep/er/file"), &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "content");
    CU_ASSERT_EQUAL(copy(7, "deep/er/file", NULL), 0); /* in place of itself */
    CU_ASSERT_EQUAL(entries("target/deep/er"), 1);
}

static void what_fails_leaves_nothing(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(mkdir(path_of("target/folder"), 0755), 0);
    CU_ASSERT_EQUAL(copy(9, "short", &err), -1);
    ASSERT_CONTAINS(err.text, "became shorter");
    CU_ASSERT_EQUAL(copy(7, "folder", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(copy(7, "../out", &err), -1);
    ASSERT_CONTAINS(err.text, "is no path");
    CU_ASSERT_EQUAL(copy(INT64_MAX, "large", &err), -1);
    ASSERT_CONTAINS(err.text, "the disk has room for");
    CU_ASSERT_EQUAL(entries("target"), 2);
}

static void a_folder_is_tried(void) {
    struct error err = {0};
    char folder[1024];
    (void)snprintf(folder, sizeof(folder), "%s/new/folder", unit_temp_dir());
    CU_ASSERT_EQUAL(copy_probe(folder, NULL), 0);
    CU_ASSERT_EQUAL(entries("new/folder"), 0);
    cleanup_fd int fd = source();
    (void)snprintf(folder, sizeof(folder), "%s/source/folder", unit_temp_dir());
    CU_ASSERT_EQUAL(copy_probe(folder, &err), -1);
    ASSERT_CONTAINS(err.text, "source");
}

UNIT_SUITE("transfer.copy", UNIT(a_file_appears_whole), UNIT(what_fails_leaves_nothing),
           UNIT(a_folder_is_tried))
