#include "common/buf.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/os/file_writer_process.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[512];
static char folder[600];
static int to;
static pid_t pid;

static void start(const char *name) {
    int ends[2];
    (void)snprintf(base, sizeof(base), "%s/%s", unit_temp_dir(), name);
    (void)snprintf(folder, sizeof(folder), "%s/output/data", base);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid = fork();
    if (pid == 0)
        file_writer_child(ends[1], base, folder);
    (void)close(ends[1]);
    to = ends[0];
}

static void put(uint32_t name_size, const char *name, uint32_t size, const char *line) {
    const struct file_writer_frame frame = {.name = name_size, .line = size, .limit = 1 << 20};
    CU_ASSERT_EQUAL(file_write_all(to, &frame, sizeof(frame), NULL), 0);
    CU_ASSERT_EQUAL(file_write_all(to, name, strlen(name), NULL), 0);
    CU_ASSERT_EQUAL(file_write_all(to, line, strlen(line), NULL), 0);
}

static void put_line(const char *name, const char *line) {
    put((uint32_t)strlen(name), name, (uint32_t)strlen(line), line);
}

/* What it said; it has ended with 0. */
static const char *end(void) {
    static char said[1024];
    int status = -1;
    (void)shutdown(to, SHUT_WR);
    ssize_t size = recv(to, said, sizeof(said) - 1, 0);
    said[size > 0 ? size : 0] = '\0';
    (void)close(to);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
    return said;
}

static void assert_file(const char *name, const char *expected) {
    char path[700];
    cleanup_buf struct buf got;
    buf_init(&got, 1 << 20);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL(file_read(path, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&got), expected);
}

static void lines_go_to_the_files_that_they_name(void) {
    (void)snprintf(base, sizeof(base), "%s/good", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    start("good");
    put_line("a.jsonl", "{}\n");
    put_line("rank-0.log", "hello\n");
    put_line("a.jsonl", "{\"b\":1}\n");
    CU_ASSERT_STRING_EQUAL(end(), "");
    assert_file("a.jsonl", "{}\n{\"b\":1}\n");
    assert_file("rank-0.log", "hello\n");
}

/* A file that is written anew as a whole. */
static void put_whole(const char *name, const char *text) {
    const struct file_writer_frame frame = {
        .name = (uint32_t)strlen(name), .line = (uint32_t)strlen(text), .limit = FILE_WRITER_WHOLE};
    CU_ASSERT_EQUAL(file_write_all(to, &frame, sizeof(frame), NULL), 0);
    CU_ASSERT_EQUAL(file_write_all(to, name, strlen(name), NULL), 0);
    CU_ASSERT_EQUAL(file_write_all(to, text, strlen(text), NULL), 0);
}

static void a_whole_file_takes_the_place_of_the_last_one(void) {
    char path[700];
    (void)snprintf(base, sizeof(base), "%s/whole", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    start("whole");
    put_whole("a.prom", "one 1\ntwo 2\n");
    put_whole("a.prom", "one 3\n");
    CU_ASSERT_STRING_EQUAL(end(), "");
    assert_file("a.prom", "one 3\n");
    (void)snprintf(path, sizeof(path), "%s/.a.prom.partial", folder);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
}

/* Nothing is written of an incomplete frame. */
static void a_frame_that_ends_early_is_none(void) {
    (void)snprintf(base, sizeof(base), "%s/early", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    start("early");
    put_line("a", "whole\n");
    put(1, "a", 100, "part");
    CU_ASSERT_STRING_EQUAL(end(), "");
    assert_file("a", "whole\n");
}

static void what_is_no_frame_ends_it(void) {
    (void)snprintf(base, sizeof(base), "%s/wrong", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(base, NULL), 0);
    start("wrong");
    put_line("a", "one\n");
    put(LOG_FILE_NAME_SIZE, "b", 1, "x");
    CU_ASSERT_STRING_EQUAL(end(), "");
    assert_file("a", "one\n");
    start("wrong");
    put(1, "b", LINE_SPLITTER_MAX + 1, "x");
    CU_ASSERT_STRING_EQUAL(end(), "");
}

/* Nothing is made beside a base that is not there, and the reason is logged once. */
static void what_cannot_be_written_is_reported_once(void) {
    start("nowhere");
    put_line("a", "one\n");
    put_line("a", "two\n");
    put_line("b", "three\n");
    const char *said = end();
    ASSERT_CONTAINS(said, "nowhere: " FILE_WRITER_NO_BASE);
    CU_ASSERT_PTR_NULL(strstr(strstr(said, "nowhere") + 7, "nowhere"));
    CU_ASSERT_NOT_EQUAL(access(base, F_OK), 0);
}

/* The job's user may own what the folder lies in. */
static void a_link_in_the_folders_place_is_not_followed(void) {
    char path[700];
    char behind[600];
    (void)snprintf(base, sizeof(base), "%s/link", unit_temp_dir());
    (void)snprintf(behind, sizeof(behind), "%s/behind", unit_temp_dir());
    (void)snprintf(path, sizeof(path), "%s/output", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(behind, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/output/data", base);
    CU_ASSERT_EQUAL(symlink(behind, path), 0);
    start("link");
    put_line("a", "one\n");
    put_whole("a.prom", "one 1\n");
    ASSERT_CONTAINS(end(), "link/output/data, where no link is followed: ");
    CU_ASSERT_EQUAL(rmdir(behind), 0); /* it is empty */
    /* Nor is one in a file's place. */
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/output/data/a", base);
    CU_ASSERT_EQUAL(symlink(behind, path), 0);
    start("link");
    put_line("a", "one\n");
    ASSERT_CONTAINS(end(), "a: Too many levels of symbolic links");
    CU_ASSERT_NOT_EQUAL(access(behind, F_OK), 0);
}

UNIT_SUITE("os.file_writer_process", UNIT(lines_go_to_the_files_that_they_name),
           UNIT(a_frame_that_ends_early_is_none),
           UNIT(a_whole_file_takes_the_place_of_the_last_one), UNIT(what_is_no_frame_ends_it),
           UNIT(what_cannot_be_written_is_reported_once),
           UNIT(a_link_in_the_folders_place_is_not_followed))
