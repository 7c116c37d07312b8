#include "trainer/data/coco/coco_results.h"

#include "tests/unit/trainer/data/coco/coco_files.h"

#include <string.h>

#define HEAD "{\"image_id\":1,\"category_id\":2,\"score\":0.5"
#define BOX ",\"bbox\":[1,2,3,4]}"
#define MASK ",\"segmentation\":{\"size\":[2,2],\"counts\":\"04\"}}"

static int read_results(const char *text, struct coco_results *ret, struct error *err) {
    return coco_results_read(ret, write_text("results.json", text), err);
}

static void boxes_and_masks_are_distinguished(void) {
    static const struct {
        const char *text;
        size_t count;
        bool boxes, masks;
    } CASES[] = {
        {"[]", 0, false, false},
        {"[" HEAD BOX "," HEAD BOX "]", 2, true, false},
        {"[" HEAD MASK "]", 1, false, true},
        {"[" HEAD ",\"bbox\":[1,2,3,4]" MASK "]", 1, true, true},
        {"[" HEAD ",\"bbox\":[1,2,3,4]" MASK "," HEAD BOX "]", 2, true, false},
        {"[" HEAD ",\"bbox\":[]" MASK "," HEAD ",\"bbox\":[1,2,3,4]" MASK "]", 2, false, true},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cleanup_coco_results struct coco_results results = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(read_results(CASES[i].text, &results, &err), 0);
        CU_ASSERT_EQUAL(results.count, CASES[i].count);
        CU_ASSERT_EQUAL(results.boxes, CASES[i].boxes);
        CU_ASSERT_EQUAL(results.masks, CASES[i].masks);
    }
}

static void a_result_keeps_all_it_says(void) {
    cleanup_coco_results struct coco_results results = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        read_results("[" HEAD BOX "," HEAD ",\"bbox\":[5,6,7,8]" MASK "]", &results, &err), 0);
    CU_ASSERT(results.list[1].image_id == 1 && results.list[1].category_id == 2);
    CU_ASSERT(results.list[1].score == 0.5 && results.list[1].box[3] == 8);
    struct coco_segment segment = coco_result_segment(&results, 1);
    CU_ASSERT_EQUAL(segment.kind, COCO_SEGMENT_RUNS);
    CU_ASSERT_EQUAL(segment.size, 4);
}

static void malformed_results_are_refused_by_their_number(void) {
    static const char *const CASES[][2] = {
        {"{}", "expected a list"},
        {"[" HEAD BOX ",{\"image_id\":1,\"category_id\":2" BOX "]", "result 2: no \"score\""},
        {"[" HEAD BOX "," HEAD MASK "]",
         "result 2: no \"bbox\"; expected one, as the first result has"},
        {"[" HEAD MASK "," HEAD BOX "]", "result 2: neither \"bbox\" nor \"segmentation\""},
        {"[" HEAD "}]", "result 1: neither"},
        {"[{\"image_id\":1,\"category_id\":2,\"score\":NaN}]", "result 1: \"score\""},
        {"[" HEAD BOX "]]", "expected the end"},
        {"[" HEAD BOX, "byte"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cleanup_coco_results struct coco_results results = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(read_results(CASES[i][0], &results, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, "results.json: ");
        ASSERT_CONTAINS(err.text, CASES[i][1]);
    }
}

UNIT_SUITE("data.coco_results", UNIT(boxes_and_masks_are_distinguished),
           UNIT(a_result_keeps_all_it_says), UNIT(malformed_results_are_refused_by_their_number))
