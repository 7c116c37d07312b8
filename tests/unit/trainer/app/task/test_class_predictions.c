#include "trainer/app/task/class_predictions.h"

#include "common/file/file.h"
#include "common/json/json.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/labelled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 3, CLASSES = 3, BATCH = 4 };

static char *class_names[] = {(char[]){"ant"}, (char[]){"K\xc3\xa4"}, (char[]){"cow"}};
static char *const PATHS[] = {(char[]){"a\xff.jpg"}, (char[]){"b.jpg"}, (char[]){"c.jpg"}};
static const struct model_config CONFIG = {
    .model = (char[]){"net"}, .class_names = class_names, .classes = CLASSES};

/* Of places 0 ..; the last one is padding. */
static const float LOGITS[BATCH][CLASSES] = {{0, 1, 2}, {9, 9, 9}, {1, 1, NAN}, {5, 5, 5}};

static size_t output_bytes(void *user, const char *name) {
    (void)user;
    return strcmp(name, "logits") == 0 ? sizeof(LOGITS) : 0;
}

static int read_output(void *user, const char *name, void *ret, size_t bytes, struct error *err) {
    (void)user, (void)name, (void)err;
    memcpy(ret, LOGITS, bytes);
    return 0;
}

/* What is reported of a batch if its second picture cannot be used; samples come in another order
 * than the pictures. */
static json_t *told(const char *folder, size_t most, struct error *err) {
    struct dataset set;
    void *score = NULL;
    int64_t images = 0, samples[BATCH] = {2, 1, 0, -1};
    float weight[BATCH] = {1, 0, 1, 0};
    struct batch batch = {.count = 3, .samples = samples};
    const struct task_outputs outputs = {.bytes = output_bytes, .read = read_output};
    const struct task_predictions how = {.folder = folder, .most = most};
    char path[600];
    json_t *root = NULL;
    batch.fields[LABELLED_WEIGHT] = weight;
    CU_ASSERT_EQUAL_FATAL(dataset_open_files(&set, PATHS, PICTURES, err), 0);
    CU_ASSERT_EQUAL_FATAL(class_predictions_open(&CONFIG, &set, &score, err), 0);
    CU_ASSERT_EQUAL_FATAL(class_predictions_check(NULL, &how, err), 0);
    CU_ASSERT_EQUAL(class_predictions_batch(score, &batch, &outputs, &images, err), 0);
    CU_ASSERT_EQUAL(images, 2);
    CU_ASSERT_EQUAL_FATAL(class_predictions_write(score, &how, err), 0);
    class_predictions_close(score);
    dataset_done(&set);
    snprintf(path, sizeof(path), "%.400s/predictions.json", folder);
    CU_ASSERT_EQUAL_FATAL(json_read_file(path, &root, err), 0);
    return root;
}

static const json_t *class_of(const json_t *root, size_t picture, size_t number) {
    const json_t *one = json_array_get(json_object_get(root, "pictures"), picture);
    return json_array_get(json_object_get(one, "classes"), number);
}

static double probability(const json_t *one) {
    return json_number_value(json_object_get(one, "probability"));
}

static void classes_come_by_probability(void) {
    struct error err = {0};
    cleanup_json json_t *root = told(unit_temp_dir(), 2, &err);
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(root, "pictures")), 2);
    const json_t *first = json_array_get(json_object_get(root, "pictures"), 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(first, "file_name")),
                           "a\xef\xbf\xbd.jpg"); /* JSON has UTF-8 alone */
    const json_t *second = json_array_get(json_object_get(root, "pictures"), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(second, "file_name")), "c.jpg");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(second, "classes")), 2);
    double sum = exp(-2) + exp(-1) + 1;
    CU_ASSERT_DOUBLE_EQUAL(probability(class_of(root, 1, 0)), 1 / sum, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(probability(class_of(root, 1, 1)), exp(-1) / sum, 1e-12);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(class_of(root, 1, 1), "index")), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(class_of(root, 1, 1), "name")),
                           class_names[1]);
}

/* Of equal values the first comes first; NaN comes after all others, and has no probability. */
static void what_is_no_number_comes_last(void) {
    struct error err = {0};
    cleanup_json json_t *root = told(unit_temp_dir(), 5, &err);
    for (int i = 0; i < CLASSES; i++) {
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(class_of(root, 0, (size_t)i), "index")),
                        i);
        CU_ASSERT(json_is_null(json_object_get(class_of(root, 0, (size_t)i), "probability")));
    }
}

static void what_is_not_ours_is_not_written_over(void) {
    char path[600];
    struct error err = {0};
    snprintf(path, sizeof(path), "%.400s/other", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    const struct task_predictions how = {.folder = path, .most = 1};
    CU_ASSERT_EQUAL(class_predictions_check(NULL, &how, &err), 0);
    char file[700];
    snprintf(file, sizeof(file), "%s/predictions.json", path);
    CU_ASSERT_EQUAL_FATAL(file_publish(file, "[1]", 3, 0644, NULL), 0);
    CU_ASSERT_EQUAL(class_predictions_check(NULL, &how, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

UNIT_SUITE("app.class_predictions", UNIT(classes_come_by_probability),
           UNIT(what_is_no_number_comes_last), UNIT(what_is_not_ours_is_not_written_over))
