#include "common/exit_code.h"
#include "tests/support/unit.h"

static void rows_stand_in_order_and_none_twice(void) {
    size_t count = 0;
    const struct exit_code_row *rows = exit_code_table(&count);
    CU_ASSERT(count > 10);
    for (size_t i = 1; i < count; i++)
        CU_ASSERT(rows[i - 1].code < rows[i].code);
}

/* Schedulers and people know them: neither a number nor a class changes. */
static void every_code_has_its_class(void) {
    static const struct {
        int code;
        const char *class_name;
    } known[] = {{0, "success"},    {64, "usage"},    {65, "configuration"}, {66, "data"},
                 {69, "not-ready"}, {70, "internal"}, {72, "device"},        {73, "host-lost"},
                 {74, "stalled"},   {75, "upload"},   {77, "key-refused"},   {126, "program"},
                 {127, "program"},  {128, "program"}, {129, "signal"},       {143, "stopped"},
                 {192, "signal"},   {193, "program"}, {1, "program"}};
    size_t count = 0, listed = 0;
    const struct exit_code_row *rows = exit_code_table(&count);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        CU_ASSERT_STRING_EQUAL(exit_code_class(known[i].code), known[i].class_name);
        for (size_t j = 0; j < count; j++)
            listed += rows[j].code == known[i].code;
    }
    CU_ASSERT_EQUAL(listed, 14);
    CU_ASSERT_EQUAL(listed, count);
}

static void classes_name_our_codes_signals_and_programs(void) {
    CU_ASSERT_STRING_EQUAL(exit_code_class(73), "host-lost");
    CU_ASSERT_STRING_EQUAL(exit_code_class(139), "signal");
    CU_ASSERT_STRING_EQUAL(exit_code_class(42), "program");
    CU_ASSERT_STRING_EQUAL(exit_code_class(143), "stopped");
}

UNIT_SUITE("common.exit_code", UNIT(rows_stand_in_order_and_none_twice),
           UNIT(every_code_has_its_class), UNIT(classes_name_our_codes_signals_and_programs))
