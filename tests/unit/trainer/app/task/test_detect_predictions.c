/* The output for unlabelled pictures: lists, and the pictures with objects drawn on them. */
#include "trainer/app/task/detect_predictions.h"

#include "tests/unit/trainer/app/task/detect_ask.h"

#include "common/file/file.h"
#include "common/json/json.h"
#include "trainer/app/task/detect_data.h"
#include "trainer/app/task/tasks.h"

#include <ftw.h>
#include <unistd.h>

enum { GIVEN = 3 };

static struct task_data training, given;
static struct task_request ask;
static struct model_config config;
static struct picture_list pictures;
static char paths[GIVEN][PATH_MAX];
static struct error err;

/* Opens three pictures of the set, the second of which is bad. */
static void open_given(void) {
    ask = ask_with(NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(task_open(&training, &ask, &err), 0);
    training.task->describe(&training, &ask, &config);
    const struct detect_data *d = training.own;
    for (size_t i = 0; i < GIVEN; i++) {
        CU_ASSERT_EQUAL_FATAL(
            detection_set_path(&d->validation.set, i, paths[i], sizeof(paths[i]), &err), 0);
        CU_ASSERT_EQUAL_FATAL(picture_list_add(&pictures, paths[i], &err), 0);
    }
    ask.trained = &config;
    ask.pictures = &pictures;
    CU_ASSERT_EQUAL_FATAL(task_open(&given, &ask, &err), 0);
    CU_ASSERT_EQUAL_FATAL(given.validation.source.count, GIVEN);
    (void)bad_samples_note(&given.validation.faults, 1, BAD_SAMPLE_BAD, "none");
}

static void close_given(void) {
    task_close(&given);
    task_close(&training);
    picture_list_done(&pictures);
    CU_ASSERT_PTR_NULL(given.own);
}

/* Two objects in the last picture and one in the first, not sorted by picture. */
static void find(struct coco_results *ret) {
    static const struct {
        size_t picture, category;
        double score;
    } rows[] = {{2, 0, 0.5}, {0, 1, 0.9}, {2, 2, 0.4999}};
    const struct detect_data *d = given.own;
    coco_results_begin(ret, "detections", false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct coco_result one = {.image_id = d->given.index.images[rows[i].picture].id,
                                        .category_id = config.category_ids[rows[i].category],
                                        .score = rows[i].score,
                                        .box = {4, 5, 30, 20},
                                        .has_box = true};
        CU_ASSERT_EQUAL_FATAL(coco_results_add(ret, &one, NULL, &err), 0);
    }
}

static const char *counted_suffix;
static int counted;

static int count_one(const char *path, const struct stat *status, int type, struct FTW *at) {
    const char *end = strrchr(path, '.');
    (void)status, (void)at;
    counted += type == FTW_F && end != NULL && strcmp(end, counted_suffix) == 0;
    return 0;
}

/* Counts the files in and below the folder with this suffix. */
static int count_files(const char *out, const char *suffix) {
    counted = 0;
    counted_suffix = suffix;
    CU_ASSERT_EQUAL(nftw(out, count_one, 8, FTW_PHYS), 0);
    return counted;
}

static struct task_predictions how_in(const char *name) {
    static char out[PATH_MAX / 2];
    snprintf(out, sizeof(out), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(out, &err), 0);
    return (struct task_predictions){.folder = out, .least_score = 0.5};
}

static const char *path_in(const struct task_predictions *how, const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", how->folder, name);
    return path;
}

static void lists_have_what_is_sure_enough_and_good_pictures_are_painted(void) {
    for (int png = 0; png < 2; png++) {
        open_given();
        struct task_predictions how = how_in(png ? "png" : "jpg");
        cleanup_coco_results struct coco_results found = {0}, back = {0};
        cleanup_json json_t *list = NULL;
        how.png = png;
        find(&found);
        CU_ASSERT_EQUAL_FATAL(detect_predictions_check(&given, &how, &err), 0);
        CU_ASSERT_NOT_EQUAL(access(path_in(&how, "predictions.json"), F_OK), 0);
        CU_ASSERT_EQUAL_FATAL(detect_predictions(&given, &found, &how, &err), 0);
        CU_ASSERT_EQUAL_FATAL(coco_results_read(&back, path_in(&how, "predictions.json"), &err), 0);
        CU_ASSERT_EQUAL_FATAL(back.count, 2);
        const struct detect_data *d = given.own;
        CU_ASSERT(back.list[0].image_id == d->given.index.images[0].id &&
                  back.list[0].score == 0.9 && back.list[0].category_id == config.category_ids[1]);
        CU_ASSERT(back.list[1].image_id == d->given.index.images[2].id &&
                  back.list[1].score == 0.5 && back.list[1].box[2] == 30);
        CU_ASSERT_EQUAL_FATAL(json_read_file(path_in(&how, "pictures.json"), &list, &err), 0);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(list, "images")), GIVEN);
        CU_ASSERT_EQUAL(count_files(how.folder, png ? ".png" : ".jpg"), GIVEN - 1);
        CU_ASSERT_EQUAL(count_files(how.folder, png ? ".jpg" : ".png"), 0);
        close_given();
    }
}

/* Pictures of an earlier run, and lists of other programs, are found before the work begins. */
static void what_is_there_is_not_written_over(void) {
    static const char *const lists[] = {"predictions.json", "pictures.json"};
    open_given();
    struct task_predictions how = how_in("jpg");
    CU_ASSERT_EQUAL(detect_predictions_check(&given, &how, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "is there already");
    for (int i = 0; i < 2; i++) {
        how = how_in(lists[i]);
        CU_ASSERT_EQUAL_FATAL(file_publish(path_in(&how, lists[i]), "[1]", 3, 0644, &err), 0);
        CU_ASSERT_EQUAL(detect_predictions_check(&given, &how, &err), -1);
        ASSERT_CONTAINS(err.text, lists[i]);
    }
    static char deep[PATH_MAX];
    memset(deep, 'x', sizeof(deep) - 12);
    how.folder = deep;
    CU_ASSERT_EQUAL(detect_predictions_check(&given, &how, &err), -1);
    ASSERT_CONTAINS(err.text, "--out: ");
    ASSERT_CONTAINS(err.text, "path too long");
    close_given();
}

static void a_picture_that_is_gone_is_named(void) {
    open_given();
    struct task_predictions how = how_in("gone");
    cleanup_coco_results struct coco_results found = {0};
    find(&found);
    CU_ASSERT_EQUAL_FATAL(unlink(paths[0]), 0);
    CU_ASSERT_EQUAL(detect_predictions(&given, &found, &how, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, paths[0]);
    CU_ASSERT_EQUAL(count_files(how.folder, ".jpg"), 0);
    close_given();
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(make_set),
        UNIT(lists_have_what_is_sure_enough_and_good_pictures_are_painted),
        UNIT(what_is_there_is_not_written_over),
        UNIT(a_picture_that_is_gone_is_named),
    };
    if (comm_self_open(&alone, NULL) != 0)
        return 1;
    int result = unit_main("app.detect_predictions", cases, sizeof(cases) / sizeof(cases[0]));
    comm_close(alone);
    return result;
}
