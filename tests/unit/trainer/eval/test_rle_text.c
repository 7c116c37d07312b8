#include "trainer/eval/rle_text.h"

#include "tests/support/unit.h"

#include <string.h>

static void a_string_gives_its_runs_and_back(void) {
    const uint32_t runs[] = {0, 100000, 3, 70000, 5, 1, 200000};
    const char *text = "0PeQ33`fRO2adkMkYS6";
    cleanup_rle struct rle mask = {0};
    cleanup_buf struct buf out = {.max = 100};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(rle_begin(&mask, 1, 370009, &err), 0);
    for (size_t i = 0; i < 7; i++)
        CU_ASSERT_EQUAL(rle_add(&mask, runs[i], &err), 0);
    CU_ASSERT_EQUAL(rle_end(&mask, &err), 0);
    CU_ASSERT_EQUAL(rle_format(&mask, &out, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), text);

    cleanup_rle struct rle again = {0};
    CU_ASSERT_EQUAL_FATAL(rle_parse(&again, text, strlen(text), 1, 370009, &err), 0);
    CU_ASSERT_EQUAL(again.count, 7);
    CU_ASSERT_EQUAL(memcmp(again.runs, runs, sizeof(runs)), 0);
}

static void uniform_masks_are_one_character_or_two(void) {
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(rle_parse(&mask, "4", 1, 2, 2, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&mask), 0);
    CU_ASSERT_EQUAL(rle_parse(&mask, "04", 2, 2, 2, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&mask), 4);
}

static void check_refused(const char *text, int64_t height, int64_t width, const char *words) {
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(rle_parse(&mask, text, strlen(text), height, width, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, words);
}

static void damaged_strings_are_refused_with_what_is_wrong(void) {
    check_refused("", 2, 2, "0 runs add up to 0 pixels");
    check_refused("5", 2, 2, "add up to 5 pixels; expected 2 x 2");
    check_refused("P", 2, 2, "ends within a number");
    check_refused("0!", 2, 2, "byte 0x21");
    check_refused("0p", 2, 2, "byte 0x70");
    check_refused("PPPPPPPPP0", 2, 2, "has more than 7 characters");
    check_refused("O5", 2, 2, "run 0 of the mask is -1");
    check_refused("4", 0, 2, "size is 0 x 2; expected a height");
    check_refused("4", 65536, 65536, "size is 65536 x 65536; expected");
}

static void a_run_list_is_checked_like_a_string(void) {
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(rle_begin(&mask, 2, 2, &err), 0);
    CU_ASSERT_EQUAL(rle_add(&mask, -1, &err), -1);
    CU_ASSERT_EQUAL(rle_add(&mask, INT64_C(1) << 40, &err), -1);
    CU_ASSERT_EQUAL(rle_add(&mask, 3, &err), 0);
    CU_ASSERT_EQUAL(rle_end(&mask, &err), -1);
    ASSERT_CONTAINS(err.text, "1 runs add up to 3");
}

UNIT_SUITE("eval.rle_text", UNIT(a_string_gives_its_runs_and_back),
           UNIT(uniform_masks_are_one_character_or_two),
           UNIT(damaged_strings_are_refused_with_what_is_wrong),
           UNIT(a_run_list_is_checked_like_a_string))
