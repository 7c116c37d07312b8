#include "trainer/data/coco/coco_load.h"
#include "trainer/data/coco/coco_task.h"

#include "tests/unit/trainer/data/coco/coco_files.h"
#include "trainer/eval/coco_stats.h"

#define OBJECT(id_, image, category)                                                               \
    "{\"id\":" #id_ ",\"image_id\":" #image ",\"category_id\":" #category                          \
    ",\"bbox\":[2,2,5,5],\"area\":25,\"iscrowd\":0,\"segmentation\":[[2,2,7,2,7,7,2,7]]}"
#define FOUND(image, category)                                                                     \
    "{\"image_id\":" #image ",\"category_id\":" #category ",\"score\":0.5"
#define MASK ",\"segmentation\":{\"size\":[10,10],\"counts\":\"f0550000000l0\"}}"

/* A task and the data that it uses. */
struct scene {
    struct coco_index index;
    struct coco_results results;
    struct coco_task task;
};

static int make(struct scene *scene, const char *annotations, const char *results, bool masks,
                enum coco_area_of area, struct error *err) {
    char text[4096];
    *scene = (struct scene){0};
    snprintf(text, sizeof(text), "{\"annotations\":[%s]," TWO_IMAGES "," TWO_CATEGORIES "}",
             annotations);
    CU_ASSERT_EQUAL_FATAL(coco_load(&scene->index, write_text("set.json", text), NULL, err), 0);
    CU_ASSERT_EQUAL_FATAL(
        coco_results_read(&scene->results, write_text("results.json", results), err), 0);
    return coco_task_make(&scene->task, &scene->index, &scene->results, masks, area, err);
}

static void scene_done(struct scene *scene) {
    coco_task_done(&scene->task);
    coco_results_done(&scene->results);
    coco_index_done(&scene->index);
}

static void what_has_no_listed_category_or_image_does_not_count(void) {
    struct scene s;
    struct error err = {0};
    CU_ASSERT_EQUAL(
        make(&s, OBJECT(1, 4, 3) "," OBJECT(2, 4, 8) "," OBJECT(3, 77, 3),
             "[" FOUND(4, 3) ",\"bbox\":[2,2,5,5]}," FOUND(4, 8) ",\"bbox\":[2,2,5,5]}]", false,
             COCO_AREA_OF_BOX, &err),
        0);
    CU_ASSERT_EQUAL(s.task.input.truth.count, 1);
    CU_ASSERT_EQUAL(s.task.input.found.count, 1);
    CU_ASSERT_EQUAL(s.task.left_out, 1);
    CU_ASSERT(s.task.found[0].area == 25 && s.task.found[0].score == 0.5);
    scene_done(&s);
}

static void the_last_of_repeated_annotations_stands_for_all(void) {
    struct scene s;
    struct error err = {0};
    CU_ASSERT_EQUAL(make(&s, OBJECT(1, 9, 3) "," OBJECT(1, 4, 90) "," OBJECT(0, 4, 3), "[]", false,
                         COCO_AREA_OF_BOX, &err),
                    0);
    CU_ASSERT_EQUAL_FATAL(s.task.input.truth.count, 3);
    int repeated = 0, zero = 0;
    for (int i = 0; i < 3; i++) {
        repeated += s.task.truth[i].image == 0 && s.task.truth[i].category == 1;
        zero += s.task.truth[i].id_zero;
    }
    CU_ASSERT_EQUAL(repeated, 2);
    CU_ASSERT_EQUAL(zero, 1);
    scene_done(&s);
}

