#include "trainer/data/detect/detection_set.h"

#include "tests/unit/trainer/data/coco/coco_files.h"
#include "trainer/data/coco/coco_load.h"

#include <stdlib.h>
#include <string.h>

#define IMAGE(id, width, height)                                                                   \
    "{\"id\":" #id ",\"file_name\":\"" #id ".png\",\"width\":" #width ",\"height\":" #height "}"
#define NAMED(id, name) "{\"id\":" #id ",\"file_name\":\"" name "\",\"width\":20,\"height\":10}"
#define OBJECT(id, image, category, x, y, w, h, more)                                              \
    "{\"id\":" #id ",\"image_id\":" #image ",\"category_id\":" #category ",\"bbox\":[" #x "," #y   \
    "," #w "," #h "],\"area\":1" more "}"
#define OUTLINE ",\"segmentation\":[[1,1,5,1,5,5]]"
#define CROWD ",\"iscrowd\":1,\"segmentation\":{\"size\":[10,20],\"counts\":[0,200]}"
#define SET(images, annotations)                                                                   \
    "{\"images\":[" images "],\"annotations\":[" annotations "]," TWO_CATEGORIES "}"

struct made {
    struct coco_index index;
    struct detection_set set;
    struct error err;
    int failed;
};

static void made_done(struct made *made) {
    detection_set_done(&made->set);
    coco_index_done(&made->index);
}

static void make(struct made *made, const char *json, enum detection_pick pick, bool id_labels) {
    const struct detection_options options = {.pick = pick, .id_labels = id_labels};
    *made = (struct made){0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&made->index, write_text("set.json", json), NULL, &made->err),
                          0);
    made->failed = detection_set_make(&made->set, &made->index, "/pictures", &options, &made->err);
}

static const char FIVE[] =
    SET(IMAGE(1, 20, 10) "," IMAGE(2, 20, 10) "," IMAGE(3, 20, 10) "," IMAGE(4, 20, 10) "," IMAGE(
            5, 20, 10),
        OBJECT(1, 1, 90, 2, 3, 4, 5, OUTLINE) "," OBJECT(2, 1, 3, 1.5, 2.5, 100, 0.5, "") ","
        /* 2: a crowd alone; 3: a box of a pixel; 4: nothing; 5: a box outside */
        OBJECT(3, 2, 3, 0, 0, 20, 10, CROWD) "," OBJECT(4, 3, 3, 4, 4, 1, 8, OUTLINE) "," OBJECT(
            5, 5, 3, 30, 2, 5, 5, OUTLINE));

static void torchvisions_training_takes_pictures_with_a_box(void) {
    struct made made;
    make(&made, FIVE, DETECTION_PICK_TV, false);
    CU_ASSERT_EQUAL_FATAL(made.failed, 0);
    const struct detection_set *set = &made.set;
    /* The crowd's picture and the one with a box outside are used, without objects. */
    CU_ASSERT_EQUAL_FATAL(set->count, 3);
    CU_ASSERT(set->pictures[0].image == 0 && set->pictures[0].count == 2);
    CU_ASSERT(set->pictures[1].image == 1 && set->pictures[1].count == 0);
    CU_ASSERT(set->pictures[2].image == 4 && set->pictures[2].count == 0);
    CU_ASSERT_EQUAL(set->object_count, 2);
    CU_ASSERT_EQUAL(set->labels, 2);
    CU_ASSERT_EQUAL(set->objects[0].label, 2);
    CU_ASSERT_EQUAL(set->objects[1].label, 1);
    CU_ASSERT_EQUAL(detection_set_category(set, 2), 1);
    CU_ASSERT_EQUAL(detection_set_category(set, 3), COCO_NUMBER_NONE);
    static const float boxes[2][4] = {{2, 3, 6, 8}, {1.5F, 2.5F, 20, 3}};
    CU_ASSERT_EQUAL(memcmp(set->objects[0].box, boxes[0], sizeof(boxes[0])), 0);
    CU_ASSERT_EQUAL(memcmp(set->objects[1].box, boxes[1], sizeof(boxes[1])), 0);
    CU_ASSERT(set->objects[0].outlined && !set->objects[1].outlined);
    CU_ASSERT_EQUAL(set->most, 2);
    CU_ASSERT_EQUAL(set->left_out.pictures, 2);
    CU_ASSERT_EQUAL(set->left_out.crowds, 1);
    CU_ASSERT_EQUAL(set->left_out.degenerate, 1);
    CU_ASSERT_EQUAL(set->left_out.outlines, 1);
    CU_ASSERT_EQUAL(set->left_out.clamped, 1);
    made_done(&made);
}

