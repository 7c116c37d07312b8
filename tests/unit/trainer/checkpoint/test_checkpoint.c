#include "common/clock.h"
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct error err;

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return folder;
}

static const char *path_of(const char *folder, const char *name) {
    static char path[1400];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static bool is_there(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

static const char *state_of(int64_t lineage, int64_t samples, int64_t step) {
    static char state[200];
    snprintf(state, sizeof(state), "{\"course\":%lld,\"samples\":%lld,\"step\":%lld}",
             (long long)lineage, (long long)samples, (long long)step);
    return state;
}

static const struct checkpoint_words *words_of(int64_t lineage, int64_t samples, int64_t step) {
    static struct checkpoint_words words;
    words = (struct checkpoint_words){.state = state_of(lineage, samples, step)};
    return &words;
}

static const struct checkpoint_words nothing = {.state = "{}"};

/* One value, which is the step. */
static void save_at(const char *folder, int64_t lineage, int64_t samples, int64_t step) {
    float value = (float)step;
    const struct array array = {.name = "w", .type = ARRAY_F32, .data = &value};
    CU_ASSERT_EQUAL_FATAL(checkpoint_save(folder, step, CHECKPOINT_KEEP, &array, 1,
                                          words_of(lineage, samples, step), NULL, NULL, &err),
                          0);
}

/* Four samples a step. */
static void save(const char *folder, int64_t step) {
    save_at(folder, 0, 4 * step, step);
}

/* The step of the newest valid checkpoint, -1 for none; checks that its value is the step. */
static int64_t find(const char *folder, struct buf *notes) {
    cleanup_safetensors struct safetensors file = {0};
    struct checkpoint_position position = {0};
    bool found = true;
    float value = -1;
    const struct array array = {.name = "w", .type = ARRAY_F32, .data = &value};
    CU_ASSERT_EQUAL_FATAL(checkpoint_find(folder, NULL, &file, &position, &found, notes, &err), 0);
    if (!found)
        return -1;
    CU_ASSERT_STRING_EQUAL(safetensors_note(&file, CHECKPOINT_STATE),
                           state_of(position.lineage, position.samples, position.step));
    CU_ASSERT_EQUAL(safetensors_read(&file, &array, &err), 0);
    CU_ASSERT_EQUAL(value, (float)position.step);
    return position.step;
}

static void nothing_is_found_where_nothing_is(void) {
    CU_ASSERT_EQUAL(find(folder_of("missing"), NULL), -1);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder_of("empty"), NULL), 0);
    CU_ASSERT_EQUAL(find(folder_of("empty"), NULL), -1);
}

static void the_newest_two_are_kept(void) {
    const char *folder = folder_of("two");
    for (int64_t step = 10; step <= 50; step += 10)
        save(folder, step);
    CU_ASSERT_FALSE(is_there(path_of(folder, "step-000000030.safetensors")));
    CU_ASSERT_TRUE(is_there(path_of(folder, "step-000000040.safetensors")));
    CU_ASSERT_TRUE(is_there(path_of(folder, "step-000000050.safetensors")));
    CU_ASSERT_EQUAL(find(folder, NULL), 50);
    cleanup_safetensors struct safetensors file = {0};
    struct checkpoint_position position = {.samples = 200, .step = 50};
    bool found = false;
    CU_ASSERT_EQUAL(checkpoint_find(folder, &position, &file, &position, &found, NULL, &err), 0);
    CU_ASSERT(found && position.step == 40 && position.samples == 160);
}

