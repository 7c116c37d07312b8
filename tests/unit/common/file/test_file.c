#include "common/cleanup.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The calls that make a file last, in order: this program is linked with --wrap for each of them
 * (tests/room.cmake). "file 6" is an fsync of a regular file of six bytes, "folder" one of a
 * folder. */
static char calls[1024];
static ino_t synced_folder; /* the last one */
static int failing_fsync;   /* this one from now on fails, 1 the next; 0 none */
static int failing_number = EIO;
static bool failing_chmod;
static int vanishing; /* so many files from now on are tidied away before they are locked */

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);

static void note_call(const char *what, long long size) {
    size_t used = strlen(calls);
    const char *comma = used > 0 ? ", " : "";
    if (size >= 0)
        snprintf(calls + used, sizeof(calls) - used, "%s%s %lld", comma, what, size);
    else
        snprintf(calls + used, sizeof(calls) - used, "%s%s", comma, what);
}

int __wrap_fsync(int fd) {
    struct stat st = {0};
    (void)fstat(fd, &st);
    note_call(S_ISDIR(st.st_mode) ? "folder" : "file", S_ISDIR(st.st_mode) ? -1 : st.st_size);
    if (S_ISDIR(st.st_mode))
        synced_folder = st.st_ino;
    if (failing_fsync > 0 && --failing_fsync == 0) {
        errno = failing_number;
        return -1;
    }
    return __real_fsync(fd);
}

int __wrap_fchmod(int fd, mode_t mode) {
    if (!failing_chmod)
        return __real_fchmod(fd, mode);
    errno = EIO;
    return -1;
}

int __wrap_flock(int fd, int operation) {
    if (vanishing > 0) {
        char link[64], path[PATH_MAX] = "";
        vanishing--;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, path, sizeof(path) - 1) > 0)
            (void)unlink(path);
    }
    return __real_flock(fd, operation);
}

int __wrap_rename(const char *from, const char *to) {
    note_call("rename", -1);
    return __real_rename(from, to);
}

int __wrap_mkdir(const char *path, mode_t mode) {
    int result = __real_mkdir(path, mode);
    if (result == 0)
        note_call("mkdir", -1);
    return result;
}

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

static void what_is_published_is_on_disk_before_it_has_its_name(void) {
    char path[PATH_MAX];
    path_of(path, "durable");
    calls[0] = '\0';
    CU_ASSERT_EQUAL(file_publish(path, "second", 6, 0644, NULL), 0);
    CU_ASSERT_STRING_EQUAL(calls, "file 6, rename, folder");
    calls[0] = '\0';
    path_of(path, "durable-folder/below");
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_STRING_EQUAL(calls, "mkdir, folder, mkdir, folder");
}

static int count_files(const char *folder, const char *prefix) {
    DIR *dir = opendir(folder);
    int count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *item = readdir(dir); item != NULL; item = readdir(dir))
        count += strncmp(item->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return count;
}