static void areas_and_boxes_come_from_masks_where_boxes_are_missing(void) {
    struct scene s;
    struct error err = {0};
    CU_ASSERT_EQUAL(
        make(&s, OBJECT(1, 4, 3), "[" FOUND(4, 3) MASK "]", true, COCO_AREA_OF_BOX, &err), 0);
    CU_ASSERT(s.task.found[0].area == 25 && s.task.found[0].box[0] == 2);
    scene_done(&s);
    const char *both = "[" FOUND(4, 3) ",\"bbox\":[0,0,8,8]" MASK "]";
    CU_ASSERT_EQUAL(make(&s, OBJECT(1, 4, 3), both, true, COCO_AREA_OF_BOX, &err), 0);
    CU_ASSERT(s.task.found[0].area == 64);
    scene_done(&s);
    CU_ASSERT_EQUAL(make(&s, OBJECT(1, 4, 3), both, true, COCO_AREA_OF_MASK, &err), 0);
    CU_ASSERT(s.task.found[0].area == 25);
    scene_done(&s);
    CU_ASSERT_EQUAL(make(&s, OBJECT(1, 4, 3), both, false, COCO_AREA_OF_MASK, &err), 0);
    CU_ASSERT(s.task.found[0].area == 64);
    scene_done(&s);
}

static void a_box_without_mask_is_scored_as_its_rectangle(void) {
    struct scene s;
    struct error err = {0};
    CU_ASSERT_EQUAL(make(&s, OBJECT(1, 4, 3), "[" FOUND(4, 3) ",\"bbox\":[2,2,5,5]}]", true,
                         COCO_AREA_OF_BOX, &err),
                    0);
    cleanup_coco_curves struct coco_curves curves = {0};
    double stats[COCO_STATS];
    CU_ASSERT_EQUAL_FATAL(coco_eval(&s.task.input, &curves, &err), 0);
    CU_ASSERT_EQUAL(coco_stats(&curves, stats, &err), 0);
    CU_ASSERT(stats[0] > 0.999999999999);
    scene_done(&s);
}

static void check_refused(const char *annotations, const char *results, bool masks,
                          const char *words) {
    struct scene s;
    struct error err = {0};
    cleanup_coco_curves struct coco_curves curves = {0};
    int failed = make(&s, annotations, results, masks, COCO_AREA_OF_BOX, &err);
    if (failed == 0)
        failed = coco_eval(&s.task.input, &curves, &err);
    CU_ASSERT_EQUAL(failed, -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, words);
    scene_done(&s);
}

static void errors_name_annotation_or_result(void) {
    const char *object = OBJECT(1, 4, 3);
    check_refused(object, "[" FOUND(5, 3) ",\"bbox\":[1,2,3,4]}]", false,
                  "results.json: result 1: image 5 is not in ");
    check_refused("{\"id\":42,\"image_id\":4,\"category_id\":3,\"bbox\":[1,2,3,4]}", "[]", false,
                  "set.json: annotation 42: no \"area\"");
    check_refused("{\"id\":42,\"image_id\":4,\"category_id\":3,\"area\":4}", "[]", false,
                  "annotation 42: no \"bbox\"");
    check_refused("{\"id\":42,\"image_id\":4,\"category_id\":3,\"area\":4}", "[]", true,
                  "set.json: annotation 42: no mask");
    check_refused("{\"id\":42,\"image_id\":4,\"category_id\":3,\"area\":4,\"segmentation\":"
                  "{\"size\":[10,10],\"counts\":\"0T\"}}",
                  "[]", true, "annotation 42: the mask's string ends within a number");
    check_refused(object,
                  "[" FOUND(4, 3) ",\"bbox\":[2,2,5,5],\"segmentation\":{\"size\":[10,10],"
                                  "\"counts\":\"05\"}}]",
                  true, "results.json: result 1: the mask's 2 runs add up to 5 pixels");
    check_refused(object, "[" FOUND(4, 3) ",\"bbox\":[2,2,5e7,5]}]", true,
                  "result 1: coordinate 5e+07 of a polygon");
}

