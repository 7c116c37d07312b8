#include "common/scaling/comm_reading.h"

#include "tests/support/unit.h"

static void all_reduces_are_found_between_lines(void) {
    struct scaling_reduce list[4];
    struct error err = {0};
    const char *text = "{not this\nwords\n{\n \"sizes\": [{\"ranks\": 2, \"bytes\": 8, "
                       "\"microseconds\": 50}, {\"ranks\": 1, \"bytes\": 8}, {\"ranks\": 2, "
                       "\"bytes\": 1024, \"microseconds\": 75.5}]}\nmore\n";
    CU_ASSERT_EQUAL_FATAL(comm_reading_parse(text, "a", list, 4, &err), 2);
    CU_ASSERT_EQUAL(list[1].ranks, 2);
    CU_ASSERT_DOUBLE_EQUAL(list[1].bytes, 1024, 0);
    CU_ASSERT_DOUBLE_EQUAL(list[1].seconds, 75.5e-6, 1e-12);
    CU_ASSERT_EQUAL(comm_reading_parse(text, "a", list, 1, &err), 1);
}

static void other_output_is_told(void) {
    struct scaling_reduce list[4];
    struct error err = {0};
    CU_ASSERT_EQUAL(comm_reading_parse("", "a", list, 4, &err), -1);
    CU_ASSERT_EQUAL(comm_reading_parse("{\"sizes\": 3}", "a", list, 4, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

UNIT_SUITE("common.scaling.comm_reading", UNIT(all_reduces_are_found_between_lines),
           UNIT(other_output_is_told))
