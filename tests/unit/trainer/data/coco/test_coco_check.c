#include "trainer/data/coco/coco_check.h"
#include "trainer/data/coco/coco_load.h"

#include "common/file/file.h"
#include "tests/unit/trainer/data/coco/coco_files.h"
#include "trainer/data/codec/picture.h"

#include <string.h>
#include <unistd.h>

#define A(id_, image, category, rest)                                                              \
    "{\"id\":" #id_ ",\"image_id\":" #image ",\"category_id\":" #category rest "}"
#define SQUARE ",\"segmentation\":[[2,2,7,2,7,7,2,7]]"

/* clang-format off */
static const char SET[] =
    "{\"images\":[{\"id\":4,\"width\":10,\"height\":10,\"file_name\":\"none.jpg\"},{\"id\":5},"
    "{\"id\":5},{\"id\":6,\"width\":30,\"height\":20}]," TWO_CATEGORIES ",\"annotations\":["
    /* a valid annotation */
    A(1, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) ","
    /* annotations with one problem each */
    A(2, 4, 3, ",\"bbox\":[2,2,0,5],\"area\":25" SQUARE) ","
    A(3, 4, 3, ",\"bbox\":[2,2,50,5],\"area\":25" SQUARE) ","
    A(10, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":2500" SQUARE) ","
    A(11, 4, 3, ",\"bbox\":[2,2,5,5]" SQUARE) ","
    A(12, 4, 3, ",\"area\":25" SQUARE) ","
    A(13, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":25") ","
    A(14, 4, 8, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) ","
    A(15, 77, 3, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) ","
    A(0, 4, 90, ",\"bbox\":[2,2,5,5],\"area\":25,\"iscrowd\":1" SQUARE) ","
    A(1, 4, 90, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) ","
    A(16, 4, 90, ",\"bbox\":[2,2,5,5],\"area\":25,\"segmentation\":{\"size\":[10,10],"
                 "\"counts\":\"05\"}") ","
    A(17, 4, 90, ",\"bbox\":[0.2,0.2,0.7,0.7],\"area\":25" SQUARE) "]}";
/* clang-format on */

static void every_kind_of_trouble_is_found_with_its_id(void) {
    static const struct {
        enum coco_finding_kind kind;
        size_t count;
        int64_t id;
    } WANTED[] = {
        {COCO_REPEATED_IMAGES, 1, 0}, {COCO_REPEATED_CATEGORIES, 0, 0},
        {COCO_REPEATED_NAMES, 0, 0},  {COCO_REPEATED_ANNOTATIONS, 1, 1},
        {COCO_UNKNOWN_IMAGE, 1, 15},  {COCO_UNKNOWN_CATEGORY, 1, 14},
        {COCO_ZERO_ID, 1, 0},         {COCO_NO_BOX, 1, 12},
        {COCO_NO_AREA, 1, 11},        {COCO_NO_OUTLINE, 1, 13},
        {COCO_DEGENERATE_BOX, 1, 2},  {COCO_BOX_OUTSIDE, 1, 3},
        {COCO_BOX_MISFIT, 2, 3},      {COCO_BAD_OUTLINE, 1, 16},
        {COCO_AREA_MISMATCH, 1, 10},  {COCO_NO_SIZE, 1, 5},
        {COCO_NO_FILE, 3, 4},         {COCO_BAD_FILE, 0, 0},
        {COCO_OTHER_SIZE, 0, 0},
    };
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_buf struct buf text = {.max = 100000};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("set.json", SET), NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, unit_temp_dir(), &err), 0);
    for (size_t i = 0; i < COCO_FINDINGS; i++) {
        CU_ASSERT_EQUAL(check.findings[WANTED[i].kind].count, WANTED[i].count);
        CU_ASSERT_EQUAL(check.findings[WANTED[i].kind].examples[0], WANTED[i].id);
    }
    CU_ASSERT(check.crowds == 1 && check.runs == 1 && check.polygons == 10);
    CU_ASSERT(check.empty_images == 2 && check.most == 12 && check.empty_categories == 0);
    CU_ASSERT_EQUAL(coco_check_print(&check, &index, &text, &err), 0);
    ASSERT_CONTAINS(buf_text(&text), "boxes without width or height: 2\n");
    ASSERT_CONTAINS(buf_text(&text), "images without a file: 4 (none.jpg), 5, 6\n");
    ASSERT_CONTAINS(buf_text(&text), "10 x 10 to 30 x 20");
    ASSERT_CONTAINS(buf_text(&text), "90  dog\n");
}