/* The same errors in annotations are found before there is a result. */
static void what_cannot_be_scored_is_found_before(void) {
    static const char *const rows[][2] = {
        {OBJECT(1, 4, 3), ""},
        {OBJECT(1, 4, 3) "," OBJECT(2, 4, 3) "," OBJECT(1, 4, 3) "," OBJECT(1, 9, 3), ""},
        {"{\"id\":42,\"image_id\":77,\"category_id\":3}", ""},
        {"{\"id\":42,\"image_id\":4,\"category_id\":77}", ""},
        {"{\"id\":42,\"image_id\":4,\"category_id\":3,\"bbox\":[1,2,3,4]}", "no \"area\""},
        {"{\"id\":42,\"image_id\":4,\"category_id\":3,\"area\":4}", "no \"bbox\""},
        {"{\"id\":42,\"image_id\":4,\"category_id\":3,\"area\":4,\"bbox\":[1,2,3,4]}", "no mask"},
        {"{\"id\":42,\"image_id\":4,\"category_id\":3,\"area\":4,\"bbox\":[1,2,3,4],\"iscrowd\":1,"
         "\"segmentation\":{\"size\":[10,10],\"counts\":[5,9]}}",
         "the mask's 2 runs add up to 14 pixels"},
        {"{\"id\":42,\"image_id\":4,\"category_id\":3,\"area\":4,\"bbox\":[1,2,3,4],"
         "\"segmentation\":[[1,1,-1e300,1,5,5]]}",
         "coordinate -1e+300 of a polygon"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_coco_index struct coco_index index = {0};
        struct error err = {0};
        char text[4096];
        snprintf(text, sizeof(text), "{\"annotations\":[%s]," TWO_IMAGES "," TWO_CATEGORIES "}",
                 rows[i][0]);
        CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("set.json", text), NULL, &err), 0);
        const bool fine = rows[i][1][0] == '\0';
        CU_ASSERT_EQUAL(coco_task_check(&index, &err), fine ? 0 : -1);
        if (fine)
            continue;
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "set.json: annotation 42: ");
        ASSERT_CONTAINS(err.text, rows[i][1]);
    }
}

static void ids_that_mislead_are_counted_and_reported(void) {
    static const struct {
        const char *annotations;
        size_t repeated, zero;
        const char *words;
    } rows[] = {
        {OBJECT(1, 4, 3) "," OBJECT(2, 4, 3), 0, 0, ""},
        {OBJECT(1, 4, 3) "," OBJECT(2, 4, 3) "," OBJECT(1, 4, 3) "," OBJECT(1, 9, 3), 2, 0,
         "2 annotations have the id of a later one, which is scored in their place; scores may"},
        {OBJECT(0, 4, 3) "," OBJECT(1, 4, 3), 0, 1,
         "1 annotation has the id 0, which is never matched; scores may"},
        {OBJECT(0, 4, 3) "," OBJECT(0, 9, 3), 1, 2,
         "1 annotation has the id of a later one, which is scored in its place; 2 annotations "
         "have the id 0, which is never matched; scores may"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_coco_index struct coco_index index = {0};
        struct coco_task_ids ids;
        char text[4096], words[512];
        snprintf(text, sizeof(text), "{\"annotations\":[%s]," TWO_IMAGES "," TWO_CATEGORIES "}",
                 rows[i].annotations);
        CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("ids.json", text), NULL, NULL), 0);
        CU_ASSERT_EQUAL(coco_task_ids(&index, &ids, NULL), 0);
        CU_ASSERT_EQUAL(ids.repeated, rows[i].repeated);
        CU_ASSERT_EQUAL(ids.zero, rows[i].zero);
        coco_task_ids_text(&ids, words, sizeof(words));
        CU_ASSERT_EQUAL(strncmp(words, rows[i].words, strlen(rows[i].words)), 0);
        CU_ASSERT_EQUAL(words[0] == '\0', rows[i].words[0] == '\0');
    }
}

UNIT_SUITE("data.coco_task", UNIT(ids_that_mislead_are_counted_and_reported),
           UNIT(what_has_no_listed_category_or_image_does_not_count),
           UNIT(the_last_of_repeated_annotations_stands_for_all),
           UNIT(areas_and_boxes_come_from_masks_where_boxes_are_missing),
           UNIT(a_box_without_mask_is_scored_as_its_rectangle),
           UNIT(errors_name_annotation_or_result), UNIT(what_cannot_be_scored_is_found_before))
