/* Detections of a file against annotations of a file, and all that is written of it. */
#include "trainer/app/command/coco/command_coco.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "tests/support/printed.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 16, TEXT_MAX = 1 << 16 };

/* Three objects, one of them a crowd, of two categories in one picture. */
static const char TRUTH[] =
    "{\"images\":[{\"id\":1,\"file_name\":\"a.jpg\",\"width\":100,\"height\":80}],"
    "\"categories\":[{\"id\":3,\"name\":\"cat\"},{\"id\":8,\"name\":\"dog\"}],\"annotations\":["
    "{\"id\":1,\"image_id\":1,\"category_id\":3,\"bbox\":[10,10,40,40],\"area\":1600,"
    "\"iscrowd\":0,\"segmentation\":[[10,10,50,10,50,50,10,50]]},"
    "{\"id\":2,\"image_id\":1,\"category_id\":8,\"bbox\":[60,20,20,30],\"area\":600,"
    "\"iscrowd\":0,\"segmentation\":[[60,20,80,20,80,50,60,50]]},"
    "{\"id\":3,\"image_id\":1,\"category_id\":8,\"bbox\":[0,60,100,20],\"area\":2000,"
    "\"iscrowd\":1,\"segmentation\":{\"size\":[80,100],\"counts\":[0,8000]}}]}";

/* The cat in box and mask; the dog's box, with a mask that is beside it. */
static const char FOUND[] =
    "[{\"image_id\":1,\"category_id\":3,\"bbox\":[10,10,40,40],\"score\":0.9,"
    "\"segmentation\":[[10,10,50,10,50,50,10,50]]},"
    "{\"image_id\":1,\"category_id\":8,\"bbox\":[60,20,20,30],\"score\":0.8,"
    "\"segmentation\":[[10,10,30,10,30,40,10,40]]}]";

static struct error err;
static char said[TEXT_MAX];

static const char *path_of(const char *name) {
    static char paths[4][600];
    static int turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, 600, "%s/%s", unit_temp_dir(), name);
    return path;
}

static void read_file(const char *name, char text[TEXT_MAX]) {
    cleanup_buf struct buf all = {.max = TEXT_MAX - 1};
    CU_ASSERT_EQUAL_FATAL(file_read(path_of(name), &all, &err), 0);
    (void)snprintf(text, TEXT_MAX, "%s", buf_text(&all));
}

/* Runs the command with "--FLAG", "VALUE" ... after the two files; what it prints is SAID. */
static int score(const char *const *more) {
    char words[WORDS_MAX][600], *argv[WORDS_MAX];
    const char *const files[] = {"--coco", path_of("truth.json"), "--results",
                                 path_of("found.json")};
    int argc = 0;
    for (; argc < 4; argc++)
        (void)snprintf(words[argc], sizeof(words[argc]), "%s", files[argc]);
    for (int i = 0; more[i] != NULL; i++, argc++)
        (void)snprintf(words[argc], sizeof(words[argc]), "%s", more[i]);
    for (int i = 0; i < argc; i++)
        argv[i] = words[i];
    err = (struct error){0};
    int result = printed_to(path_of("out"), command_eval_coco, argc, argv, &err);
    read_file("out", said);
    return result;
}
#define SCORE(...) score((const char *const[]){__VA_ARGS__, NULL})

static void write_files(void) {
    CU_ASSERT_EQUAL_FATAL(file_publish(path_of("truth.json"), TRUTH, strlen(TRUTH), 0644, &err), 0);
    CU_ASSERT_EQUAL_FATAL(file_publish(path_of("found.json"), FOUND, strlen(FOUND), 0644, &err), 0);
}

static double number_at(const json_t *kind, const char *list, const char *name, size_t i) {
    const json_t *of = json_object_get(kind, list);
    if (name != NULL)
        of = json_object_get(json_object_get(of, name), "stats");
    return json_number_value(json_array_get(of, i));
}

static void boxes_and_masks_are_scored_and_written(void) {
    cleanup_json json_t *root = NULL;
    CU_ASSERT_EQUAL_FATAL(SCORE("--json", path_of("all.json"), "--threads", "1"), 0);
    CU_ASSERT_EQUAL_FATAL(json_read_file(path_of("all.json"), &root, &err), 0);
    const json_t *boxes = json_object_get(root, "bbox"), *masks = json_object_get(root, "segm");
    CU_ASSERT_EQUAL(json_object_size(root), 2);
    CU_ASSERT_DOUBLE_EQUAL(number_at(boxes, "stats", NULL, 0), 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number_at(masks, "stats", NULL, 0), 0.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number_at(masks, "per_category", "cat", 0), 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(number_at(masks, "per_category", "dog", 0), 0, 0);
    CU_ASSERT_EQUAL(strncmp(said, "bbox\n", 5), 0);
    ASSERT_CONTAINS(said, "\nsegm\n");
    /* Crowds do not count as objects. */
    ASSERT_CONTAINS(said, "\n cat             1  1.000  1.000  1.000      -  1.000      -\n");
    ASSERT_CONTAINS(said, "\n dog             1  1.000  1.000  1.000  1.000      -      -\n");
}

static void one_kind_alone_may_be_asked_for(void) {
    CU_ASSERT_EQUAL(SCORE("--iou-type", "segm"), 0);
    CU_ASSERT_EQUAL(strncmp(said, "segm\n", 5), 0);
    CU_ASSERT_PTR_NULL(strstr(said, "bbox"));
    CU_ASSERT_EQUAL(SCORE("--iou-type", "bbox"), 0);
    CU_ASSERT_PTR_NULL(strstr(said, "segm"));
    CU_ASSERT_EQUAL(SCORE("--iou-type", "bbox,segm"), 0);
    ASSERT_CONTAINS(said, "bbox\n");
    ASSERT_CONTAINS(said, "\nsegm\n");
}

/* Nothing is scored, said or written where one of the files is wrong. */
static void what_is_wrong_is_reported_by_the_name_of_its_file(void) {
    CU_ASSERT_EQUAL_FATAL(file_publish(path_of("found.json"), "{}", 2, 0644, &err), 0);
    CU_ASSERT_EQUAL(SCORE("--json", path_of("never.json")), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "found.json");
    CU_ASSERT_STRING_EQUAL(said, "");
    CU_ASSERT_NOT_EQUAL(access(path_of("never.json"), F_OK), 0);
}

UNIT_SUITE("app.command_eval_coco", UNIT(write_files), UNIT(boxes_and_masks_are_scored_and_written),
           UNIT(one_kind_alone_may_be_asked_for),
           UNIT(what_is_wrong_is_reported_by_the_name_of_its_file))