static void a_damaged_one_falls_back_to_the_one_before(void) {
    const char *folder = folder_of("damaged");
    cleanup_buf struct buf bytes;
    cleanup_buf struct buf notes;
    buf_init(&bytes, 1 << 20);
    buf_init(&notes, 1 << 16);
    save(folder, 1);
    save(folder, 2);
    const char *newest = path_of(folder, "step-000000002.safetensors");
    CU_ASSERT_EQUAL_FATAL(file_read(newest, &bytes, NULL), 0);
    bytes.data[bytes.size - 1] ^= 1;
    CU_ASSERT_EQUAL_FATAL(file_publish(newest, bytes.data, bytes.size, 0644, NULL), 0);
    CU_ASSERT_EQUAL(find(folder, &notes), 1);
    ASSERT_CONTAINS(buf_text(&notes), "step-000000002.safetensors: w: does not match");
    CU_ASSERT_EQUAL_FATAL(file_publish(newest, bytes.data, bytes.size / 2, 0644, NULL), 0);
    CU_ASSERT_EQUAL(find(folder, NULL), 1);
    CU_ASSERT_EQUAL(checkpoint_open(newest, &(struct safetensors){0}, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    /* It is an error if there is no room for the note about it. */
    cleanup_buf struct buf full = {.max = 3};
    cleanup_safetensors struct safetensors file = {0};
    struct checkpoint_position position = {0};
    bool found = true;
    CU_ASSERT_EQUAL(checkpoint_find(folder, NULL, &file, &position, &found, &full, &err), -1);
    CU_ASSERT_FALSE(found);
}

static void what_an_interrupted_write_left_goes_and_the_rest_stays(void) {
    const char *folder = folder_of("temp");
    save(folder, 1);
    /* The first alone is what our own write leaves; the others are somebody's, whatever they hold.
     */
    const char *names[] = {"step-000000002.safetensors.partial-AbC123",
                           "step-2.safetensors",
                           "notes.txt",
                           "step-000000003.safetensors.backup",
                           "step-000000003.safetensors.AbC123",
                           "step-000000003.safetensors.backup-2026-01",
                           "step-000000003.safetensors.partial-AbC1234",
                           "my-step-000000003.safetensors.partial-AbC123",
                           "step-000000005.safetensors"};
    const size_t count = sizeof(names) / sizeof(names[0]);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL_FATAL(file_publish(path_of(folder, names[i]), "x", 1, 0644, NULL), 0);
    CU_ASSERT_EQUAL(find(folder, NULL), 1);
    for (int64_t step = 6; step < 10; step++)
        save(folder, step);
    CU_ASSERT_FALSE(is_there(path_of(folder, names[0])));
    for (size_t i = 1; i < count; i++)
        CU_ASSERT_TRUE(is_there(path_of(folder, names[i])));
}

/* A larger global batch takes fewer steps: the numbers fall while the training goes on. */
static void the_order_is_that_of_samples_and_not_of_steps(void) {
    const char *folder = folder_of("samples");
    save_at(folder, 0, 268, 67);
    save_at(folder, 0, 536, 134);
    save_at(folder, 0, 792, 24);
    CU_ASSERT_EQUAL(find(folder, NULL), 24);
    CU_ASSERT_FALSE(is_there(path_of(folder, "step-000000067.safetensors")));
    save_at(folder, 0, 1048, 32);
    CU_ASSERT_EQUAL(find(folder, NULL), 32);
    CU_ASSERT_FALSE(is_there(path_of(folder, "step-000000134.safetensors")));
    CU_ASSERT_TRUE(is_there(path_of(folder, "step-000000024.safetensors")));
}

static void a_later_course_is_newer_whatever_came_before(void) {
    const char *folder = folder_of("course");
    struct checkpoint_position position = {0};
    bool found = true;
    CU_ASSERT_EQUAL(checkpoint_newest(folder, &position, &found, &err), 0);
    CU_ASSERT_FALSE(found);
    save_at(folder, 0, 9000, 900);
    save_at(folder, 1, 10, 1);
    CU_ASSERT_EQUAL(find(folder, NULL), 1);
    CU_ASSERT_TRUE(is_there(path_of(folder, "step-000000900.safetensors")));
    CU_ASSERT_EQUAL(checkpoint_newest(folder, &position, &found, &err), 0);
    CU_ASSERT(found && position.lineage == 1 && position.samples == 10 && position.step == 1);
    save_at(folder, 1, 20, 2);
    CU_ASSERT_EQUAL(find(folder, NULL), 2);
    CU_ASSERT_FALSE(is_there(path_of(folder, "step-000000900.safetensors")));
}

/* What has just been written stays, even if something newer than it lies there. */
static void the_file_just_written_is_kept(void) {
    const char *folder = folder_of("behind");
    save_at(folder, 5, 10, 1);
    save_at(folder, 5, 20, 2);
    save_at(folder, 0, 30, 3);
    CU_ASSERT_TRUE(is_there(path_of(folder, "step-000000003.safetensors")));
    CU_ASSERT_TRUE(is_there(path_of(folder, "step-000000002.safetensors")));
    CU_ASSERT_FALSE(is_there(path_of(folder, "step-000000001.safetensors")));
}

static void write_version(const char *folder, const char *name, const char *version) {
    const struct safetensors_note notes[] = {{CHECKPOINT_STATE, "{\"step\":7,\"global_batch\":4}"},
                                             {"format_version", version}};
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(
        safetensors_write(path_of(folder, name), NULL, 0, notes, version != NULL ? 2 : 1, &err), 0);
}

static void a_later_format_is_refused_by_name_and_stays(void) {
    const char *folder = folder_of("future");
    const char *name = "step-000000007.safetensors";
    cleanup_safetensors struct safetensors file = {0};
    struct checkpoint_position position = {0};
    bool found = false;
    write_version(folder, name, "3");
    for (int64_t step = 1; step < 5; step++)
        save(folder, step);
    CU_ASSERT_EQUAL(checkpoint_find(folder, NULL, &file, &position, &found, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, name);
    ASSERT_CONTAINS(err.text, "format version 3");
    CU_ASSERT_EQUAL(checkpoint_newest(folder, &position, &found, &err), -1);
    CU_ASSERT_TRUE(is_there(path_of(folder, name)));
    write_version(folder, name, "old");
    CU_ASSERT_EQUAL(checkpoint_open(path_of(folder, name), &file, &err), -1);
    ASSERT_CONTAINS(err.text, "format_version");
}

static void the_first_format_counts_as_the_first_course(void) {
    const char *folder = folder_of("first");
    struct checkpoint_position position = {0};
    bool found = false;
    write_version(folder, "step-000000007.safetensors", NULL);
    CU_ASSERT_EQUAL(checkpoint_newest(folder, &position, &found, &err), 0);
    CU_ASSERT(found && position.lineage == 0 && position.samples == 28 && position.step == 7);
    save_at(folder, 0, 32, 1);
    CU_ASSERT_EQUAL(find(folder, NULL), 1);
}

static void a_model_is_no_checkpoint(void) {
    const char *folder = folder_of("model");
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    const char *path = path_of(folder, "step-000000001.safetensors");
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, NULL, 0, NULL, 0, &err), 0);
    CU_ASSERT_EQUAL(checkpoint_open(path, &(struct safetensors){0}, &err), -1);
    ASSERT_CONTAINS(err.text, "not a checkpoint");
}

static void the_path_is_reported(void) {
    char path[CHECKPOINT_PATH_MAX];
    const char *folder = folder_of("path");
    CU_ASSERT_EQUAL(
        checkpoint_save(folder, 12, CHECKPOINT_KEEP, NULL, 0, words_of(0, 1, 12), path, NULL, &err),
        0);
    CU_ASSERT_STRING_EQUAL(path, path_of(folder, "step-000000012.safetensors"));
    CU_ASSERT_EQUAL(checkpoint_save(folder, CHECKPOINT_STEP_MAX + 1LL, CHECKPOINT_KEEP, NULL, 0,
                                    &nothing, path, NULL, &err),
                    -1);
    CU_ASSERT_EQUAL(
        checkpoint_save(folder, -1, CHECKPOINT_KEEP, NULL, 0, &nothing, path, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    CU_ASSERT_STRING_EQUAL(path, path_of(folder, "step-000000012.safetensors"));
    CU_ASSERT_EQUAL(
        checkpoint_save(folder, 0, CHECKPOINT_KEEP, NULL, 0, words_of(0, 0, 0), path, NULL, &err),
        0);
    CU_ASSERT_STRING_EQUAL(path, path_of(folder, "step-000000000.safetensors"));
    CU_ASSERT_EQUAL(checkpoint_save(folder, CHECKPOINT_STEP_MAX, CHECKPOINT_KEEP, NULL, 0,
                                    words_of(0, 2, CHECKPOINT_STEP_MAX), path, NULL, &err),
                    0);
    CU_ASSERT_STRING_EQUAL(path, path_of(folder, "step-999999999.safetensors"));
}

static void a_folder_that_is_none_is_an_error(void) {
    cleanup_safetensors struct safetensors file = {0};
    struct checkpoint_position position = {0};
    bool found = true;
    CU_ASSERT_EQUAL(checkpoint_find("/dev/null", NULL, &file, &position, &found, NULL, &err), -1);
    CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == ENOTDIR);
    CU_ASSERT_FALSE(found);
    found = true;
    CU_ASSERT_EQUAL(checkpoint_newest("/dev/null", &position, &found, &err), -1);
    CU_ASSERT_FALSE(found);
    CU_ASSERT_EQUAL(
        checkpoint_save("/dev/null", 1, CHECKPOINT_KEEP, NULL, 0, &nothing, NULL, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "checkpoint: /dev/null");
}

/* Neither damaged nor absent: the code that looks for a checkpoint to resume from has to know. */
static void expect_unreadable(const char *folder, const char *name, int number) {
    cleanup_safetensors struct safetensors file = {0};
    cleanup_buf struct buf notes;
    struct checkpoint_position position = {0};
    bool found = true;
    buf_init(&notes, 1 << 16);
    err = (struct error){0};
    CU_ASSERT_EQUAL(checkpoint_find(folder, NULL, &file, &position, &found, &notes, &err), -1);
    CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == number && !found);
    ASSERT_CONTAINS(err.text, name);
    err = (struct error){0};
    CU_ASSERT_EQUAL(checkpoint_newest(folder, &position, &found, &err), -1);
    CU_ASSERT(err.code == EXIT_CODE_CONFIG && err.os_errno == number && !found);
    ASSERT_CONTAINS(err.text, name);
}

static void one_that_the_system_does_not_let_us_read_is_an_error(void) {
    static const char name[] = "step-000000002.safetensors";
    const char *folder = folder_of("unreadable");
    char path[700];
    save(folder, 1);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(symlink(name, path), 0); /* leads to itself */
    expect_unreadable(folder, name, ELOOP);
    /* A save goes on with what it knows, and removes neither it nor what may be its elder. */
    save(folder, 3);
    save(folder, 4);
    CU_ASSERT_TRUE(is_there(path));
    expect_unreadable(folder, name, ELOOP);
    /* A link with a missing target, as when a file system is not mounted. */
    CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("/proc/none/step", path), 0);
    expect_unreadable(folder, name, ENOENT);
    CU_ASSERT_EQUAL_FATAL(unlink(path), 0);
    CU_ASSERT_EQUAL(find(folder, NULL), 4);
}

static void without_descriptors_nothing_is_absent(void) {
    const char *folder = folder_of("descriptors");
    struct rlimit before, none;
    save(folder, 1);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    int fd = dup(0);
    CU_ASSERT_FATAL(fd >= 0);
    (void)close(fd);
    none = before;
    /* Room for the folder, none for a file in it; then not even for the folder. */
    none.rlim_cur = (rlim_t)fd + 1;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect_unreadable(folder, "step-000000001.safetensors", EMFILE);
    none.rlim_cur = (rlim_t)fd;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect_unreadable(folder, "descriptors", EMFILE);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CU_ASSERT_EQUAL(find(folder, NULL), 1);
}

static int count_files(const char *folder) {
    DIR *dir = opendir(folder);
    int count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    for (const struct dirent *item = readdir(dir); item != NULL; item = readdir(dir))
        count += item->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* In a child process with a limit on file size: to a writer this looks like a full disk. */
static void save_without_room(const char *folder) {
    static float big[65536];
    const struct array array = {
        .name = "w", .type = ARRAY_F32, .rank = 1, .shape = {65536}, .data = big};
    const struct rlimit small = {.rlim_cur = 1000, .rlim_max = 1000};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0)
        _exit(2);
    int rc =
        checkpoint_save(folder, 2, CHECKPOINT_KEEP, &array, 1, words_of(0, 8, 2), NULL, NULL, &err);
    _exit(rc == -1 && err.code == EXIT_CODE_CONFIG &&
                  strstr(err.text, "step-000000002.safetensors") != NULL
              ? 0
              : 1);
}

static void a_full_disk_is_an_error_and_costs_nothing(void) {
    const char *folder = folder_of("full");
    int status = -1;
    save(folder, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        save_without_room(folder);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(find(folder, NULL), 1);
    CU_ASSERT_EQUAL(count_files(folder), 1);
}

/* In a child, until it is killed: one checkpoint after the other. */
static void save_for_ever(const char *folder, int64_t step) {
    for (;; step++) {
        float value = (float)step;
        const struct array array = {.name = "w", .type = ARRAY_F32, .data = &value};
        if (checkpoint_save(folder, step, CHECKPOINT_KEEP, &array, 1, words_of(0, 4 * step, step),
                            NULL, NULL, &err) != 0)
            _exit(1);
    }
}

static void a_kill_at_any_moment_leaves_a_valid_one(void) {
    const char *folder = folder_of("killed");
    int64_t step = 1;
    save(folder, step);
    /* Later and later; on a busy machine or disk until one has got so far as to save. */
    int64_t later = 200000;
    for (int i = 0; i < 40 || (step == 1 && later < 60 * CLOCK_SECOND); i++) {
        int status = 0;
        const struct timespec moment = {.tv_sec = later / CLOCK_SECOND,
                                        .tv_nsec = later % CLOCK_SECOND};
        later = i < 40 ? later + 130000 : 2 * later;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            save_for_ever(folder, step + 1);
        nanosleep(&moment, NULL);
        kill(child, SIGKILL);
        CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        CU_ASSERT_TRUE(WIFSIGNALED(status));
        int64_t found = find(folder, NULL);
        CU_ASSERT(found >= step);
        step = found;
    }
    CU_ASSERT(step > 1);
    save(folder, step + 1);
    CU_ASSERT_EQUAL(count_files(folder), CHECKPOINT_KEEP); /* and no temporary file is left */
}

UNIT_SUITE("checkpoint.checkpoint", UNIT(nothing_is_found_where_nothing_is),
           UNIT(the_newest_two_are_kept), UNIT(a_damaged_one_falls_back_to_the_one_before),
           UNIT(what_an_interrupted_write_left_goes_and_the_rest_stays),
           UNIT(the_order_is_that_of_samples_and_not_of_steps),
           UNIT(a_later_course_is_newer_whatever_came_before), UNIT(the_file_just_written_is_kept),
           UNIT(a_later_format_is_refused_by_name_and_stays),
           UNIT(the_first_format_counts_as_the_first_course), UNIT(a_model_is_no_checkpoint),
           UNIT(the_path_is_reported), UNIT(a_folder_that_is_none_is_an_error),
           UNIT(one_that_the_system_does_not_let_us_read_is_an_error),
           UNIT(without_descriptors_nothing_is_absent),
           UNIT(a_full_disk_is_an_error_and_costs_nothing),
           UNIT(a_kill_at_any_moment_leaves_a_valid_one))
