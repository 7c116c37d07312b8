#include "tests/support/unit.h"
#include "trainer/app/task/class_rows.h"

#include <math.h>

static void rows_and_cells_are_json(void) {
    char cat[] = "a \"cat\"", dog[] = "dog", emu[] = "emu";
    char *names[] = {cat, dog, emu};
    double sums[] = {4, 3, 0, 2, 3, 0};
    double pairs[] = {2, 1, 1, 0, 3, 0, 0, 0, 0};
    const struct class_tally tally = {.classes = 3, .sums = sums, .pairs = pairs};
    cleanup_buf struct buf out = {.max = 4096};
    CU_ASSERT_EQUAL(class_rows_of_tally(&tally, names, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out),
                           "\"metric\":\"top1\",\"rows\":[[\"a \\\"cat\\\"\",4,0.5],[\"dog\",3,1],"
                           "[\"emu\",0,null]],\"cells\":[[1,1,3],[0,0,2],[0,1,1],[0,2,1]]");
}

static void without_pairs_there_are_no_cells(void) {
    char cat[] = "cat";
    char *names[] = {cat};
    double sums[] = {4, 4};
    const struct class_tally tally = {.classes = 1, .sums = sums};
    cleanup_buf struct buf out = {.max = 4096};
    CU_ASSERT_EQUAL(class_rows_of_tally(&tally, names, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "\"metric\":\"top1\",\"rows\":[[\"cat\",4,1]]");
}

/* No half of it is left to be taken for the whole. */
static void too_many_classes_for_the_room_are_an_error(void) {
    cleanup_buf struct buf out = {.max = 64};
    CU_ASSERT_EQUAL(class_rows_begin(&out, "top1", NULL), 0);
    int result = 0;
    for (int i = 0; i < 10 && result == 0; i++)
        result = class_rows_add(&out, "class", 1, (double)NAN, NULL);
    CU_ASSERT_EQUAL(result, -1);
}

UNIT_SUITE("task.class_rows", UNIT(rows_and_cells_are_json), UNIT(without_pairs_there_are_no_cells),
           UNIT(too_many_classes_for_the_room_are_an_error))
