#include "trainer/app/task/tasks.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/app/task/score.h"
#include "trainer/data/dataset/labelled.h"

#include <stdio.h>
#include <string.h>

static struct options options;
static struct inputs inputs;
static struct comm *alone;

static void put(const char *name, const void *bytes, size_t size) {
    char path[4096], folder[4096];
    snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, bytes, size, 0644, NULL), 0);
}

static struct task_request ask_of(const char *const *words, int count) {
    CU_ASSERT_EQUAL_FATAL(
        options_parse(&options, COMMAND_TRAIN, count, (char *const *)(uintptr_t)words, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(
        inputs_find(&inputs, &options, COMMAND_TRAIN, MODEL_CLASSIFY, "/nowhere", NULL), 0);
    return (struct task_request){.options = &options,
                                 .inputs = &inputs,
                                 .comm = alone,
                                 .model = model_find("resnet20"),
                                 .image_size = 32};
}

static void a_synthetic_set_is_trained_on_and_a_tenth_is_scored(void) {
    static const char *const words[] = {"--data", "synthetic",    "--synthetic-images",
                                        "95",     "--batch-size", "7"};
    struct task_request ask = ask_of(words, 6);
    struct task_data data;
    struct model_config config = {0};
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, NULL), 0);
    CU_ASSERT_EQUAL(data.training.source.count, 95);
    CU_ASSERT_EQUAL(data.training.source.batch, 7);
    CU_ASSERT_EQUAL(data.training.source.layout.fields[0].bytes, 7 * 32 * 32 * 3);
    CU_ASSERT_STRING_EQUAL(data.training.source.name, "synthetic");
    CU_ASSERT_EQUAL(data.validation.source.count, 10);
    CU_ASSERT_EQUAL(data.classes, 10);
    CU_ASSERT_STRING_EQUAL(data.class_names[3], "class3");
    CU_ASSERT_EQUAL(data.bad_allowed, 0);
    data.task->describe(&data, &ask, &config);
    CU_ASSERT(config.classes == 10 && config.image_size == 32 && config.resize_side >= 32);
    CU_ASSERT_EQUAL(config.std[2], 0.225);
    task_close(&data);
    CU_ASSERT_PTR_NULL(data.own);
}

static void what_does_not_fit_is_refused_and_closed(void) {
    char train[4096], other[4096];
    struct task_data data;
    struct error err = {0};
    put("two/ant/1.jpg", "x", 1);
    put("two/cow/1.jpg", "x", 1);
    put("other/bee/1.jpg", "x", 1);
    snprintf(train, sizeof(train), "%s/two", unit_temp_dir());
    snprintf(other, sizeof(other), "%s/other", unit_temp_dir());
    const char *const words[] = {"--data", train, "--validation", other};
    struct task_request ask = ask_of(words, 4);
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    ASSERT_CONTAINS(err.text, "class 'bee' of the validation data is not a class of ");
    task_close(&data);

    snprintf(other, sizeof(other), "%s/other/bee", unit_temp_dir()); /* it has no class folders */
    ask = ask_of(words, 4);
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "validation data: ");
    task_close(&data);

    const char *const odd[] = {"--data", train, "--bad-samples", "some"};
    ask = ask_of(odd, 4);
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    task_close(&data);
}

static void one_class_is_nothing_to_learn(void) {
    char train[4096];
    struct task_data data;
    struct error err = {0};
    put("one/ant/1.jpg", "x", 1);
    snprintf(train, sizeof(train), "%s/one", unit_temp_dir());
    const char *const words[] = {"--data", train};
    struct task_request ask = ask_of(words, 2);
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/one has one class folder, ant; ");
    CU_ASSERT_PTR_NULL(strstr(err.text, "COCO"));
    task_close(&data);
}

