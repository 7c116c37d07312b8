#include "trainer/app/command/coco/command_coco.h"

#include "tests/support/unit.h"

#define W(text) ((char[]){text})

static void a_flag_is_seen_in_either_form(void) {
    char *const apart[] = {W("shapes"), W("--coco"), W("DIR")};
    char *const joined[] = {W("--coco=DIR")};
    char *const other[] = {W("--cocoa"), W("x"), W("coco"), W("-coco")};
    CU_ASSERT(command_has_flag(3, apart, "coco"));
    CU_ASSERT(command_has_flag(1, joined, "coco"));
    CU_ASSERT_FALSE(command_has_flag(4, other, "coco"));
    CU_ASSERT_FALSE(command_has_flag(0, other, "coco"));
}

static void wrong_command_lines_are_refused(void) {
    struct error err = {0};
    char *const no_results[] = {W("--coco"), W("a.json")};
    CU_ASSERT_EQUAL(command_eval_coco(2, no_results, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--results");
    char *const bad_kind[] = {W("--coco"), W("a.json"),     W("--results"),
                              W("b.json"), W("--iou-type"), W("keypoints")};
    CU_ASSERT_EQUAL(command_eval_coco(6, bad_kind, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(command_inspect_coco(0, NULL, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("app.command_coco", UNIT(a_flag_is_seen_in_either_form),
           UNIT(wrong_command_lines_are_refused))
