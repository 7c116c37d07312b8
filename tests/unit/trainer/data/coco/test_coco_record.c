#include "trainer/data/coco/coco_record.h"

#include "tests/unit/trainer/data/coco/coco_files.h"

#include <string.h>

static int read_record(const char *text, unsigned needs, struct coco_record *ret,
                       struct error *err) {
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_buf struct buf segments = {.max = 1000};
    struct json_stream s;
    json_stream_memory(&s, text, strlen(text));
    return coco_record_read(&s, &room, &segments, needs, ret, err);
}

static void known_keys_are_read_and_others_skipped(void) {
    struct coco_record r;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        read_record("{\"segmentation\":[[1,2,3,4,5,6]],\"area\":12.5,\"iscrowd\":1,\"image_id\":7,"
                    "\"extra\":{\"id\":5},\"bbox\":[1,2,3.5,4],\"category_id\":-3,\"id\":1774,"
                    "\"score\":0.25}",
                    0, &r, &err),
        0);
    CU_ASSERT_EQUAL(r.has, 63);
    CU_ASSERT(r.id == 1774 && r.image_id == 7 && r.category_id == -3);
    CU_ASSERT(r.crowd && r.area == 12.5 && r.score == 0.25);
    CU_ASSERT(r.box[0] == 1 && r.box[1] == 2 && r.box[2] == 3.5 && r.box[3] == 4);
    CU_ASSERT(r.kind == COCO_SEGMENT_POLYGONS && r.segment_size > 0);
}

static void null_and_an_empty_box_count_as_absent(void) {
    struct coco_record r;
    struct error err = {0};
    CU_ASSERT_EQUAL(
        read_record("{\"id\":1,\"bbox\":[],\"area\":null,\"segmentation\":[]}", 0, &r, &err), 0);
    CU_ASSERT_EQUAL(r.has, COCO_HAS_ID);
    CU_ASSERT_EQUAL(r.kind, COCO_SEGMENT_NONE);
}

static void errors_name_the_key(void) {
    static const char *const CASES[][2] = {
        {"{\"id\":\"7\"}", "\"id\": byte 6: expected a number"},
        {"{\"id\":1.5}", "\"id\""},
        {"{\"bbox\":[1,2,3]}", "\"bbox\": 3 numbers; a box has 4"},
        {"{\"bbox\":{}}", "\"bbox\": byte 8: expected a list"},
        {"{\"area\":NaN}", "\"area\": byte 8"},
        {"{\"iscrowd\":\"yes\"}", "\"iscrowd\""},
        {"{\"score\":1e999}", "\"score\""},
        {"{\"segmentation\":[[\"x\"]]}", "\"segmentation\": byte 18: expected a number"},
        {"{\"id\":3}", "no \"image_id\""},
        {"{\"bbox\":[1,2,3,4,5]}", "\"bbox\": 5 numbers; a box has 4"},
        {"[]", "expected an object"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct coco_record r;
        struct error err = {0};
        CU_ASSERT_EQUAL(read_record(CASES[i][0], COCO_HAS_IMAGE, &r, &err), -1);
        ASSERT_CONTAINS(err.text, CASES[i][1]);
    }
}

static void the_id_of_a_damaged_record_is_found(void) {
    int64_t id = 0;
    const char *path = write_text(
        "a.json", "[{\"a\":[{\"id\":1}],\"s\":\"\\\"id\\\": 2\", \"b\":nonsense, \"id\" : -42}]");
    CU_ASSERT_EQUAL(coco_record_find_id(path, 1, &id), COCO_ID_FOUND);
    CU_ASSERT_EQUAL(id, -42);
    path = write_text("b.json", "[{\"a\":1},{\"id\":7}]");
    CU_ASSERT_EQUAL(coco_record_find_id(path, 1, &id), COCO_ID_NONE);
    CU_ASSERT_EQUAL(coco_record_find_id(path, 8, &id), COCO_ID_FOUND);
    CU_ASSERT_EQUAL(id, 7);
    CU_ASSERT_EQUAL(coco_record_find_id(path, 1000, &id), COCO_ID_NONE);
    CU_ASSERT_EQUAL(coco_record_find_id("/nowhere.json", 0, &id), COCO_ID_NONE);
    /* An escaped quote alone: after it the string still goes on. */
    path = write_text("d.json", "{\"s\":\"\\\"\",\"id\":8,\"b\":nonsense}");
    CU_ASSERT_EQUAL(coco_record_find_id(path, 0, &id), COCO_ID_FOUND);
    CU_ASSERT_EQUAL(id, 8);
    path = write_text("e.json", "{\"id\":9223372036854775808,\"b\":nonsense}");
    CU_ASSERT_EQUAL(coco_record_find_id(path, 0, &id), COCO_ID_UNREADABLE);
    path = write_text("c.json", "{\"a\":\"cut off\\");
    CU_ASSERT_EQUAL(coco_record_find_id(path, 0, &id), COCO_ID_NONE);
}

UNIT_SUITE("data.coco_record", UNIT(known_keys_are_read_and_others_skipped),
           UNIT(null_and_an_empty_box_count_as_absent), UNIT(errors_name_the_key),
           UNIT(the_id_of_a_damaged_record_is_found))
