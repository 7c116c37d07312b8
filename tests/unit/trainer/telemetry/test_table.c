#include "tests/support/unit.h"
#include "trainer/telemetry/table.h"

#include <string.h>

static struct buf out;

static const char *row_text(struct table_row row) {
    buf_done(&out);
    buf_init(&out, 1024);
    CU_ASSERT_EQUAL(table_row(&out, &row, NULL), 0);
    return buf_text(&out);
}

static void the_header_names_the_columns(void) {
    buf_init(&out, 1024);
    CU_ASSERT_EQUAL(table_header(&out, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "    Step  Epoch    Speed    Loss FinLoss        LR");
}

static void rows_stand_under_the_header(void) {
    CU_ASSERT_STRING_EQUAL(row_text((struct table_row){
                               20, 1.25, 812.54, 2.30259, 2.35259, 0.1, 0, 0, {0, 0}, NULL, 0}),
                           "      20   1.25    812.5  2.3026  2.3526  0.100000");
    CU_ASSERT_EQUAL(strlen(row_text((struct table_row){
                        45000, 89.99, 12345.6, 0.1, 0.2, 6.4, 0, 0, {0, 0}, NULL, 0})),
                    strlen("    Step  Epoch    Speed    Loss FinLoss        LR"));
}

static void a_loss_that_is_no_number_says_so(void) {
    const double nan = __builtin_nan("");
    ASSERT_CONTAINS(row_text((struct table_row){1, 0, 1, nan, nan, 0, 0, 0, {0, 0}, NULL, 0}),
                    "nan");
    CU_ASSERT_PTR_NULL(
        strstr(row_text((struct table_row){1, 0, 1, -nan, -nan, 0, 0, 0, {0, 0}, NULL, 0}), "-"));
    buf_done(&out);
}

UNIT_SUITE("telemetry.table", UNIT(the_header_names_the_columns), UNIT(rows_stand_under_the_header),
           UNIT(a_loss_that_is_no_number_says_so))