static void a_coco_set_is_recognized(void) {
    char set[4096];
    struct task_data data;
    struct error err = {0};
    put("objects/images/1.jpg", "x", 1);
    put("objects/annotations.json", "{}", 2);
    snprintf(set, sizeof(set), "%s/objects", unit_temp_dir());
    const char *const words[] = {"--data", set};
    struct task_request ask = ask_of(words, 2);
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/objects has one class folder, images; ");
    ASSERT_CONTAINS(err.text, "/objects/annotations.json looks like COCO annotations, which "
                              "--model maskrcnn_resnet50_fpn takes");
    task_close(&data);
}

/* Validation data that lacks a class can be evaluated: class numbers are those of training. */
static void validation_may_lack_a_class(void) {
    char train[4096];
    struct task_data data;
    put("parts/train/ant/1.jpg", "x", 1);
    put("parts/train/bee/1.jpg", "x", 1);
    put("parts/train/cow/1.jpg", "x", 1);
    put("parts/val/cow/1.jpg", "x", 1);
    snprintf(train, sizeof(train), "%s/parts", unit_temp_dir());
    const char *const words[] = {"--data", train};
    struct task_request ask = ask_of(words, 2);
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, NULL), 0);
    CU_ASSERT_EQUAL(data.validation.source.count, 1);
    CU_ASSERT_EQUAL(data.classes, 3);
    const struct labelled *scored = data.validation.source.set;
    CU_ASSERT_EQUAL(scored->set->labels[0], 2);
    CU_ASSERT_EQUAL(scored->set->classes, 3);
    task_close(&data);
}

/* The model determines the classes and how pictures are prepared. */
static void a_trained_model_is_scored_on_its_own_classes(void) {
    char *names[] = {(char[]){"ant"}};
    struct model_config trained = {
        .class_names = names, .classes = 1, .image_size = 32, .resize_side = 41};
    char train[4096];
    struct task_data data;
    struct model_config again = {0};
    put("train/ant/1.jpg", "x", 1);
    snprintf(train, sizeof(train), "%s/train", unit_temp_dir());
    const char *const words[] = {"--data", train};
    struct task_request ask = ask_of(words, 2);
    snprintf(inputs.validation, sizeof(inputs.validation), "%s", train);
    ask.trained = &trained;
    CU_ASSERT_EQUAL_FATAL(task_open(&data, &ask, NULL), 0);
    CU_ASSERT_EQUAL(data.training.source.count, 0);
    CU_ASSERT_EQUAL(data.validation.source.count, 1);
    data.task->describe(&data, &ask, &again);
    CU_ASSERT_EQUAL(again.resize_side, 41);
    task_close(&data);
    struct error err = {0};
    names[0] = (char[]){"bee"};
    CU_ASSERT_EQUAL(task_open(&data, &ask, &err), -1);
    ASSERT_CONTAINS(err.text, "the model");
    task_close(&data);
}

static void figures_are_printed_by_name_where_a_task_has_no_words_for_them(void) {
    static const struct task plain = {0};
    cleanup_buf struct buf out;
    struct evaluation e = {.images = 12};
    evaluation_add(&e, "bbox_mAP", 0.25);
    evaluation_add(&e, "loss", 2);
    buf_init(&out, 1024);
    CU_ASSERT_EQUAL(task_print(&plain, &out, 1.5, &e, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out),
                           "evaluation: epoch 1.5, bbox_mAP 0.2500, loss 2.0000, 12 images");
}

int main(void) {
    static const struct unit_case cases[] = {
        UNIT(a_synthetic_set_is_trained_on_and_a_tenth_is_scored),
        UNIT(what_does_not_fit_is_refused_and_closed),
        UNIT(one_class_is_nothing_to_learn),
        UNIT(a_coco_set_is_recognized),
        UNIT(validation_may_lack_a_class),
        UNIT(a_trained_model_is_scored_on_its_own_classes),
        UNIT(figures_are_printed_by_name_where_a_task_has_no_words_for_them),
    };
    if (comm_self_open(&alone, NULL) != 0)
        return 1;
    int result = unit_main("app.task", cases, sizeof(cases) / sizeof(cases[0]));
    comm_close(alone);
    return result;
}