/* At most five examples of a finding are shown, with a note if there are more. */
static void examples_are_five_at_most(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    const char *json = write_text("few.json", "{" TWO_IMAGES "," TWO_CATEGORIES "}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    for (int count = COCO_EXAMPLES - 1; count <= COCO_EXAMPLES + 1; count++) {
        cleanup_coco_check struct coco_check check = {0};
        cleanup_buf struct buf text = {.max = 100000};
        CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, &err), 0);
        for (int i = 0; i < count; i++)
            coco_findings_add(check.findings, COCO_NO_AREA, 70 + i);
        CU_ASSERT_EQUAL(check.findings[COCO_NO_AREA].count, count);
        CU_ASSERT_EQUAL(coco_check_print(&check, &index, &text, &err), 0);
        ASSERT_CONTAINS(buf_text(&text), count < COCO_EXAMPLES    ? ": 70, 71, 72, 73\n"
                                         : count == COCO_EXAMPLES ? ": 70, 71, 72, 73, 74\n"
                                                                  : ": 70, 71, 72, 73, 74 ...\n");
    }
}

static void categories_of_one_name_are_found(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_buf struct buf text = {.max = 100000};
    struct error err = {0};
    const char *json =
        write_text("names.json", "{" TWO_IMAGES ",\"categories\":[{\"id\":1,\"name\":\"person\"},"
                                 "{\"id\":7},{\"id\":8},{\"id\":91,\"name\":\"person\"}],"
                                 "\"annotations\":[]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, &err), 0);
    CU_ASSERT_EQUAL(check.findings[COCO_REPEATED_NAMES].count, 1);
    CU_ASSERT_EQUAL(coco_check_print(&check, &index, &text, &err), 0);
    ASSERT_CONTAINS(buf_text(&text), "1  categories with the name of another: 91\n");
    CU_ASSERT_FALSE(coco_check_broken(&check));
}

static void a_set_in_order_says_so(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_buf struct buf text = {.max = 100000};
    struct error err = {0};
    const char *json =
        write_text("good.json", "{" TWO_IMAGES "," TWO_CATEGORIES ",\"annotations\":[" A(
                                    1, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":25" SQUARE) "]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, &err), 0);
    CU_ASSERT_EQUAL(coco_check_print(&check, &index, &text, &err), 0);
    ASSERT_CONTAINS(buf_text(&text), "found: nothing wrong\n");
}

/* 32 x 32 and 96 x 96 both count as medium, as in the evaluation. */
static void the_bounds_of_sizes_belong_to_the_middle(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    struct error err = {0};
    const char *json = write_text(
        "sizes.json",
        "{" TWO_IMAGES "," TWO_CATEGORIES
        ",\"annotations\":[" A(1, 4, 3, ",\"area\":1023.9") "," A(2, 4, 3, ",\"area\":1024") "," A(
            3, 4, 3, ",\"area\":9216") "," A(4, 4, 3, ",\"area\":9216.1") "]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, &err), 0);
    CU_ASSERT(check.sizes[0] == 1 && check.sizes[1] == 2 && check.sizes[2] == 1);
}

/* Files are decoded: a text and a truncated JPEG are found; a PNG with another suffix is valid. */
static void damaged_pictures_are_found(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_image struct image image = {0};
    cleanup_buf struct buf bytes = {.max = 100000};
    struct error err = {0};
    char path[PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 64, 48, &err), 0);
    memset(image.pixels, 99, (size_t)64 * 48 * 3);
    for (int i = 0; i < 64 * 48; i++)
        image.pixels[3 * i + i % 3] = (uint8_t)(i * 37);
    static const char *const NAMES[] = {"whole.jpg", "png.jpg", "cut.jpg"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), NAMES[i]);
        CU_ASSERT_EQUAL_FATAL(picture_write(&image, i == 1, path, &err), 0);
    }
    CU_ASSERT_EQUAL_FATAL(file_read(path, &bytes, &err), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, (off_t)bytes.size / 2), 0);
    (void)write_text("text.jpg", "five hundred bytes of text");
    const char *json =
        write_text("pictures.json",
                   "{\"images\":[{\"id\":1,\"file_name\":\"whole.jpg\",\"width\":64,\"height\":48},"
                   "{\"id\":2,\"file_name\":\"png.jpg\",\"width\":64,\"height\":48},"
                   "{\"id\":3,\"file_name\":\"cut.jpg\",\"width\":64,\"height\":48},"
                   "{\"id\":4,\"file_name\":\"text.jpg\",\"width\":64,\"height\":48},"
                   "{\"id\":5,\"file_name\":\"whole.jpg\",\"width\":63,\"height\":48},"
                   "{\"id\":6,\"width\":63,\"height\":48},"
                   "{\"id\":7,\"file_name\":\"sub/../whole.jpg\",\"width\":64,\"height\":48}"
                   "]," TWO_CATEGORIES ",\"annotations\":[]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, unit_temp_dir(), &err), 0);
    const struct coco_finding *bad = &check.findings[COCO_BAD_FILE];
    CU_ASSERT(bad->count == 2 && bad->examples[0] == 3 && bad->examples[1] == 4);
    CU_ASSERT_EQUAL(check.findings[COCO_OTHER_SIZE].examples[0], 5);
    CU_ASSERT_EQUAL(check.findings[COCO_NO_FILE].examples[0], 6);
    CU_ASSERT_EQUAL(check.findings[COCO_NO_FILE].examples[1], 7); /* such a path is not read */
    CU_ASSERT_EQUAL(check.findings[COCO_NO_FILE].count, 2);
    CU_ASSERT(coco_check_broken(&check));
}

