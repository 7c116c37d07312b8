#include "common/cleanup.h"
#include "common/file.h"
#include "support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(char path[PATH_MAX], const char *name) {
    snprintf(path, PATH_MAX, "%s/%s", unit_temp_dir(), name);
}

static void publish_replaces_the_whole_file(void) {
    char path[PATH_MAX];
    path_of(path, "published");
    CU_ASSERT_EQUAL(file_publish(path, "first version", 13, 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish(path, "second", 6, 0644, NULL), 0);
    cleanup_buf struct buf text;
    buf_init(&text, 100);
    CU_ASSERT_EQUAL(file_read(path, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "second");
    struct stat st;
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0644);
}

static void an_aborted_publish_leaves_the_old_file_alone(void) {
    char path[PATH_MAX];
    path_of(path, "aborted");
    file_publish(path, "old", 3, 0644, NULL);
    char temp[4096];
    int fd = file_publish_open(path, temp, 0644, NULL);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(file_write_all(fd, "half", 4, NULL), 0);
    file_publish_abort(fd, temp);
    CU_ASSERT_EQUAL(access(temp, F_OK), -1);
    cleanup_buf struct buf text;
    buf_init(&text, 100);
    file_read(path, &text, NULL);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "old");
}

static void publishing_into_a_missing_folder_names_it(void) {
    char path[PATH_MAX];
    path_of(path, "no/such/file");
    struct error err = {0};
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, &err), -1);
    ASSERT_CONTAINS(err.text, "no/such/file");
    CU_ASSERT_EQUAL(err.os_errno, ENOENT);
}

static void reading_stops_at_the_ceiling(void) {
    char path[PATH_MAX];
    path_of(path, "ceiling");
    file_publish(path, "12345678", 8, 0644, NULL);
    cleanup_buf struct buf exact;
    buf_init(&exact, 8);
    CU_ASSERT_EQUAL(file_read(path, &exact, NULL), 0);
    CU_ASSERT_EQUAL(exact.size, 8);
    cleanup_buf struct buf small;
    buf_init(&small, 7);
    struct error err = {0};
    CU_ASSERT_EQUAL(file_read(path, &small, &err), -1);
    ASSERT_CONTAINS(err.text, "more than 7 bytes");
}

static void a_fifo_is_refused_at_once(void) {
    char path[PATH_MAX];
    path_of(path, "fifo");
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    cleanup_buf struct buf text;
    buf_init(&text, 100);
    struct error err = {0};
    CU_ASSERT_EQUAL(file_read(path, &text, &err), -1);
    ASSERT_CONTAINS(err.text, "not a regular file");
}

static void folders_are_made_with_their_parents(void) {
    char path[PATH_MAX];
    path_of(path, "a/b/c");
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    path_of(path, "plain");
    file_publish(path, "", 0, 0644, NULL);
    struct error err = {0};
    CU_ASSERT_EQUAL(file_make_dirs(path, &err), -1);
    ASSERT_CONTAINS(err.text, "not a folder");
}

static void exact_reads_notice_an_early_end(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(file_write_all(ends[1], "abc", 3, NULL), 0);
    close(ends[1]);
    char bytes[4];
    CU_ASSERT_EQUAL(file_read_exact(ends[0], bytes, 2, NULL), 0);
    struct error err = {0};
    CU_ASSERT_EQUAL(file_read_exact(ends[0], bytes, 2, &err), -1);
    ASSERT_CONTAINS(err.text, "end of file");
    close(ends[0]);
}

static void a_put_file_replaces_a_link_and_not_its_aim(void) {
    char kept[4096], path[4096];
    cleanup_buf struct buf text;
    buf_init(&text, 16);
    (void)snprintf(kept, sizeof(kept), "%s/kept", unit_temp_dir());
    (void)snprintf(path, sizeof(path), "%s/put", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(kept, "x", 1, 0600, NULL), 0);
    CU_ASSERT_EQUAL(symlink(kept, path), 0);
    CU_ASSERT_EQUAL(file_put(path, "longer", 6, 0640, NULL), 0);
    CU_ASSERT_EQUAL(file_put(path, "new", 3, 0640, NULL), 0);
    CU_ASSERT_EQUAL(file_read(path, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "new");
    struct stat st;
    CU_ASSERT_EQUAL(lstat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode, S_IFREG | 0640);
    CU_ASSERT_EQUAL(stat(kept, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, 1);
    struct error err = {0};
    CU_ASSERT_EQUAL(file_put("/no/such/folder/file", "x", 1, 0600, &err), -1);
    ASSERT_CONTAINS(err.text, "/no/such/folder/file");
}

static void open_descriptors_become_close_on_exec(void) {
    cleanup_fd int fd = open("/dev/null", O_RDONLY);
    CU_ASSERT_FATAL(fd > 2);
    file_cloexec_all();
    CU_ASSERT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CU_ASSERT(!(fcntl(STDOUT_FILENO, F_GETFD) & FD_CLOEXEC));
}

UNIT_MAIN("common.file", UNIT(publish_replaces_the_whole_file),
          UNIT(an_aborted_publish_leaves_the_old_file_alone),
          UNIT(publishing_into_a_missing_folder_names_it), UNIT(reading_stops_at_the_ceiling),
          UNIT(a_fifo_is_refused_at_once), UNIT(folders_are_made_with_their_parents),
          UNIT(exact_reads_notice_an_early_end), UNIT(a_put_file_replaces_a_link_and_not_its_aim),
          UNIT(open_descriptors_become_close_on_exec))
