#include "trainer/app/command/coco/command_coco.h"

#include "tests/support/unit.h"

#define W(text) ((char[]){text})

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

UNIT_SUITE("app.command_coco", UNIT(wrong_command_lines_are_refused))