static void pictures_are_picked_by_rule(void) {
    struct made made;
    make(&made, FIVE, DETECTION_PICK_USED, false);
    CU_ASSERT_EQUAL_FATAL(made.failed, 0);
    CU_ASSERT_EQUAL(made.set.count, 2);
    CU_ASSERT_EQUAL(made.set.pictures[1].image, 2);
    CU_ASSERT_EQUAL(made.set.pictures[1].count, 1);
    made_done(&made);
    make(&made, FIVE, DETECTION_PICK_ALL, false);
    CU_ASSERT_EQUAL_FATAL(made.failed, 0);
    CU_ASSERT_EQUAL(made.set.count, 5);
    CU_ASSERT_EQUAL(made.set.object_count, 3);
    CU_ASSERT_EQUAL(made.set.left_out.pictures, 0);
    made_done(&made);
}

/* Maskrcnn-benchmark: a box of 4 x 5 at (2, 3) ends at pixel (5, 7), none goes beyond width - 1,
 * and one that is a pixel wide or less has no width. */
static void boxes_can_hold_their_last_pixels(void) {
    static const float wanted[2][4] = {{2, 3, 5, 7}, {4, 5, 19, 9}};
    struct made made = {0};
    const struct detection_options options = {.pick = DETECTION_PICK_TV, .last_pixel = true};
    const char *json =
        SET(IMAGE(1, 20, 10),
            OBJECT(1, 1, 90, 2, 3, 4, 5, "") "," OBJECT(2, 1, 3, 4, 5, 16, 5, "") "," OBJECT(
                3, 1, 3, 4, 4, 1, 8, "") "," OBJECT(4, 1, 3, 19.5, 4, 3, 8, ""));
    CU_ASSERT_EQUAL_FATAL(coco_load(&made.index, write_text("set.json", json), NULL, &made.err), 0);
    CU_ASSERT_EQUAL_FATAL(
        detection_set_make(&made.set, &made.index, "/pictures", &options, &made.err), 0);
    CU_ASSERT_EQUAL_FATAL(made.set.object_count, 2);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(memcmp(made.set.objects[i].box, wanted[i], sizeof(wanted[i])), 0);
    CU_ASSERT_EQUAL(made.set.left_out.degenerate, 2);
    CU_ASSERT_EQUAL(made.set.left_out.clamped, 0);
    made_done(&made);
}

static void labels_can_be_the_categories_ids(void) {
    struct made made;
    make(&made, FIVE, DETECTION_PICK_ALL, true);
    CU_ASSERT_EQUAL_FATAL(made.failed, 0);
    CU_ASSERT_EQUAL(made.set.labels, 90);
    CU_ASSERT_EQUAL(made.set.objects[0].label, 90);
    CU_ASSERT_EQUAL(detection_set_category(&made.set, 90), 1);
    CU_ASSERT_EQUAL(detection_set_category(&made.set, 1), COCO_NUMBER_NONE);
    made_done(&made);
}

