#include "data/coco_check.h"

#include "unit/data/coco_files.h"

#define A(id_, image, category, rest)                                                              \
    "{\"id\":" #id_ ",\"image_id\":" #image ",\"category_id\":" #category rest "}"
#define SQUARE ",\"segmentation\":[[2,2,7,2,7,7,2,7]]"

static const char SET[] =
    "{\"images\":[{\"id\":4,\"width\":10,\"height\":10,\"file_name\":\"none.jpg\"},{\"id\":5},"
    "{\"id\":5},{\"id\":6,\"width\":30,\"height\":20}]," TWO_CATEGORIES ",\"annotations\":["
    /* in order */
    A(1, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) ","
    /* one kind of trouble each */
    A(2, 4, 3, ",\"bbox\":[2,2,0,5],\"area\":25" SQUARE) "," A(3, 4, 3, ",\"bbox\":[2,2,50,5],\"area\":25" SQUARE) "," A(10, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":2500" SQUARE) "," A(
        11, 4, 3, ",\"bbox\":[2,2,5,5]" SQUARE) "," A(12, 4, 3, ",\"area\":25" SQUARE) "," A(13, 4,
                                                                                             3, ",\"bbox\":[2,2,5,5],\"area\":25") "," A(14, 4, 8, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) "," A(15, 77, 3, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) "," A(0,
                                                                                                                                                                                                                                                              4, 90, ",\"bbox\":[2,2,5,5],\"area\":25,\"iscrowd\":1" SQUARE) "," A(1,
                                                                                                                                                                                                                                                                                                                                   4,
                                                                                                                                                                                                                                                                                                                                   90,
                                                                                                                                                                                                                                                                                                                                   ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) "," A(16,
                                                                                                                                                                                                                                                                                                                                                                                   4,
                                                                                                                                                                                                                                                                                                                                                                                   90,
                                                                                                                                                                                                                                                                                                                                                                                   ",\"bbox\":[2,2,5,5],\"area\":25,\"segmentation\":{\"size\":[10,10],"
                                                                                                                                                                                                                                                                                                                                                                                   "\"counts\":\"05\"}") "]}";

static void every_kind_of_trouble_is_found_with_its_id(void) {
    static const struct {
        enum coco_finding_kind kind;
        size_t count;
        int64_t id;
    } WANTED[] = {
        {COCO_REPEATED_IMAGES, 1, 0},
        {COCO_REPEATED_CATEGORIES, 0, 0},
        {COCO_REPEATED_ANNOTATIONS, 1, 1},
        {COCO_UNKNOWN_IMAGE, 1, 15},
        {COCO_UNKNOWN_CATEGORY, 1, 14},
        {COCO_ZERO_ID, 1, 0},
        {COCO_NO_BOX, 1, 12},
        {COCO_NO_AREA, 1, 11},
        {COCO_NO_OUTLINE, 1, 13},
        {COCO_DEGENERATE_BOX, 1, 2},
        {COCO_BOX_OUTSIDE, 1, 3},
        {COCO_BAD_OUTLINE, 1, 16},
        {COCO_AREA_MISMATCH, 1, 10},
        {COCO_NO_SIZE, 1, 5},
        {COCO_NO_FILE, 3, 4},
        {COCO_OTHER_SIZE, 0, 0},
    };
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_buf struct buf text = {.max = 100000};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, write_text("set.json", SET), NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, unit_temp_dir(), &err), 0);
    for (size_t i = 0; i < COCO_FINDINGS; i++) {
        CU_ASSERT_EQUAL(check.findings[WANTED[i].kind].count, WANTED[i].count);
        CU_ASSERT_EQUAL(check.findings[WANTED[i].kind].examples[0], WANTED[i].id);
    }
    CU_ASSERT(check.crowds == 1 && check.runs == 1 && check.polygons == 9);
    CU_ASSERT(check.empty_images == 2 && check.most == 11 && check.empty_categories == 0);
    CU_ASSERT_EQUAL(coco_check_print(&check, &index, &text, &err), 0);
    ASSERT_CONTAINS(buf_text(&text), "boxes without width or height: 2\n");
    ASSERT_CONTAINS(buf_text(&text), "10 x 10 to 30 x 20");
    ASSERT_CONTAINS(buf_text(&text), "90  dog\n");
}

static void a_set_in_order_says_so(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_buf struct buf text = {.max = 100000};
    struct error err = {0};
    const char *json =
        write_text("good.json", "{" TWO_IMAGES "," TWO_CATEGORIES ",\"annotations\":[" A(
                                    1, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) "]}");
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, json, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, &err), 0);
    CU_ASSERT_EQUAL(coco_check_print(&check, &index, &text, &err), 0);
    ASSERT_CONTAINS(buf_text(&text), "found: nothing out of order\n");
}

UNIT_MAIN("data.coco_check", UNIT(every_kind_of_trouble_is_found_with_its_id),
          UNIT(a_set_in_order_says_so))
