#include "common/exit_code.h"
#include "support/unit.h"

#include <stdlib.h>

static void rows_stand_in_order_and_none_twice(void) {
    size_t count = 0;
    const struct exit_code_row *rows = exit_code_table(&count);
    CU_ASSERT(count > 10);
    for (size_t i = 1; i < count; i++)
        CU_ASSERT(rows[i - 1].code < rows[i].code);
}

static void classes_name_our_codes_signals_and_programs(void) {
    CU_ASSERT_STRING_EQUAL(exit_code_class(73), "host-lost");
    CU_ASSERT_STRING_EQUAL(exit_code_class(139), "signal");
    CU_ASSERT_STRING_EQUAL(exit_code_class(42), "program");
    CU_ASSERT_STRING_EQUAL(exit_code_class(143), "stopped");
}

static void the_printed_table_holds_every_row(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    exit_code_print(out);
    fclose(out);
    size_t count = 0;
    const struct exit_code_row *rows = exit_code_table(&count);
    for (size_t i = 0; i < count; i++)
        ASSERT_CONTAINS(text, rows[i].meaning);
    free(text);
}

UNIT_MAIN("common.exit_code", UNIT(rows_stand_in_order_and_none_twice),
          UNIT(classes_name_our_codes_signals_and_programs),
          UNIT(the_printed_table_holds_every_row))
