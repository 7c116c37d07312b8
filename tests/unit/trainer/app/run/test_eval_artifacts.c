#include "trainer/app/run/eval_artifacts.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A task that has so many pictures of so many bytes to show. */
static struct {
    size_t pictures, size, shown;
    int64_t id;
    double least_score;
} task_says;

static const char JPEG_HEAD[] = "\xff\xd8\xff\xe0";

static int write_list(void *score, const char *path, struct error *err) {
    (void)score;
    return file_publish(path, "[]\n", 3, 0644, err);
}

static int show(void *score, const struct task_show *how, struct error *err) {
    static char bytes[1 << 20];
    (void)score;
    memcpy(bytes, JPEG_HEAD, sizeof(JPEG_HEAD));
    task_says.least_score = how->least_score;
    for (size_t i = 0; i < task_says.pictures && i < how->count; i++) {
        const struct task_picture picture = {task_says.id + (int64_t)i, 2, 3, bytes,
                                             task_says.size};
        if (how->take(how->user, &picture, err) != 0)
            return -1;
        task_says.shown++;
    }
    return 0;
}

static const struct task TASK = {.score_write = write_list, .score_show = show};
static struct task_data DATA = {.task = &TASK};

static const char *path_of(const char *folder, const char *name) {
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static bool exists(const char *folder, const char *name) {
    return access(path_of(folder, name), F_OK) == 0;
}

static const char *new_folder(void) {
    static char folder[512];
    static int number;
    snprintf(folder, sizeof(folder), "%.400s/%d", unit_temp_dir(), number++);
    return folder;
}

static struct eval_artifacts artifacts_in(const char *folder) {
    task_says.pictures = 3;
    task_says.size = 100;
    task_says.shown = 0;
    task_says.id = 40;
    return (struct eval_artifacts){
        .folder = folder, .pictures = 2, .step = 120, .least_score = 0.25, .needed = true};
}

static void files_have_the_step_and_the_picture_in_their_names(void) {
    const char *folder = new_folder();
    struct eval_artifacts f = artifacts_in(folder);
    struct score score = {.data = &DATA};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(eval_artifacts_check(&f, &TASK, &err), 0);
    CU_ASSERT_EQUAL_FATAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    CU_ASSERT(exists(folder, "detections.json"));
    CU_ASSERT(exists(folder, "pictures/step-000000120-40.jpg"));
    CU_ASSERT(exists(folder, "pictures/step-000000120-41.jpg"));
    CU_ASSERT_FALSE(exists(folder, "pictures/step-000000120-42.jpg"));
    CU_ASSERT_DOUBLE_EQUAL(task_says.least_score, 0.25, 0);
    /* Once more at the same step, as a resumed run does, and at another one. */
    CU_ASSERT_EQUAL(eval_artifacts_check(&f, &TASK, &err), 0);
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    f.step = 240;
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    CU_ASSERT(exists(folder, "pictures/step-000000240-41.jpg"));
    CU_ASSERT_EQUAL(f.files, 6);
    CU_ASSERT_EQUAL(f.bytes, 600);
}

static void nothing_is_made_where_nothing_is_wanted(void) {
    struct eval_artifacts f = artifacts_in("");
    struct score score = {.data = &DATA};
    struct error err = {0};
    struct tfevents closed = TFEVENTS_CLOSED;
    f.events = &closed;
    CU_ASSERT_EQUAL(eval_artifacts_check(&f, &TASK, &err), 0);
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    CU_ASSERT_EQUAL(task_says.shown, 0);
    const char *folder = new_folder();
    f = artifacts_in(folder);
    f.pictures = 0;
    CU_ASSERT_EQUAL(eval_artifacts_check(&f, &TASK, &err), 0);
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    CU_ASSERT(exists(folder, "detections.json"));
    CU_ASSERT_FALSE(exists(folder, "pictures"));
}

static int show_mistakes(const struct task_data *data, const struct class_tally *tally,
                         const struct task_show *how, struct error *err) {
    CU_ASSERT_PTR_EQUAL(data->task->mistakes_show, show_mistakes);
    CU_ASSERT_EQUAL(tally->classes, 7);
    return show(NULL, how, err);
}

static void mistakes_are_shown_where_they_were_counted(void) {
    static const struct task classify = {.mistakes_show = show_mistakes};
    struct task_data data = {.task = &classify};
    const struct class_tally tally = {.classes = 7};
    const char *folder = new_folder();
    struct eval_artifacts f = artifacts_in(folder);
    struct score score = {.data = &data};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(eval_artifacts_check(&f, &classify, &err), 0);
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    CU_ASSERT_EQUAL(task_says.shown, 0);
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, &tally, &err), 0);
    CU_ASSERT_EQUAL(task_says.shown, 2);
    CU_ASSERT(exists(folder, "pictures/step-000000120-41.jpg"));
    CU_ASSERT_FALSE(exists(folder, "detections.json"));
}

