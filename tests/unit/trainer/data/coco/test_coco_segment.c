#include "trainer/data/coco/coco_segment.h"

#include "tests/support/unit.h"
#include "tests/unit/trainer/data/coco/coco_files.h"
#include "trainer/eval/rle_text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Reads TEXT, packs it, and makes its mask of 10 x 10. */
static int mask_of(const char *text, struct rle *ret, enum coco_segment_kind *ret_kind,
                   struct error *err) {
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_buf struct buf packed = {.max = 100000};
    struct json_stream s;
    json_stream_memory(&s, text, strlen(text));
    int done = coco_segment_read(&s, &room, &packed, ret_kind, err);
    CU_ASSERT(done == 0 || done == -1);
    if (done != 0)
        return -1;
    CU_ASSERT_EQUAL(json_stream_finish(&s, err), 0);
    struct coco_segment segment = {*ret_kind, (const uint8_t *)packed.data, packed.size};
    return coco_segment_mask(&segment, &room, &scratch, 10, 10, ret, err);
}

static void check_mask(const char *text, enum coco_segment_kind kind, const char *runs) {
    cleanup_rle struct rle mask = {0};
    cleanup_buf struct buf out = {.max = 1000};
    struct error err = {0};
    enum coco_segment_kind got = COCO_SEGMENT_NONE;
    CU_ASSERT_EQUAL_FATAL(mask_of(text, &mask, &got, &err), 0);
    CU_ASSERT_EQUAL(got, kind);
    CU_ASSERT_EQUAL(rle_format(&mask, &out, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), runs);
}

static void polygons_and_runs_give_their_masks(void) {
    check_mask("[[2,2,7,2,7,7,2,7]]", COCO_SEGMENT_POLYGONS, "f0550000000l0");
    check_mask("[[2,2,7,2,7,7,2,7],[5,1,9,9,1,9]]", COCO_SEGMENT_POLYGONS, "b0136000000004L2N2");
    check_mask("[[2,3,4,5]]", COCO_SEGMENT_POLYGONS, "g05500000U1");
    check_mask("{\"size\":[10,10],\"counts\":\"f0550000000l0\"}", COCO_SEGMENT_RUNS,
               "f0550000000l0");
    check_mask("{\"counts\":[22,5,5,5,5,5,5,5,5,5,33],\"size\":[10,10]}", COCO_SEGMENT_RUNS,
               "f0550000000l0");
    check_mask("{\"counts\":\"\\u00360T3\",\"x\":[1,{}],\"size\":[2,53]}", COCO_SEGMENT_RUNS,
               "60T3");
}

/* Runs are pycocotools' of the same outlines, which it takes with the good polygon first alone. */
static void odd_polygons_are_read_as_by_the_reference(void) {
#define GOOD "[2,2,7,2,7,7,2,7]"
    check_mask("[" GOOD ",[]]", COCO_SEGMENT_POLYGONS, "f0550000000l0");
    check_mask("[[]," GOOD "]", COCO_SEGMENT_POLYGONS, "f0550000000l0");
    check_mask("[" GOOD ",[1]]", COCO_SEGMENT_POLYGONS, "f0550000000l0");
    check_mask("[" GOOD ",[1,2,3]]", COCO_SEGMENT_POLYGONS, "f0550000000l0");
    check_mask("[" GOOD ",[1,2,3,4]]", COCO_SEGMENT_POLYGONS, "f0550000000l0");
    check_mask("[" GOOD ",[5,1,9,9,1,9,3]]", COCO_SEGMENT_POLYGONS, "b0136000000004L2N2");
    check_mask("[[5,1,9,9,1,9,3]]", COCO_SEGMENT_POLYGONS, "b0172N2N2002N2N2N2");
    check_mask("[[1,1,9,9,3]]", COCO_SEGMENT_POLYGONS, "T3");
    check_mask("[[1,1,9,9,3]," GOOD "]", COCO_SEGMENT_POLYGONS, "f0550000000l0");
#undef GOOD
}

static void an_empty_outline_is_none(void) {
    cleanup_rle struct rle mask = {0};
    enum coco_segment_kind kind = COCO_SEGMENT_RUNS;
    struct error err = {0};
    CU_ASSERT_EQUAL(mask_of("[]", &mask, &kind, &err), -1);
    CU_ASSERT_EQUAL(kind, COCO_SEGMENT_NONE);
    CU_ASSERT_STRING_EQUAL(err.text, "no mask; expected \"segmentation\" with polygons or runs");
    kind = COCO_SEGMENT_RUNS;
    CU_ASSERT_EQUAL(mask_of("null", &mask, &kind, &err), -1);
    CU_ASSERT_EQUAL(kind, COCO_SEGMENT_NONE);
    CU_ASSERT_STRING_EQUAL(err.text, "no mask; expected \"segmentation\" with polygons or runs");
}

