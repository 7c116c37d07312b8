/* What checkpoint_save does if the disk is full. This program is linked with --wrap=write and
 * --wrap=unlink (tests/room.cmake): a folder has room for a limited number of bytes, like a disk of
 * its own, or refuses to delete checkpoints. */
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VALUES = 4096 };

static struct error err;
static const char *disk; /* the limited folder; NULL: there is no limit */
static off_t disk_size;
static int disk_number = ENOSPC; /* errno of a write that has no room */

static int unlink_number; /* errno of deleting a checkpoint; 0: it succeeds */

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

static off_t disk_used(void) {
    DIR *dir = opendir(disk);
    off_t used = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *item = readdir(dir); item != NULL; item = readdir(dir)) {
        struct stat st;
        if (fstatat(dirfd(dir), item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            used += st.st_size;
    }
    closedir(dir);
    return used;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size) {
    if (disk == NULL || fd <= STDERR_FILENO || disk_used() + (off_t)size <= disk_size)
        return __real_write(fd, bytes, size);
    errno = disk_number;
    return -1;
}

int __wrap_unlink(const char *path) {
    const char *name = strrchr(path, '/');
    if (unlink_number == 0 || name == NULL || !checkpoint_is_name(name + 1))
        return __real_unlink(path);
    if (unlink_number == ENOENT) /* another process was faster */
        (void)__real_unlink(path);
    errno = unlink_number;
    return -1;
}

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return folder;
}

static bool is_there(const char *folder, int step) {
    char path[1400];
    snprintf(path, sizeof(path), "%s/step-%09d.safetensors", folder, step);
    return access(path, F_OK) == 0;
}

static int save(const char *folder, int step, struct buf *notes) {
    static float values[VALUES];
    char state[200];
    const struct array array = {
        .name = "w", .type = ARRAY_F32, .rank = 1, .shape = {VALUES}, .data = values};
    values[0] = (float)step;
    snprintf(state, sizeof(state), "{\"course\":0,\"samples\":%d,\"step\":%d}", 4 * step, step);
    const struct checkpoint_words words = {.state = state};
    return checkpoint_save(folder, step, CHECKPOINT_KEEP, &array, 1, &words, NULL, notes, &err);
}

static int newest_valid(const char *folder) {
    cleanup_safetensors struct safetensors file = {0};
    struct checkpoint_position position = {0};
    bool found = false;
    CU_ASSERT_EQUAL_FATAL(checkpoint_find(folder, NULL, &file, &position, &found, NULL, &err), 0);
    return found ? (int)position.step : -1;
}