static void what_is_merely_odd_does_not_break_a_set(void) {
    cleanup_coco_index struct coco_index index = {0}, less = {0};
    cleanup_coco_check struct coco_check check = {0}, missing = {0};
    cleanup_buf struct buf text = {.max = 100000};
    const char *json =
        write_text("odd.json", "{" TWO_IMAGES "," TWO_CATEGORIES ",\"annotations\":[" A(
                                   1, 4, 3, ",\"bbox\":[2,2,0,50],\"area\":2500" SQUARE) "]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, NULL), 0);
    CU_ASSERT_EQUAL(check.findings[COCO_DEGENERATE_BOX].count, 1);
    CU_ASSERT_FALSE(coco_check_broken(&check));
    json = write_text("less.json", "{" TWO_IMAGES "," TWO_CATEGORIES "}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&less, json, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&missing, &less, NULL, NULL), 0);
    CU_ASSERT(coco_check_broken(&missing));
    CU_ASSERT_EQUAL(coco_check_print(&missing, &less, &text, NULL), 0);
    ASSERT_CONTAINS(buf_text(&text), "no list \"annotations\"");
}

static bool is_broken(const char *annotation) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    cleanup_buf struct buf text = {.max = 100000};
    CU_ASSERT_EQUAL_FATAL(buf_printf(&text, NULL,
                                     "{" TWO_IMAGES "," TWO_CATEGORIES ",\"annotations\":[%s]}",
                                     annotation),
                          0);
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("one.json", buf_text(&text)), NULL, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, NULL), 0);
    return coco_check_broken(&check);
}

/* A training refuses an annotation without a box. One without an area can be trained on. */
static void a_set_without_boxes_is_broken(void) {
    CU_ASSERT(is_broken(A(1, 4, 3, ",\"area\":25" SQUARE)));
    CU_ASSERT_FALSE(is_broken(A(1, 4, 3, ",\"bbox\":[2,2,5,5]" SQUARE)));
    CU_ASSERT_FALSE(is_broken(A(1, 4, 3, ",\"bbox\":[2,2,5,5],\"area\":25")));
}

/* Boxes of few pixels may be off by some, and larger ones by half. */
static void boxes_are_held_against_their_outlines(void) {
    static const struct {
        const char *box;
        size_t count;
    } CASES[] = {
        {"0,0,7,7", 0}, {"4,4,5,5", 0}, {"1,1,8,8", 1}, {"5,5,5,5", 1}, {"2,2,5,5", 0},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cleanup_coco_index struct coco_index index = {0};
        cleanup_coco_check struct coco_check check = {0};
        cleanup_buf struct buf text = {.max = 100000};
        CU_ASSERT_EQUAL_FATAL(buf_printf(&text, NULL,
                                         "{" TWO_IMAGES "," TWO_CATEGORIES ",\"annotations\":[" A(
                                             1, 4, 3, ",\"bbox\":[%s]" SQUARE) "]}",
                                         CASES[i].box),
                              0);
        CU_ASSERT_EQUAL_FATAL(
            coco_load(&index, write_text("box.json", buf_text(&text)), NULL, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, NULL), 0);
        CU_ASSERT_EQUAL(check.findings[COCO_BOX_MISFIT].count, CASES[i].count);
    }
}

/* The missing size is reported once, for the picture: its polygons have no mask to be judged. */
static void polygons_of_pictures_without_a_size_are_not_bad(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    const char *json = write_text("unsized.json", "{\"images\":[{\"id\":4}]," TWO_CATEGORIES
                                                  ",\"annotations\":[" A(1, 4, 3, SQUARE) "]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, NULL, NULL), 0);
    CU_ASSERT(check.findings[COCO_NO_SIZE].count == 1 && check.polygons == 1);
    CU_ASSERT_EQUAL(check.findings[COCO_BAD_OUTLINE].count, 0);
}

UNIT_SUITE("data.coco_check", UNIT(polygons_of_pictures_without_a_size_are_not_bad),
           UNIT(a_set_without_boxes_is_broken), UNIT(boxes_are_held_against_their_outlines),
           UNIT(damaged_pictures_are_found), UNIT(what_is_merely_odd_does_not_break_a_set),
           UNIT(the_bounds_of_sizes_belong_to_the_middle),
           UNIT(every_kind_of_trouble_is_found_with_its_id), UNIT(examples_are_five_at_most),
           UNIT(categories_of_one_name_are_found), UNIT(a_set_in_order_says_so))