static void what_is_left_out_is_reported(void) {
    struct made made;
    cleanup_buf struct buf text = {.max = 4096};
    make(&made, FIVE, DETECTION_PICK_TV, false);
    CU_ASSERT_EQUAL(detection_set_describe(&made.set, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           "3 pictures, 2 objects of 2 categories; 2 pictures without objects left "
                           "out; 1 crowd left out; 1 box without area left out; 1 box cut at "
                           "the picture's edge; 1 object without outline");
    made_done(&made);
}

/* Ids that come again, an annotation of no image, boxes that no picture has, categories with odd
 * ids: nothing of it is left out in silence, and what is left can be learnt from. */
static void odd_ids_and_boxes_are_counted(void) {
    /* clang-format off */
    static const char json[] =
        "{\"images\":["
            IMAGE(1, 20, 10) "," IMAGE(1, 20, 10) "," NAMED(2, "sub/..a.png") "],"
        "\"annotations\":["
            OBJECT(1, 1, 0, 2, 3, 4, 5, OUTLINE) ","
            OBJECT(1, 2, 2147483648, 2, 3, 4, 5, OUTLINE) ","
            OBJECT(2, 9, 0, 2, 3, 4, 5, OUTLINE) ","
            OBJECT(3, 1, 0, 1e300, 3, 4, 5, OUTLINE) ","
            OBJECT(4, 1, 0, -1e300, 3, 1e300, 5, OUTLINE) ","
            OBJECT(5, 1, 0, -1e300, -1e300, 1.5e300, 1.5e300, OUTLINE) "],"
        "\"categories\":[{\"id\":0,\"name\":\"zero\"},"
            "{\"id\":2147483648,\"name\":\"far\"},{\"id\":0,\"name\":\"nought\"}]}";
    /* clang-format on */
    struct made made;
    char path[64];
    cleanup_buf struct buf text = {.max = 4096};
    make(&made, json, DETECTION_PICK_TV, false);
    CU_ASSERT_EQUAL_FATAL(made.failed, 0);
    CU_ASSERT_EQUAL(detection_set_describe(&made.set, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(
        buf_text(&text),
        "2 pictures, 2 objects of 2 categories; 1 repeated image id (the last counts); 1 "
        "repeated category id (the last counts); 1 annotation of an image that is not listed "
        "left out; 3 boxes without area left out");
    CU_ASSERT(made.set.objects[0].label == 1 && made.set.objects[1].label == 2);
    CU_ASSERT_EQUAL(detection_set_path(&made.set, 1, path, sizeof(path), NULL), 0);
    CU_ASSERT_STRING_EQUAL(path, "/pictures/sub/..a.png");
    made_done(&made);
}

static void other_sets_have_other_hashes(void) {
    static const char *const sets[] = {
        SET(IMAGE(1, 20, 10), OBJECT(1, 1, 90, 2, 3, 4, 5, OUTLINE)),
        SET(IMAGE(1, 20, 11), OBJECT(1, 1, 90, 2, 3, 4, 5, OUTLINE)),
        SET(IMAGE(2, 20, 10), OBJECT(1, 2, 90, 2, 3, 4, 5, OUTLINE)),
        SET(IMAGE(1, 20, 10), OBJECT(1, 1, 3, 2, 3, 4, 5, OUTLINE)),
        SET(IMAGE(1, 20, 10), OBJECT(1, 1, 90, 2, 3, 4, 5.5, OUTLINE)),
    };
    enum { SETS = sizeof(sets) / sizeof(sets[0]) };
    uint64_t hashes[SETS];
    for (size_t i = 0; i < SETS; i++) {
        struct made made;
        make(&made, sets[i], DETECTION_PICK_TV, false);
        CU_ASSERT_EQUAL_FATAL(made.failed, 0);
        hashes[i] = made.set.hash;
        for (size_t k = 0; k < i; k++)
            CU_ASSERT_NOT_EQUAL(hashes[i], hashes[k]);
        made_done(&made);
        make(&made, sets[i], DETECTION_PICK_TV, false);
        CU_ASSERT_EQUAL(made.set.hash, hashes[i]);
        made_done(&made);
    }
}

static void what_cannot_be_learnt_from_is_refused(void) {
    static const struct {
        const char *json;
        const char *says;
        enum detection_pick pick;
    } rows[] = {
        {"{\"annotations\":[]," TWO_CATEGORIES "}", "no \"images\"", DETECTION_PICK_ALL},
        {"{\"annotations\":[]," TWO_IMAGES "}", "no \"categories\"", DETECTION_PICK_ALL},
        {"{" TWO_IMAGES "," TWO_CATEGORIES "}", "no \"annotations\"", DETECTION_PICK_TV},
        {"{" TWO_IMAGES "," TWO_CATEGORIES ",\"annotations\":[]}", "none of its images has annot",
         DETECTION_PICK_TV},
        {SET("", ""), "\"images\" is empty", DETECTION_PICK_ALL},
        {"{" TWO_IMAGES ",\"annotations\":[],\"categories\":[]}", "\"categories\" is empty",
         DETECTION_PICK_ALL},
        {SET(IMAGE(7, 0, 10), OBJECT(1, 7, 3, 0, 0, 5, 5, "")), "image 7: width 0 and height 10",
         DETECTION_PICK_TV},
        {SET(IMAGE(7, 20, 70000), OBJECT(1, 7, 3, 0, 0, 5, 5, "")), "image 7: width 20 and height",
         DETECTION_PICK_TV},
        {SET("{\"id\":7,\"width\":5,\"height\":5}", OBJECT(1, 7, 3, 0, 0, 5, 5, "")),
         "image 7: no \"file_name\"", DETECTION_PICK_TV},
        {SET(NAMED(7, "../a.png"), OBJECT(1, 7, 3, 0, 0, 5, 5, "")),
         "image 7: \"file_name\": '../a.png' leads out of the folder", DETECTION_PICK_TV},
        {SET(NAMED(7, "a/../../b.png"), ""), "'a/../../b.png' leads out", DETECTION_PICK_ALL},
        {SET(NAMED(7, "a/.."), ""), "'a/..' leads out of the folder", DETECTION_PICK_ALL},
        {SET(NAMED(7, "/etc/a.png"), ""), "'/etc/a.png' leads out", DETECTION_PICK_ALL},
        {SET(IMAGE(7, 2147483647, 10), OBJECT(1, 7, 3, 0, 0, 5, 5, "")),
         "image 7: width 2147483647 and height 10", DETECTION_PICK_TV},
        {"{" TWO_IMAGES ",\"annotations\":[],\"categories\":[{\"id\":-1,\"name\":\"none\"}]}",
         "category -1: a negative \"id\"; expected 0 or more", DETECTION_PICK_ALL},
        {SET(IMAGE(7, 20, 10), OBJECT(11, 7, 4, 0, 0, 5, 5, "")),
         "annotation 11: its category is not in", DETECTION_PICK_TV},
        {SET(IMAGE(7, 20, 10), "{\"id\":11,\"image_id\":7,\"category_id\":3}"),
         "annotation 11: no \"bbox\"", DETECTION_PICK_TV},
        {SET(IMAGE(7, 20, 10), OBJECT(11, 7, 3, 0, 0, 5, 5,
                                      ",\"segmentation\":{\"size\":[20,10],\"counts\":[0,200]}")),
         "annotation 11: its mask is 10 x 20; expected 20 x 10, as its image is",
         DETECTION_PICK_TV},
        {SET(IMAGE(7, 20, 10), OBJECT(11, 7, 3, 0, 0, 1, 1, "")),
         "none of its 1 images has an object", DETECTION_PICK_TV},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct made made;
        make(&made, rows[i].json, rows[i].pick, false);
        CU_ASSERT_EQUAL(made.failed, -1);
        CU_ASSERT_EQUAL(made.err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(made.err.text, rows[i].says);
        ASSERT_CONTAINS(made.err.text, "set.json");
        made_done(&made);
    }
}

static void evaluation_needs_no_annotations(void) {
    struct made made;
    make(&made, "{" TWO_IMAGES "," TWO_CATEGORIES "}", DETECTION_PICK_ALL, false);
    CU_ASSERT_EQUAL(made.failed, 0);
    CU_ASSERT_EQUAL(made.set.count, 2);
    made_done(&made);
}

static void labels_beyond_the_ceiling_are_refused(void) {
    struct made made;
    make(&made,
         "{" TWO_IMAGES ",\"annotations\":[],\"categories\":[{\"id\":4097,\"name\":\"far\"}]}",
         DETECTION_PICK_ALL, true);
    CU_ASSERT_EQUAL(made.failed, -1);
    ASSERT_CONTAINS(made.err.text, "category 4097 would have label 4097");
    made_done(&made);
}

static void a_set_without_pictures_is_refused(void) {
    const struct detection_options options = {.pick = DETECTION_PICK_TV};
    struct detection_set set = {0};
    struct made made;
    struct error err = {0};
    make(&made, FIVE, DETECTION_PICK_TV, false);
    CU_ASSERT_EQUAL(detection_set_make(&set, &made.index, "", &options, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "no folder with its pictures");
    made_done(&made);
}

static void pictures_lie_in_the_folder(void) {
    struct made made;
    char path[64], narrow[8];
    make(&made, FIVE, DETECTION_PICK_TV, false);
    CU_ASSERT_EQUAL(detection_set_path(&made.set, 2, path, sizeof(path), &made.err), 0);
    CU_ASSERT_STRING_EQUAL(path, "/pictures/5.png");
    CU_ASSERT_EQUAL(detection_set_path(&made.set, 2, narrow, sizeof(narrow), &made.err), -1);
    ASSERT_CONTAINS(made.err.text, "image 5: path too long");
    made_done(&made);
}

UNIT_SUITE("detect.detection_set", UNIT(torchvisions_training_takes_pictures_with_a_box),
           UNIT(pictures_are_picked_by_rule), UNIT(boxes_can_hold_their_last_pixels),
           UNIT(labels_can_be_the_categories_ids), UNIT(what_is_left_out_is_reported),
           UNIT(odd_ids_and_boxes_are_counted), UNIT(other_sets_have_other_hashes),
           UNIT(what_cannot_be_learnt_from_is_refused), UNIT(evaluation_needs_no_annotations),
           UNIT(labels_beyond_the_ceiling_are_refused), UNIT(a_set_without_pictures_is_refused),
           UNIT(pictures_lie_in_the_folder))
