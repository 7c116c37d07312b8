#include "trainer/data/detect/detection_groups.h"

#include "tests/unit/trainer/data/coco/coco_files.h"
#include "trainer/data/coco/coco_load.h"

/* Two flat pictures, an upright one, a flat one and a square one. */
static const char SHAPES[] =
    "{\"images\":["
    "{\"id\":1,\"file_name\":\"a\",\"width\":640,\"height\":480},"
    "{\"id\":2,\"file_name\":\"b\",\"width\":640,\"height\":480},"
    "{\"id\":3,\"file_name\":\"c\",\"width\":480,\"height\":640},"
    "{\"id\":4,\"file_name\":\"d\",\"width\":640,\"height\":427},"
    "{\"id\":5,\"file_name\":\"e\",\"width\":600,\"height\":600}]," TWO_CATEGORIES "}";

static const struct detect_sizes TV = {DETECT_SIZE_TV, 800, 1333};

struct made {
    struct coco_index index;
    struct detection_set set;
};

static void make(struct made *made) {
    const struct detection_options options = {.pick = DETECTION_PICK_ALL};
    *made = (struct made){0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&made->index, write_text("shapes.json", SHAPES), NULL, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(detection_set_make(&made->set, &made->index, "/p", &options, NULL), 0);
}

static void made_done(struct made *made) {
    detection_set_done(&made->set);
    coco_index_done(&made->index);
}

static void pictures_come_by_canvas(void) {
    cleanup_detection_groups struct detection_groups groups = {0};
    struct bucket_plan plan = {0};
    struct made made;
    make(&made);
    CU_ASSERT_EQUAL_FATAL(detection_set_plan(&made.set, NULL, &TV, 1, &plan, NULL), 0);
    CU_ASSERT_EQUAL(plan.count, 3);
    CU_ASSERT_EQUAL_FATAL(detection_groups_make(&groups, &made.set, &TV, &plan, NULL), 0);
    CU_ASSERT_EQUAL(groups.count, 3);
    static const uint32_t samples[] = {0, 1, 4, 2, 3};
    static const size_t sizes[] = {3, 1, 1};
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(groups.samples[i], samples[i]);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(groups.sizes[i], sizes[i]);
        CU_ASSERT_EQUAL(groups.sizes[i], plan.pictures[i]);
    }
    made_done(&made);
}

static void a_picture_without_a_canvas_is_named(void) {
    cleanup_detection_groups struct detection_groups groups = {0};
    struct bucket_plan plan = {0};
    struct error err = {0};
    struct made made;
    make(&made);
    CU_ASSERT_EQUAL_FATAL(bucket_plan_parse(&plan, "800x1216", NULL), 0);
    CU_ASSERT_EQUAL(detection_groups_make(&groups, &made.set, &TV, &plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "image 3, scaled to a height of 1066 and a width of 800, fits none");
    ASSERT_CONTAINS(err.text, "shapes.json");
    const struct detect_sizes wrong = {DETECT_SIZE_TV, 0, 0};
    CU_ASSERT_EQUAL(detection_set_plan(&made.set, NULL, &wrong, 1, &plan, &err), -1);
    made_done(&made);
}

/* A flat picture takes a smaller canvas in the epochs that draw it small, and no other one. */
static void a_canvas_suits_what_is_drawn(void) {
    const struct detection_recipe recipe = {.sizes = {DETECT_SIZE_D2, 800, 1333},
                                            .short_low = 640,
                                            .short_step = 32,
                                            .pixels_max = 1,
                                            .seed = 3};
    struct bucket_plan plan = {0};
    struct made made;
    int smaller = 0;
    make(&made);
    const struct detection_choice choice = {&made.set, &recipe, &plan};
    CU_ASSERT_EQUAL_FATAL(detection_set_plan(&made.set, NULL, &recipe.sizes, 1, &plan, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(plan.count, 3);
    CU_ASSERT_EQUAL_FATAL(detection_set_plan_drawn(&made.set, &recipe, 1, &plan, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(plan.count, 5); /* the square fits both, so each has two pictures */
    CU_ASSERT(plan.canvases[3].height == 704 && plan.canvases[3].width == 960);
    CU_ASSERT(plan.canvases[4].height == 960 && plan.canvases[4].width == 704);
    for (uint32_t epoch = 0; epoch < 60; epoch++) {
        const struct detect_size drawn =
            detection_draw(&recipe, (struct detect_size){480, 640}, epoch, 1).scaled;
        const int canvas = detection_choose_canvas(&choice, epoch, 1);
        CU_ASSERT_EQUAL(canvas == 3, drawn.height <= 704);
        CU_ASSERT(canvas == 0 || canvas == 3);
        smaller += canvas == 3;
        CU_ASSERT(detection_choose_canvas(&choice, epoch, 2) != 3);
    }
    CU_ASSERT(smaller > 15 && smaller < 45);
    made_done(&made);
}

UNIT_SUITE("detect.detection_groups", UNIT(pictures_come_by_canvas),
           UNIT(a_picture_without_a_canvas_is_named), UNIT(a_canvas_suits_what_is_drawn))
