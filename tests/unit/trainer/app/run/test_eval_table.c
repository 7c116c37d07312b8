#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/app/run/eval_table.h"

#include <string.h>

static const struct metric_column columns[] = {
    {"top1", "Top-1 %", 100, 2}, {"loss", "Loss", 1, 4}, {NULL, NULL, 0, 0}};

static void a_row_for_each_evaluation(void) {
    struct eval_table table = {0};
    cleanup_buf struct buf out = {.max = 4096};
    const struct metric_field both[] = {{"loss", 1.70311}, {"top1", 0.6142}};
    const struct metric_field one[] = {{"top1", 1}};
    CU_ASSERT_EQUAL(eval_table_print(&table, columns, &out, NULL), 0);
    CU_ASSERT_EQUAL(out.size, 0);
    CU_ASSERT_EQUAL(
        eval_table_add(&table, columns, 1563, 1, 1764259695 * CLOCK_SECOND, both, 2, NULL), 0);
    CU_ASSERT_EQUAL(eval_table_add(&table, columns, 3126, 2, 0, one, 1, NULL), 0);
    CU_ASSERT_EQUAL(eval_table_print(&table, columns, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out),
                           "    Step  Epoch    Top-1 %       Loss  Checkpoint (UTC)\n"
                           "    1563   1.00      61.42     1.7031  2025-11-27 16:08:15\n"
                           "    3126   2.00     100.00          -  -\n");
    eval_table_done(&table);
}

static void the_last_rows_are_kept(void) {
    struct eval_table table = {0};
    for (int64_t step = 1; step <= EVAL_TABLE_ROWS_MAX + 5; step++)
        CU_ASSERT_EQUAL(eval_table_add(&table, columns, step, 1, 0, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL(table.count, EVAL_TABLE_ROWS_MAX);
    CU_ASSERT_EQUAL(table.rows[0].step, 6);
    CU_ASSERT_EQUAL(table.rows[EVAL_TABLE_ROWS_MAX - 1].step, EVAL_TABLE_ROWS_MAX + 5);
    eval_table_done(&table);
}

UNIT_SUITE("app.run.eval_table", UNIT(a_row_for_each_evaluation), UNIT(the_last_rows_are_kept))
