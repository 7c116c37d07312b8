#include "trainer/data/coco/coco_build.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_load.h"

#include "tests/unit/trainer/data/coco/coco_files.h"

#include <string.h>
#include <unistd.h>

static void malformed_annotations_are_refused_by_their_id(void) {
    static const char *const CASES[][2] = {
        {"{\"annotations\":[{\"id\":1,\"image_id\":1,\"category_id\":1},{\"bbox\":[1,2],\"id\":42,"
         "\"image_id\":1,\"category_id\":1}]}",
         "annotation 42: \"bbox\": 2 numbers; a box has 4"},
        {"{\"annotations\":[{\"segmentation\":[[1,2,\"x\"]],\"id\":42}]}",
         "annotation 42: \"segmentation\": byte "},
        {"{\"annotations\":[{\"segmentation\":{\"size\":[2,2],\"counts\":[-4]},\"id\":42}]}",
         "annotation 42: \"segmentation\": run 0 of the mask is -4"},
        {"{\"annotations\":[{\"area\":NaN,\"id\":42}]}", "annotation 42: \"area\": byte 24"},
        {"{\"annotations\":[{\"bbox\":[0,0,NaN,1],\"id\":42}]}",
         "annotation 42: \"bbox\": byte 29"},
        {"{\"annotations\":[{\"bbox\":[0,0,1e999,1],\"id\":42}]}",
         "annotation 42: \"bbox\": byte "},
        {"{\"annotations\":[{\"segmentation\":[[1,2,-Infinity,4,5,6]],\"id\":42}]}",
         "annotation 42: \"segmentation\": byte "},
        {"{\"annotations\":[{\"segmentation\":[[1,2,1e999,4,5,6]],\"id\":42}]}",
         "annotation 42: \"segmentation\": byte "},
        {"{\"annotations\":[{\"segmentation\":{\"size\":[4294967296,4],\"counts\":[4]},\"id\":42}]"
         "}",
         "annotation 42: \"segmentation\": a mask with \"counts\" and of the size 4294967296 x 4; "
         "expected both"},
        {"{\"annotations\":[{\"id\":42,\"category_id\":1}]}", "annotation 42: no \"image_id\""},
        {"{\"annotations\":[{\"id\":42,\"image_id\":\"a.jpg\"}]}", "annotation 42: \"image_id\""},
        {"{\"annotations\":[{\"id\":42,", "annotation 42: "},
        {"{\"annotations\":[{\"image_id\":4}]}", "annotation number 1 (without id): no \"id\""},
        {"{\"annotations\":{}}", "the list of annotations"},
        {"{\"images\":[{\"id\":1},{\"width\":3}]}", "image number 2 (without id): no \"id\""},
        {"{\"images\":[{\"id\":8,\"width\":-3}]}",
         "image 8: \"width\": -3 pixels; expected 0 to 2147483647"},
        {"{\"images\":[{\"id\":8,\"height\":2147483648}]}",
         "image 8: \"height\": 2147483648 pixels; expected 0 to 2147483647"},
        {"{\"images\":[{\"id\":8,\"height\":1.5}]}", "image 8: \"height\": byte "},
        {"{\"images\":[{\"id\":8,\"width\":\"9\"}]}", "image 8: \"width\": byte "},
        {"{\"images\":[{\"id\":8,\"file_name\":7}]}", "image 8: \"file_name\": byte "},
        {"{\"images\":[{\"id\":8,\"file_name\":\"a\\u0000.jpg\"}]}",
         "image 8: \"file_name\": a string with a bad \\u escape"},
        {"{\"images\":[{\"id\":9223372036854775808}]}",
         "image number 1 (its id is not a whole number of 64 bits)"},
        {"{\"categories\":{}}", "the list of categories"},
        {"{\"images\":7}", "the list of images"},
        {"\xef\xbb\xbf{}", "this is UTF-8 with a byte order mark"},
        {"\xff\xfe{", "this is UTF-16"},
        {"\x1f\x8b\x08", "this is packed with gzip"},
        {"{\"categories\":[{\"id\":8,\"name\":\"\\u00zz\"}]}", "category 8: \"name\": "},
        {"[]", "a list, as results of a detector are; expected an object with images, "},
        {"", "byte 0: expected an object, but the text ends"},
        {"{\"images\":[", "byte 11: expected an object, but the text ends"},
        {"{\"images\":[]", "byte 12: expected , or }, but the text ends"},
        {"{} {}", "expected the end"},
        {"{\"images\":[],\"annotations\":[],\"images\":[]}", "a second member \"images\": "},
        {"{\"annotations\":[],\"annotations\":[]}", "a second member \"annotations\": "},
        {"{\"categories\":[],\"categories\":[]}", "a second member \"categories\": "},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct error err = {0};
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/out.index", unit_temp_dir());
        const char *json = write_text("bad.json", CASES[i][0]);
        CU_ASSERT_EQUAL(coco_build_file(json, path, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "bad.json: ");
        ASSERT_CONTAINS(err.text, CASES[i][1]);
        /* Nothing half made is left. */
        CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    }
}

static void a_file_that_cannot_be_read_is_named(void) {
    struct error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/out.index", unit_temp_dir());
    CU_ASSERT_EQUAL(coco_build_file("/nowhere/at/all.json", path, &err), -1);
    ASSERT_CONTAINS(err.text, "/nowhere/at/all.json");
}

/* An image has a "file_name", a category a "name"; either may carry the other's key as well. */
static void a_name_is_read_from_its_own_key_alone(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    const char *json = write_text(
        "names.json", "{\"images\":[{\"id\":1,\"file_name\":\"a.jpg\",\"name\":\"holiday\"},"
                      "{\"id\":2,\"name\":7,\"file_name\":\"b.jpg\"}],\"categories\":["
                      "{\"id\":1,\"name\":\"cat\",\"file_name\":\"icon.png\"}]}");
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.images[0].name), "a.jpg");
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.images[1].name), "b.jpg");
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.categories[0].name), "cat");
}

UNIT_SUITE("data.coco_build", UNIT(a_name_is_read_from_its_own_key_alone),
           UNIT(malformed_annotations_are_refused_by_their_id),
           UNIT(a_file_that_cannot_be_read_is_named))