static void what_could_not_be_synced_is_no_success(void) {
    char path[PATH_MAX];
    path_of(path, "unsynced");
    CU_ASSERT_EQUAL(file_publish(path, "old", 3, 0644, NULL), 0);
    struct error err = {0};
    failing_fsync = 1;
    CU_ASSERT_EQUAL(file_publish(path, "new", 3, 0644, &err), -1);
    ASSERT_CONTAINS(err.text, path);
    cleanup_buf struct buf text;
    buf_init(&text, 100);
    CU_ASSERT_EQUAL(file_read(path, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "old");
    CU_ASSERT_EQUAL(count_files(unit_temp_dir(), "unsynced"), 1);
    failing_fsync = 2;
    CU_ASSERT_EQUAL(file_publish(path, "new", 3, 0644, &err), -1);
    failing_fsync = 0;
}

/* Some file systems know no fsync of a folder. */
static void a_folder_that_cannot_be_synced_is_no_error(void) {
    char path[PATH_MAX];
    path_of(path, "on-a-network");
    static const int numbers[] = {EINVAL, ENOTSUP};
    for (int i = 0; i < 2; i++) {
        failing_number = numbers[i];
        failing_fsync = 2;
        CU_ASSERT_EQUAL(file_publish(path, "new", 3, 0644, NULL), 0);
        CU_ASSERT_EQUAL(failing_fsync, 0);
    }
    failing_number = EIO;
}

static ino_t inode_of(const char *path) {
    struct stat st = {0};
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    return st.st_ino;
}

static void the_folder_that_holds_the_name_is_synced(void) {
    char path[PATH_MAX];
    path_of(path, "below");
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(synced_folder, inode_of(unit_temp_dir()));
    path_of(path, "below/file");
    CU_ASSERT_EQUAL(file_publish(path, "new", 3, 0644, NULL), 0);
    path_of(path, "below");
    CU_ASSERT_EQUAL(synced_folder, inode_of(path));
    /* A name without a folder lies in the one where the program runs. */
    cleanup_fd int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CU_ASSERT_FATAL(here >= 0 && chdir(unit_temp_dir()) == 0);
    CU_ASSERT_EQUAL(file_publish("bare-name", "new", 3, 0644, NULL), 0);
    CU_ASSERT_EQUAL(fchdir(here), 0);
    CU_ASSERT_EQUAL(synced_folder, inode_of(unit_temp_dir()));
    path_of(path, "bare-name");
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
}

/* Runs in a process of its own, as a user who is not root. */
static int publish_where_nothing_is_read(void) {
    if (chdir(unit_temp_dir()) != 0 || mkdir("unread", 0777) != 0 || chmod("unread", 0333) != 0 ||
        chmod(".", 0777) != 0 || (geteuid() == 0 && setuid(65534) != 0))
        return 100;
    if (open("unread", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
        return 101;
    return file_publish("unread/file", "new", 3, 0644, NULL);
}

static void a_folder_that_may_only_be_written_takes_a_file(void) {
    CU_ASSERT_EQUAL(unit_in_child(publish_where_nothing_is_read), 0);
    char path[PATH_MAX];
    path_of(path, "unread/file");
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
}

static void what_the_place_does_not_take_is_the_users_to_mend(void) {
    static const int places[] = {ENOSPC, EDQUOT,  EFBIG,  EIO,   EROFS,        EACCES, EPERM,
                                 ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, ETXTBSY};
    static const int others[] = {EBADF, ENOMEM, EINVAL, 0};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        CU_ASSERT_EQUAL(file_write_code(places[i]), EXIT_CODE_CONFIG);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CU_ASSERT_EQUAL(file_write_code(others[i]), EXIT_CODE_INTERNAL);
}

/* A path of the greatest length allowed, including the suffix of the temporary file's name. */
static void paths_are_as_long_as_the_system_takes(void) {
    enum { BEHIND = sizeof(".partial-XXXXXX") - 1 };
    char *path = malloc(PATH_MAX + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    for (int size = PATH_MAX - 1 - BEHIND; size <= PATH_MAX - BEHIND; size++) {
        struct error err = {0};
        memset(path, '/', PATH_MAX);
        int head = snprintf(path, PATH_MAX, "%s", unit_temp_dir());
        path[head] = '/';
        memcpy(path + size - 4, "long", 5);
        bool fits = size < PATH_MAX - BEHIND;
        CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, &err), fits ? 0 : -1);
        CU_ASSERT_EQUAL(err.code, fits ? EXIT_CODE_OK : EXIT_CODE_CONFIG);
        if (!fits)
            ASSERT_CONTAINS(err.text, "path too long");
    }
    free(path);
}

static void a_file_that_cannot_have_its_mode_is_not_published(void) {
    char path[PATH_MAX];
    struct error err = {0};
    path_of(path, "modeless");
    failing_chmod = true;
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, &err), -1);
    failing_chmod = false;
    ASSERT_CONTAINS(err.text, "chmod");
    CU_ASSERT_EQUAL(count_files(unit_temp_dir(), "modeless"), 0);
}

/* What a full disk looks like to a writer: files may not grow. */
static void a_file_that_cannot_be_written_is_named_and_gone(void) {
    static char bytes[4096];
    char path[PATH_MAX];
    struct error err = {0};
    struct rlimit before;
    path_of(path, "too-large");
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    int published = file_publish(path, bytes, sizeof(bytes), 0644, &err);
    struct error put_err = {0};
    int put = file_put(path, bytes, sizeof(bytes), 0644, &put_err);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    CU_ASSERT_EQUAL(published, -1);
    CU_ASSERT_EQUAL(put, -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(err.os_errno, EFBIG);
    ASSERT_CONTAINS(err.text, path);
    ASSERT_CONTAINS(put_err.text, path);
    CU_ASSERT_EQUAL(count_files(unit_temp_dir(), "too-large"), 0);
}

/* Another process may tidy between the making of a file and its lock. */
static void a_file_that_was_tidied_away_is_made_again(void) {
    enum { TRIES = 16 };
    char path[PATH_MAX];
    struct error err = {0};
    path_of(path, "vanishing");
    vanishing = TRIES - 1;
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, &err), 0);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    vanishing = TRIES;
    CU_ASSERT_EQUAL(file_publish(path, "x", 1, 0644, &err), -1);
    ASSERT_CONTAINS(err.text, "vanish");
    CU_ASSERT_EQUAL(vanishing, 0);
}

static bool is_left(const char *name) {
    return strncmp(name, "left", 4) == 0;
}

/* In a child, until it is killed: writes PATH and says so. */
static void write_for_ever(const char *path, int ready) {
    char temp[4096];
    int fd = file_publish_open(path, temp, 0644, NULL);
    if (fd < 0 || file_write_all(fd, "half", 4, NULL) != 0 || write(ready, temp, 4096) != 4096)
        _exit(1);
    for (;;)
        pause();
}

