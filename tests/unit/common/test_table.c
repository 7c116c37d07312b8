#include "common/table.h"

#include "tests/support/unit.h"

struct animal {
    int legs;
    const char *name;
};

static const struct animal animals[] = {
    {4, "cat"}, {0, NULL}, {2, "hen"}, {6, "ant"}, {3, "hen"},
};

static void a_row_is_found_by_its_whole_name(void) {
    const struct animal *found = TABLE_FIND(animals, name, "ant");
    CU_ASSERT_PTR_EQUAL(found, &animals[3]);
    CU_ASSERT_PTR_EQUAL(TABLE_FIND(animals, name, "cat"), &animals[0]);
    CU_ASSERT_PTR_NULL(TABLE_FIND(animals, name, "ca"));
    CU_ASSERT_PTR_NULL(TABLE_FIND(animals, name, "cats"));
    CU_ASSERT_PTR_NULL(TABLE_FIND(animals, name, "Cat"));
    CU_ASSERT_PTR_NULL(TABLE_FIND(animals, name, "")); /* nor a row without a name */
}

static void the_first_of_two_rows_counts(void) {
    const struct animal *found = TABLE_FIND(animals, name, "hen");
    CU_ASSERT_PTR_EQUAL(found, &animals[2]);
}

static void rows_beyond_the_count_are_not_read(void) {
    CU_ASSERT_PTR_NULL(TABLE_FIND_IN(animals, 3, name, "ant"));
    CU_ASSERT_PTR_EQUAL(TABLE_FIND_IN(&animals[1], 3, name, "ant"), &animals[3]);
    const struct animal *none = NULL;
    CU_ASSERT_PTR_NULL(TABLE_FIND_IN(none, 0, name, "ant"));
}

static void words_have_an_index(void) {
    static const char *const words[] = {[0] = "auto", [2] = "off"};
    CU_ASSERT_EQUAL(TABLE_COUNT(words), 3);
    CU_ASSERT_EQUAL(TABLE_INDEX(words, "auto"), 0);
    CU_ASSERT_EQUAL(TABLE_INDEX(words, "off"), 2);
    CU_ASSERT_EQUAL(TABLE_INDEX(words, "on"), 3);
}

UNIT_SUITE("common.table", UNIT(a_row_is_found_by_its_whole_name),
           UNIT(the_first_of_two_rows_counts), UNIT(rows_beyond_the_count_are_not_read),
           UNIT(words_have_an_index))