static void events_get_the_same_pictures(void) {
    const char *folder = unit_temp_dir();
    struct eval_artifacts f = artifacts_in("");
    struct score score = {.data = &DATA};
    struct tfevents events;
    struct error err = {0};
    struct stat before, after;
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&events, folder, "host", 7000000000, &err), 0);
    CU_ASSERT_EQUAL_FATAL(fstat(events.fd, &before), 0);
    f.events = &events;
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(fstat(events.fd, &after), 0);
    CU_ASSERT(after.st_size - before.st_size > 2 * 100);
    CU_ASSERT(after.st_size - before.st_size < 2 * 200);
    tfevents_done(&events);
}

static void bytes_have_a_ceiling(void) {
    struct eval_artifacts f = artifacts_in(new_folder());
    struct score score = {.data = &DATA};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(eval_artifacts_check(&f, &TASK, &err), 0);
    f.bytes = EVAL_ARTIFACTS_BYTES_MAX - 150;
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
    CU_ASSERT_EQUAL(f.files, 1);
    CU_ASSERT_EQUAL(f.bytes, EVAL_ARTIFACTS_BYTES_MAX - 50);
    CU_ASSERT(f.told);
}

static void what_is_not_ours_is_not_written_over(void) {
    const char *folder = new_folder();
    struct eval_artifacts f = artifacts_in(folder);
    struct score score = {.data = &DATA};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, &err), 0);
    const char *list = path_of(folder, "detections.json");
    CU_ASSERT_EQUAL_FATAL(file_publish(list, "{\"mine\":1}", 10, 0644, &err), 0);
    CU_ASSERT_EQUAL(eval_artifacts_check(&f, &TASK, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "--out");
    CU_ASSERT_EQUAL_FATAL(unlink(path_of(folder, "detections.json")), 0);
    CU_ASSERT_EQUAL_FATAL(eval_artifacts_check(&f, &TASK, &err), 0);
    const char *picture = path_of(folder, "pictures/step-000000120-40.jpg");
    CU_ASSERT_EQUAL_FATAL(file_publish(picture, "notes", 5, 0644, &err), 0);
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "step-000000120-40.jpg");
    /* A training goes on. */
    f.needed = false;
    CU_ASSERT_EQUAL(eval_artifacts_keep(&f, &score, NULL, &err), 0);
}

static void a_place_that_takes_nothing_is_reported_before_the_work(void) {
    char folder[PATH_MAX];
    struct error err = {0};
    snprintf(folder, sizeof(folder), "%s/file", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_publish(folder, "x", 1, 0644, &err), 0);
    struct eval_artifacts f = artifacts_in(folder);
    CU_ASSERT_EQUAL(eval_artifacts_check(&f, &TASK, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "--out");
    /* A task that leaves nothing does not mind. */
    static const struct task none = {0};
    CU_ASSERT_EQUAL(eval_artifacts_check(&f, &none, &err), 0);
}

UNIT_SUITE("app.eval_artifacts", UNIT(files_have_the_step_and_the_picture_in_their_names),
           UNIT(nothing_is_made_where_nothing_is_wanted),
           UNIT(mistakes_are_shown_where_they_were_counted), UNIT(events_get_the_same_pictures),
           UNIT(bytes_have_a_ceiling), UNIT(what_is_not_ours_is_not_written_over),
           UNIT(a_place_that_takes_nothing_is_reported_before_the_work))