static void write_text(const char *folder, const char *name, const char *text) {
    char path[1400];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

/* From now on FOLDER has room for COUNT checkpoints and half of another one. */
static void fill(const char *folder, int count) {
    disk = folder;
    disk_size = (off_t)count * VALUES * (off_t)sizeof(float) + (off_t)VALUES * 2;
}

static void the_oldest_one_makes_room_and_that_is_reported(void) {
    static const int numbers[] = {ENOSPC, EDQUOT};
    for (int i = 0; i < 2; i++) {
        cleanup_buf struct buf notes = {.max = 10000};
        const char *folder = folder_of(i == 0 ? "oldest" : "quota");
        char told[800];
        CU_ASSERT_EQUAL_FATAL(save(folder, 1, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(save(folder, 2, NULL), 0);
        disk_number = numbers[i];
        fill(folder, 2);
        CU_ASSERT_EQUAL(save(folder, 3, &notes), 0);
        snprintf(told, sizeof(told), "no room in %s: removed its oldest checkpoint, step 1\n",
                 folder);
        CU_ASSERT_STRING_EQUAL(buf_text(&notes), told);
        CU_ASSERT(!is_there(folder, 1) && is_there(folder, 2));
        CU_ASSERT_EQUAL(newest_valid(folder), 3);
        CU_ASSERT_EQUAL(save(folder, 4, NULL), 0); /* the notes are optional */
        CU_ASSERT(!is_there(folder, 2) && is_there(folder, 3));
        disk = NULL;
    }
    disk_number = ENOSPC;
}

static void a_first_one_without_room_is_beside_none(void) {
    const char *folder = folder_of("first");
    char told[800];
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    fill(folder, 0);
    CU_ASSERT_EQUAL(save(folder, 1, NULL), -1);
    disk = NULL;
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    snprintf(told, sizeof(told), "no room for it; %s needs %.1f MiB for each of two: ", folder,
             (double)VALUES * sizeof(float) / (1024 * 1024));
    ASSERT_CONTAINS(err.text, told);
}

static void the_newest_one_is_kept_and_the_error_says_so(void) {
    const char *folder = folder_of("newest");
    cleanup_buf struct buf notes = {.max = 10000};
    CU_ASSERT_EQUAL_FATAL(save(folder, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(save(folder, 2, NULL), 0);
    fill(folder, 1);
    CU_ASSERT_EQUAL(save(folder, 3, &notes), -1);
    disk = NULL;
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "no room for it beside the newest checkpoint, which is kept");
    ASSERT_CONTAINS(err.text, "step-000000003.safetensors");
    ASSERT_CONTAINS(buf_text(&notes), "removed its oldest checkpoint, step 1");
    CU_ASSERT(!is_there(folder, 1));
    CU_ASSERT_EQUAL(newest_valid(folder), 2);
}

/* A restart needs the newest valid checkpoint, even if a damaged one has a later number. */
static void a_damaged_one_makes_room_before_it(void) {
    const char *folder = folder_of("damaged");
    char path[1400];
    CU_ASSERT_EQUAL_FATAL(save(folder, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(save(folder, 2, NULL), 0);
    snprintf(path, sizeof(path), "%s/step-000000002.safetensors", folder);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0 && lseek(fd, -1, SEEK_END) > 0 && write(fd, "x", 1) == 1);
    close(fd);
    fill(folder, 2);
    CU_ASSERT_EQUAL(save(folder, 3, NULL), 0);
    disk = NULL;
    CU_ASSERT(is_there(folder, 1) && !is_there(folder, 2) && is_there(folder, 3));
}

static void what_is_no_checkpoint_of_ours_makes_no_room(void) {
    const char *folder = folder_of("others");
    CU_ASSERT_EQUAL_FATAL(save(folder, 5, NULL), 0);
    write_text(folder, "step-000000001.safetensors", "somebody's");
    fill(folder, 1);
    CU_ASSERT_EQUAL(save(folder, 6, NULL), -1);
    disk = NULL;
    CU_ASSERT(is_there(folder, 1) && is_there(folder, 5));
}

static void a_disk_without_any_room_takes_nothing(void) {
    const char *folder = folder_of("none");
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    for (off_t room = 0; room < (off_t)VALUES * 4; room += 200) {
        disk = folder;
        disk_size = room;
        CU_ASSERT_EQUAL(save(folder, 1, NULL), -1);
        disk = NULL;
        CU_ASSERT_EQUAL(err.os_errno, ENOSPC);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT_FALSE(is_there(folder, 1));
    }
}

static void another_failure_costs_no_checkpoint(void) {
    const char *folder = folder_of("failing");
    cleanup_buf struct buf notes = {.max = 10000};
    CU_ASSERT_EQUAL_FATAL(save(folder, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(save(folder, 2, NULL), 0);
    disk_number = EIO;
    fill(folder, 2);
    CU_ASSERT_EQUAL(save(folder, 3, &notes), -1);
    disk = NULL;
    disk_number = ENOSPC;
    CU_ASSERT_EQUAL(err.os_errno, EIO);
    CU_ASSERT_PTR_NULL(strstr(err.text, "no room"));
    CU_ASSERT_EQUAL(notes.size, 0);
    CU_ASSERT(is_there(folder, 1) && is_there(folder, 2));
}

static void one_that_cannot_be_removed_is_an_error(void) {
    static const int numbers[] = {EPERM, EACCES, ENOENT};
    for (int i = 0; i < 3; i++) {
        char name[20];
        snprintf(name, sizeof(name), "kept-%d", i);
        const char *folder = folder_of(name);
        CU_ASSERT_EQUAL_FATAL(save(folder, 1, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(save(folder, 2, NULL), 0);
        for (int full = 0; full < 2; full++) {
            unlink_number = numbers[i];
            if (full)
                fill(folder, 2);
            int result = save(folder, 3 + full, NULL);
            disk = NULL;
            unlink_number = 0;
            CU_ASSERT_EQUAL(result, numbers[i] == ENOENT ? 0 : -1);
            if (result != 0) {
                CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
                ASSERT_CONTAINS(err.text, "step-000000001.safetensors: cannot be removed");
            }
        }
    }
}

UNIT_SUITE("checkpoint.full_disk", UNIT(the_oldest_one_makes_room_and_that_is_reported),
           UNIT(a_first_one_without_room_is_beside_none),
           UNIT(the_newest_one_is_kept_and_the_error_says_so),
           UNIT(a_damaged_one_makes_room_before_it),
           UNIT(what_is_no_checkpoint_of_ours_makes_no_room),
           UNIT(a_disk_without_any_room_takes_nothing), UNIT(another_failure_costs_no_checkpoint),
           UNIT(one_that_cannot_be_removed_is_an_error))
