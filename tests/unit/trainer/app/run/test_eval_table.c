#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/app/run/eval_table.h"
#include "trainer/app/task/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct metric_column columns[] = {
    {"top1", "Top-1 %", 100, 2}, {"loss", "Loss", 1, 4}, {NULL, NULL, 0, 0}};

/* An evaluation of a set of so many CLASSES. */
static struct evaluation evaluation_of(size_t classes, double top1, double top5) {
    struct evaluation e = {.classes = classes};
    evaluation_add(&e, "top5", top5);
    evaluation_add(&e, "top1", top1);
    return e;
}

static void a_row_for_each_evaluation(void) {
    struct eval_table table = {0};
    cleanup_buf struct buf out = {.max = 4096};
    struct evaluation both = {.classes = 10};
    struct evaluation one = {.classes = 10};
    evaluation_add(&both, "loss", 1.70311);
    evaluation_add(&both, "top1", 0.6142);
    evaluation_add(&one, "top1", 1);
    CU_ASSERT_EQUAL(eval_table_print(&table, columns, &out, NULL), 0);
    CU_ASSERT_EQUAL(out.size, 0);
    CU_ASSERT_EQUAL(
        eval_table_add(&table, columns, 1563, 1, 1764259695 * CLOCK_SECOND, &both, NULL), 0);
    CU_ASSERT_EQUAL(eval_table_add(&table, columns, 3126, 2, 0, &one, NULL), 0);
    CU_ASSERT_EQUAL(eval_table_print(&table, columns, &out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out),
                           "    Step  Epoch    Top-1 %       Loss  Checkpoint (UTC)\n"
                           "    1563   1.00      61.42     1.7031  2025-11-27 16:08:15\n"
                           "    3126   2.00     100.00          -  -\n");
    eval_table_done(&table);
}

/* The table of one evaluation with the columns of a classification. */
static const char *table_of(const struct evaluation *e) {
    static char text[4096];
    struct eval_table table = {0};
    cleanup_buf struct buf out = {.max = sizeof(text) - 1};
    CU_ASSERT_EQUAL(eval_table_add(&table, TASK_CLASSIFY.columns, 10, 1, 0, e, NULL), 0);
    CU_ASSERT_EQUAL(eval_table_print(&table, TASK_CLASSIFY.columns, &out, NULL), 0);
    snprintf(text, sizeof(text), "%s", buf_text(&out));
    eval_table_done(&table);
    return text;
}

static void top_5_of_five_classes_is_no_column(void) {
    struct evaluation few = evaluation_of(5, 0.5, 1), more = evaluation_of(6, 0.5, 0.75);
    struct evaluation unknown = evaluation_of(0, 0.5, 0.75);
    evaluation_add(&few, "loss", (double)NAN); /* no number, and all the more worth a column */
    CU_ASSERT_STRING_EQUAL(table_of(&few), "    Step  Epoch    Top-1 %       Loss  "
                                           "Checkpoint (UTC)\n"
                                           "      10   1.00      50.00          -  -\n");
    ASSERT_CONTAINS(table_of(&more), "   Top-1 %    Top-5 %       Loss  Checkpoint");
    ASSERT_CONTAINS(table_of(&more), "     50.00      75.00          -  -");
    ASSERT_CONTAINS(table_of(&unknown), "     50.00      75.00 ");
}

static void the_last_rows_are_kept(void) {
    struct eval_table table = {0};
    const struct evaluation none = {0};
    for (int64_t step = 1; step <= EVAL_TABLE_ROWS_MAX + 5; step++)
        CU_ASSERT_EQUAL(eval_table_add(&table, columns, step, 1, 0, &none, NULL), 0);
    CU_ASSERT_EQUAL(table.count, EVAL_TABLE_ROWS_MAX);
    CU_ASSERT_EQUAL(table.rows[0].step, 6);
    CU_ASSERT_EQUAL(table.rows[EVAL_TABLE_ROWS_MAX - 1].step, EVAL_TABLE_ROWS_MAX + 5);
    eval_table_done(&table);
}

UNIT_SUITE("app.run.eval_table", UNIT(a_row_for_each_evaluation),
           UNIT(top_5_of_five_classes_is_no_column), UNIT(the_last_rows_are_kept))
