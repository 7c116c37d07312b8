#include "common/buf.h"
#include "common/file/file.h"
#include "entrypoint/os/log_file.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT = 8192 };

static char folder_path[512];
static int folder = -1;
static char text[65536];

static void enter(const char *name) {
    if (folder >= 0)
        (void)close(folder);
    (void)snprintf(folder_path, sizeof(folder_path), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder_path, NULL), 0);
    folder = open(folder_path, O_RDONLY | O_DIRECTORY);
    CU_ASSERT_FATAL(folder >= 0);
}

static const char *path_of(const char *name) {
    static char path[2][600];
    static unsigned turn;
    char *ret = path[turn++ % 2];
    (void)snprintf(ret, sizeof(path[0]), "%s/%s", folder_path, name);
    return ret;
}

static const char *read_back(const char *name) {
    cleanup_buf struct buf got;
    buf_init(&got, sizeof(text) - 1);
    text[0] = '\0';
    if (file_read(path_of(name), &got, NULL) == 0)
        memcpy(text, buf_text(&got), got.size + 1);
    return text;
}

static int add(struct log_file *f, const char *line) {
    return log_file_add(f, folder, "a.log", LIMIT, line, strlen(line), NULL);
}

static void lines_are_appended_also_to_those_of_an_earlier_run(void) {
    struct log_file f;
    enter("append");
    log_file_init(&f);
    CU_ASSERT_EQUAL(add(&f, "one\n"), 0);
    CU_ASSERT_EQUAL(add(&f, "two\n"), 0);
    log_file_done(&f);
    /* The file's last line was cut off. */
    int fd = open(path_of("a.log"), O_WRONLY | O_APPEND);
    CU_ASSERT_EQUAL(write(fd, "thr", 3), 3);
    (void)close(fd);
    CU_ASSERT_EQUAL(add(&f, "four\n"), 0);
    log_file_done(&f);
    CU_ASSERT_STRING_EQUAL(read_back("a.log"), "one\ntwo\nthr\nfour\n");
}

static void the_last_lines_are_there_and_never_more_than_the_ceiling(void) {
    struct log_file f;
    struct stat st, old;
    char line[64];
    enter("turn");
    log_file_init(&f);
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(line, sizeof(line), "line %04d of two thousand\n", i);
        CU_ASSERT_EQUAL_FATAL(add(&f, line), 0);
        CU_ASSERT_EQUAL_FATAL(stat(path_of("a.log"), &st), 0);
        off_t both = st.st_size + (stat(path_of("a.log.1"), &old) == 0 ? old.st_size : 0);
        CU_ASSERT_FATAL(both <= LIMIT);
    }
    log_file_done(&f);
    ASSERT_CONTAINS(read_back("a.log"), "line 1999 of two thousand\n");
    CU_ASSERT_EQUAL(strncmp(read_back("a.log.1"), "line ", 5), 0);
}

static void of_a_line_above_half_the_ceiling_the_beginning_comes(void) {
    static char line[LIMIT * 2];
    struct log_file f;
    enter("long");
    log_file_init(&f);
    memset(line, 'x', sizeof(line) - 2);
    line[sizeof(line) - 2] = '\n';
    CU_ASSERT_EQUAL(add(&f, line), 0);
    CU_ASSERT_EQUAL(add(&f, "short\n"), 0);
    log_file_done(&f);
    read_back("a.log.1");
    CU_ASSERT_EQUAL(strlen(text), LIMIT / 2);
    ASSERT_CONTAINS(text, "xxx [cut]\n");
    CU_ASSERT_STRING_EQUAL(read_back("a.log"), "short\n");
}