static void tidying_leaves_what_is_being_written(void) {
    char path[PATH_MAX], temp[4096], other[PATH_MAX], backup[PATH_MAX];
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    path_of(path, "left.bin");
    path_of(backup, "left.bin.backup");
    path_of(other, "right.bin.partial-AbC123");
    CU_ASSERT_EQUAL(file_publish(backup, "x", 1, 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish(other, "x", 1, 0644, NULL), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        write_for_ever(path, ends[1]);
    CU_ASSERT_EQUAL_FATAL(file_read_exact(ends[0], temp, sizeof(temp), NULL), 0);
    ASSERT_CONTAINS(temp, path);
    file_tidy(unit_temp_dir(), is_left);
    CU_ASSERT_EQUAL(access(temp, F_OK), 0);
    kill(child, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    file_tidy(unit_temp_dir(), is_left);
    CU_ASSERT_EQUAL(access(temp, F_OK), -1);
    CU_ASSERT_EQUAL(access(backup, F_OK), 0);
    CU_ASSERT_EQUAL(access(other, F_OK), 0);
    close(ends[0]);
    close(ends[1]);
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
    mode_t mask = umask(022);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    (void)umask(mask);
    struct stat st;
    CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode, (mode_t)(S_IFDIR | 0755));
    path_of(path, "plain");
    file_publish(path, "", 0, 0644, NULL);
    struct error err = {0};
    CU_ASSERT_EQUAL(file_make_dirs(path, &err), -1);
    ASSERT_CONTAINS(err.text, "not a folder");
    CU_ASSERT_EQUAL(file_make_dirs("", &err), -1);
    ASSERT_CONTAINS(err.text, "an empty path");
    char *longest = malloc(PATH_MAX + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(longest);
    memset(longest, '/', PATH_MAX);
    longest[PATH_MAX] = '\0';
    CU_ASSERT_EQUAL(file_make_dirs(longest, &err), -1);
    ASSERT_CONTAINS(err.text, "too long");
    CU_ASSERT_EQUAL(file_make_dirs(longest + 1, NULL), 0);
    free(longest);
}

static void exact_reads_notice_an_early_end(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(file_write_all(ends[1], "abc", 3, NULL), 0);
    close(ends[1]);
    char bytes[4] = "";
    CU_ASSERT_EQUAL(file_read_exact(ends[0], bytes, 1, NULL), 0);
    CU_ASSERT_EQUAL(file_read_exact(ends[0], bytes + 1, 1, NULL), 0);
    CU_ASSERT_STRING_EQUAL(bytes, "ab");
    struct error err = {0};
    CU_ASSERT_EQUAL(file_read_exact(ends[0], bytes, 2, &err), -1);
    ASSERT_CONTAINS(err.text, "end of file");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    close(ends[0]);
    CU_ASSERT_EQUAL(file_read_exact(-1, bytes, 2, &err), -1);
    CU_ASSERT_EQUAL(err.os_errno, EBADF);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
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

static void a_program_finds_itself(void) {
    char path[4096];
    struct error err = {0};
    CU_ASSERT_EQUAL(file_self(path, sizeof(path), &err), 0);
    ASSERT_CONTAINS(path, "/unit_common_file");
    CU_ASSERT_EQUAL(file_self(path, 8, &err), -1);
    ASSERT_CONTAINS(err.text, "too long");
}

UNIT_SUITE("common.file", UNIT(publish_replaces_the_whole_file),
           UNIT(what_is_published_is_on_disk_before_it_has_its_name),
           UNIT(what_could_not_be_synced_is_no_success),
           UNIT(a_folder_that_cannot_be_synced_is_no_error),
           UNIT(the_folder_that_holds_the_name_is_synced),
           UNIT(a_folder_that_may_only_be_written_takes_a_file),
           UNIT(what_the_place_does_not_take_is_the_users_to_mend),
           UNIT(paths_are_as_long_as_the_system_takes),
           UNIT(a_file_that_cannot_have_its_mode_is_not_published),
           UNIT(a_file_that_cannot_be_written_is_named_and_gone),
           UNIT(a_file_that_was_tidied_away_is_made_again),
           UNIT(tidying_leaves_what_is_being_written),
           UNIT(an_aborted_publish_leaves_the_old_file_alone),
           UNIT(publishing_into_a_missing_folder_names_it), UNIT(reading_stops_at_the_ceiling),
           UNIT(a_fifo_is_refused_at_once), UNIT(folders_are_made_with_their_parents),
           UNIT(exact_reads_notice_an_early_end), UNIT(a_put_file_replaces_a_link_and_not_its_aim),
           UNIT(a_program_finds_itself))
