#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_load.h"

#include "tests/unit/trainer/data/coco/coco_files.h"

static void images_categories_and_annotations_are_numbered_by_id(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("set.json", ONE_SET), NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(index.image_count, 2);
    CU_ASSERT_EQUAL(index.images[0].id, 4);
    CU_ASSERT_EQUAL(index.images[1].width, 20);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.images[0].name), "four.jpg");
    CU_ASSERT_EQUAL_FATAL(index.category_count, 2);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.categories[0].name), "cat");
    CU_ASSERT_EQUAL(coco_index_image(&index, 9), 1);
    CU_ASSERT_EQUAL(coco_index_image(&index, 5), COCO_NUMBER_NONE);
    CU_ASSERT_EQUAL(coco_index_category(&index, 90), 1);
    CU_ASSERT_EQUAL(coco_index_category(&index, 8), COCO_NUMBER_NONE);

    CU_ASSERT_EQUAL_FATAL(index.annotation_count, 4);
    CU_ASSERT_EQUAL(index.placed_count, 3);
    CU_ASSERT(index.images[0].first == 0 && index.images[0].count == 1);
    CU_ASSERT(index.images[1].first == 1 && index.images[1].count == 2);
    CU_ASSERT_EQUAL(index.annotations[0].id, 7);
    CU_ASSERT_EQUAL(index.annotations[0].category, COCO_NUMBER_NONE);
    CU_ASSERT_EQUAL(index.annotations[1].id, 5);
    CU_ASSERT_EQUAL(index.annotations[1].flags, COCO_ANNOTATION_BOX | COCO_ANNOTATION_AREA);
    CU_ASSERT_EQUAL(index.annotations[2].id, 8);
    CU_ASSERT_EQUAL(index.annotations[2].flags, COCO_ANNOTATION_CROWD);
    CU_ASSERT_EQUAL(index.annotations[3].id, 6);
    CU_ASSERT_EQUAL(index.annotations[3].image, COCO_NUMBER_NONE);
}

static void masks_come_from_polygons_and_runs(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("set.json", ONE_SET), NULL, &err), 0);
    CU_ASSERT_EQUAL(coco_index_mask(&index, &index.annotations[1], &room, &scratch, &mask, &err),
                    0);
    CU_ASSERT_EQUAL(rle_area(&mask), 25);
    CU_ASSERT_EQUAL(mask.width, 20);
    CU_ASSERT_EQUAL(coco_index_mask(&index, &index.annotations[2], &room, &scratch, &mask, &err),
                    0);
    CU_ASSERT_EQUAL(rle_area(&mask), 200);
    CU_ASSERT_EQUAL(coco_index_mask(&index, &index.annotations[0], &room, &scratch, &mask, &err),
                    -1);
    CU_ASSERT_STRING_EQUAL(
        err.text, "annotation 7: no mask; expected \"segmentation\" with polygons or runs");
}

static void of_repeated_ids_the_last_image_counts(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    const char *path = write_text(
        "twice.json", "{\"images\":[{\"id\":1,\"width\":5},{\"id\":0},{\"id\":1,\"width\":6}]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, path, NULL, &err), 0);
    CU_ASSERT_EQUAL(index.image_count, 2);
    CU_ASSERT_EQUAL(index.images[1].width, 6);
    CU_ASSERT_EQUAL(index.repeated_images, 1);
    CU_ASSERT_EQUAL(index.category_count, 0);
}

/* What a caller hands in may come from anywhere: a name and an outline beyond the index are none.
 */
static void places_beyond_the_index_are_empty(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("set.json", ONE_SET), NULL, &err), 0);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.names_size), "");
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, UINT64_MAX), "");
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, 1), "nine.jpg");
    size_t whole = index.names_size;
    index.names_size = 1;
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, 1), "");
    index.names_size = whole;
    struct coco_annotation a = index.annotations[1];
    CU_ASSERT_EQUAL(coco_index_segment(&index, &a).kind, COCO_SEGMENT_POLYGONS);
    a.segment_size = (uint32_t)(index.segments_size - a.segment) + 1;
    CU_ASSERT_EQUAL(coco_index_segment(&index, &a).kind, COCO_SEGMENT_NONE);
    a.segment = index.segments_size + 1;
    a.segment_size = 0;
    CU_ASSERT_EQUAL(coco_index_segment(&index, &a).kind, COCO_SEGMENT_NONE);
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_rle struct rle mask = {0};
    a = index.annotations[1];
    index.image_count = a.image; /* it is the first one beyond */
    CU_ASSERT_EQUAL(coco_index_mask(&index, &a, &room, &scratch, &mask, &err), -1);
    ASSERT_CONTAINS(err.text, "annotation 5: a polygon on a picture of ");
}

static void lists_that_are_missing_are_known(void) {
    static const char *const CASES[][2] = {{"{}", "images"},
                                           {"{\"images\":[]}", "categories"},
                                           {"{\"images\":[],\"categories\":[]}", "annotations"}};
    for (int i = 0; i < 3; i++) {
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("less.json", CASES[i][0]), NULL, NULL),
                              0);
        CU_ASSERT_STRING_EQUAL(coco_index_missing(&index), CASES[i][1]);
    }
    cleanup_coco_index struct coco_index index = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("set.json", ONE_SET), NULL, NULL), 0);
    CU_ASSERT_PTR_NULL(coco_index_missing(&index));
}

UNIT_SUITE("data.coco_index", UNIT(images_categories_and_annotations_are_numbered_by_id),
           UNIT(masks_come_from_polygons_and_runs), UNIT(of_repeated_ids_the_last_image_counts),
           UNIT(places_beyond_the_index_are_empty), UNIT(lists_that_are_missing_are_known))