/* Several jobs may share a folder. */
static void who_comes_second_takes_another_name(void) {
    struct log_file all[LOG_FILE_NAMES + 1];
    enter("shared");
    for (size_t i = 0; i < LOG_FILE_NAMES; i++) {
        log_file_init(&all[i]);
        CU_ASSERT_EQUAL(add(&all[i], "mine\n"), 0);
    }
    CU_ASSERT_STRING_EQUAL(read_back("a.log"), "mine\n");
    CU_ASSERT_STRING_EQUAL(read_back("a-2.log"), "mine\n");
    CU_ASSERT_STRING_EQUAL(read_back("a-9.log"), "mine\n");
    log_file_init(&all[LOG_FILE_NAMES]);
    CU_ASSERT_EQUAL(add(&all[LOG_FILE_NAMES], "no more\n"), -1);
    log_file_done(&all[0]);
    CU_ASSERT_EQUAL(add(&all[LOG_FILE_NAMES], "now\n"), 0);
    CU_ASSERT_STRING_EQUAL(read_back("a.log"), "mine\nnow\n");
    for (size_t i = 0; i <= LOG_FILE_NAMES; i++)
        log_file_done(&all[i]);
}

static void nothing_is_written_to_what_is_no_file_of_its_own(void) {
    struct log_file f;
    struct error err = {0};
    enter("odd");
    log_file_init(&f);
    CU_ASSERT_EQUAL(file_put(path_of("aim"), "", 0, 0644, NULL), 0);
    CU_ASSERT_EQUAL(symlink("aim", path_of("a.log")), 0);
    CU_ASSERT_EQUAL(add(&f, "x\n"), -1);
    (void)unlink(path_of("a.log"));
    CU_ASSERT_EQUAL(link(path_of("aim"), path_of("a.log")), 0);
    CU_ASSERT_EQUAL(add(&f, "x\n"), -1);
    (void)unlink(path_of("a.log"));
    CU_ASSERT_EQUAL(mkfifo(path_of("a.log"), 0644), 0);
    CU_ASSERT_EQUAL(log_file_add(&f, folder, "a.log", LIMIT, "x\n", 2, &err), -1);
    ASSERT_CONTAINS(err.text, "a.log");
    (void)unlink(path_of("a.log"));
    CU_ASSERT_STRING_EQUAL(read_back("aim"), "");
    CU_ASSERT_EQUAL(add(&f, "x\n"), 0);
    CU_ASSERT_STRING_EQUAL(read_back("a.log"), "x\n");
    log_file_done(&f);
}

/* A line that a full disk cut off is ended before the next one. */
static void after_a_full_disk_lines_are_whole_again(void) {
    static char filler[4096];
    struct log_file f;
    struct error err = {0};
    enter("full");
    if (mount("none", folder_path, "tmpfs", 0, "size=256k") != 0) {
        unit_skip("a full disk takes the right to mount");
        return;
    }
    (void)close(folder);
    folder = open(folder_path, O_RDONLY | O_DIRECTORY);
    log_file_init(&f);
    CU_ASSERT_EQUAL(add(&f, "first\n"), 0);
    int fd = open(path_of("filler"), O_WRONLY | O_CREAT, 0644);
    while (write(fd, filler, 4096) > 0)
        ;
    (void)close(fd);
    int result = 0;
    memset(filler, 'y', 4000);
    filler[3999] = '\n';
    for (int i = 0; i < 3 && result == 0; i++)
        result = log_file_add(&f, folder, "a.log", (int64_t)1 << 20, filler, 4000, &err);
    CU_ASSERT_EQUAL(result, -1);
    ASSERT_CONTAINS(err.text, "No space left on device");
    (void)unlink(path_of("filler"));
    CU_ASSERT_EQUAL(log_file_add(&f, folder, "a.log", (int64_t)1 << 20, "last\n", 5, NULL), 0);
    read_back("a.log");
    CU_ASSERT_EQUAL(strncmp(text, "first\n", 6), 0);
    ASSERT_CONTAINS(text, "\nlast\n");
    log_file_done(&f);
    (void)close(folder);
    folder = -1;
    CU_ASSERT_EQUAL(umount(folder_path), 0);
}

UNIT_SUITE("os.log_file", UNIT(lines_are_appended_also_to_those_of_an_earlier_run),
           UNIT(the_last_lines_are_there_and_never_more_than_the_ceiling),
           UNIT(of_a_line_above_half_the_ceiling_the_beginning_comes),
           UNIT(who_comes_second_takes_another_name),
           UNIT(nothing_is_written_to_what_is_no_file_of_its_own),
           UNIT(after_a_full_disk_lines_are_whole_again))