static void check_refused(const char *text, const char *words) {
    cleanup_rle struct rle mask = {0};
    enum coco_segment_kind kind;
    struct error err = {0};
    CU_ASSERT_EQUAL(mask_of(text, &mask, &kind, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, words);
}

static void malformed_outlines_are_refused(void) {
    check_refused("[[1,2,3]]", "no mask");
    check_refused("[[],[1,2]]", "no mask");
    check_refused("[[]]", "no mask");
    check_refused("[1,2,3,4,5,6]", "expected a list");
    check_refused("[[1,2,\"3\",4]]", "expected a number");
    check_refused("7", "expected polygons or runs");
    check_refused("", "");
    check_refused("nul", "");
    check_refused("?", "");
    check_refused("{\"size\":[10,10]}",
                  "a mask without \"counts\" and of the size 10 x 10; expected both");
    check_refused("{\"counts\":\"0T3\"}", "size 0 x 0");
    check_refused("{\"size\":[10],\"counts\":\"0T3\"}", "size of 1 numbers");
    check_refused("{\"size\":[10,10,3],\"counts\":\"f0550000000l0\"}", "size of 3 numbers");
    check_refused("{\"size\":[10,-10],\"counts\":\"0T3\"}", "10 x -10");
    check_refused("{\"size\":[10,10],\"counts\":\"0T\"}", "ends within a number");
    check_refused("{\"size\":[10,10],\"counts\":\"04\"}", "add up to 4");
    check_refused("{\"size\":[10,10],\"counts\":[10,-3]}", "run 1 of the mask is -3");
    check_refused("{\"size\":[10,10],\"counts\":[10.5]}", "whole number");
    check_refused("[[1e7,2,3,4,5,6]]", "expected -1000000 to 1000000 pixels");
    check_refused("[[1,2,3,4],[1,2,3,4,5,6]]", "6 numbers; expected 4, as the first one has");
}

/* The rest of the file cannot be read: before an outline, and before its counts. */
static void an_outline_that_cannot_be_read_is_an_error(void) {
    static const char *const BEGUN[] = {" ", "{\"counts\":"};
    for (size_t i = 0; i < sizeof(BEGUN) / sizeof(BEGUN[0]); i++) {
        cleanup_coco_outline struct coco_outline room = {0};
        cleanup_buf struct buf packed = {.max = 1000};
        struct json_stream s;
        struct error err = {0};
        enum coco_segment_kind kind = COCO_SEGMENT_NONE;
        enum json_kind first = JSON_KIND_END;
        CU_ASSERT_EQUAL_FATAL(json_stream_open(&s, write_text("begun.json", BEGUN[i]), &err), 0);
        if (i > 0) /* what there is is read */
            CU_ASSERT_EQUAL(json_stream_kind(&s, &first, &err), 0);
        int deaf = open("/dev/null", O_WRONLY | O_CLOEXEC);
        CU_ASSERT_FATAL(deaf >= 0 && dup2(deaf, s.fd) == s.fd);
        CU_ASSERT_EQUAL(coco_segment_read(&s, &room, &packed, &kind, &err), -1);
        ASSERT_CONTAINS(err.text, "reading on");
        close(deaf);
        json_stream_done(&s);
    }
}

/* A polygon of one number too many, and as many polygons. */
static void outlines_have_a_ceiling(void) {
    cleanup_buf struct buf numbers = {.max = 1 << 24}, parts = {.max = 1 << 24};
    struct error err = {0};
    CU_ASSERT_EQUAL(buf_add_text(&numbers, "[[1", &err), 0);
    for (int i = 1; i < COCO_NUMBERS_MAX + 2; i++)
        (void)buf_add_text(&numbers, ",1", &err);
    CU_ASSERT_EQUAL(buf_add_text(&numbers, "]]", &err), 0);
    check_refused(buf_text(&numbers),
                  "an outline; expected at most 65536 polygons and 4194304 numbers");
    CU_ASSERT_EQUAL(buf_add_text(&parts, "[[1,1,1,1]", &err), 0);
    for (int i = 0; i < COCO_PARTS_MAX; i++)
        (void)buf_add_text(&parts, ",[1,1,1,1]", &err);
    CU_ASSERT_EQUAL(buf_add_text(&parts, "]", &err), 0);
    check_refused(buf_text(&parts), "an outline; expected at most 65536 polygons");
}

UNIT_SUITE("data.coco_segment", UNIT(an_outline_that_cannot_be_read_is_an_error),
           UNIT(outlines_have_a_ceiling), UNIT(polygons_and_runs_give_their_masks),
           UNIT(odd_polygons_are_read_as_by_the_reference), UNIT(an_empty_outline_is_none),
           UNIT(malformed_outlines_are_refused))
