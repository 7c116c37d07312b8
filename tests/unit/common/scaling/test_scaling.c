#include "common/scaling/scaling.h"

#include "tests/unit/common/scaling/study.h"

static void sizes_ascend(void) {
    int list[4];
    struct error err = {0};
    CU_ASSERT_EQUAL(scaling_parse_sizes("1,2,8", 8, list, 4, &err), 3);
    CU_ASSERT_EQUAL(list[2], 8);
    static const char *const bad[] = {"", "0", "1,1", "2,1", "1,", "a", "9", "1;2", "1,,2"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(scaling_parse_sizes(bad[i], 8, list, 4, &err), -1);
    CU_ASSERT_EQUAL(scaling_parse_sizes("1,2,3,4,5", 8, list, 4, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

static void words_of_the_user_are_taken(void) {
    int list[SCALING_POINTS_MAX];
    size_t count = 0;
    struct scaling_study s = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(scaling_sizes(NULL, 6, list, &count, &err), 0);
    CU_ASSERT_EQUAL(count, 4);
    CU_ASSERT_EQUAL(list[3], 6);
    CU_ASSERT_EQUAL(scaling_sizes("2,3", 6, list, &count, &err), 0);
    CU_ASSERT_EQUAL(count, 2);
    CU_ASSERT_EQUAL(scaling_sizes("7", 6, list, &count, &err), -1);
    ASSERT_CONTAINS(err.text, "--ranks");
    CU_ASSERT_EQUAL(scaling_project(&s, "none", &err), 0);
    CU_ASSERT_EQUAL(s.projected_count, 0);
    CU_ASSERT_EQUAL(scaling_project(&s, "256,1024", &err), 0);
    CU_ASSERT_EQUAL(s.projected_count, 2);
    CU_ASSERT_EQUAL(scaling_project(&s, "x", &err), -1);
    ASSERT_CONTAINS(err.text, "--project");
}

static void efficiency_is_of_the_smallest_size(void) {
    struct scaling_study s;
    fill(&s);
    CU_ASSERT_DOUBLE_EQUAL(scaling_efficiency(&s, 320, 4), 0.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(scaling_seconds(&s, 100, 10), 10010, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(scaling_start(&s), 10, 0);
    CU_ASSERT_FALSE(scaling_is_measured(&s.points[3]));
    /* A size that failed is no point of the model. */
    CU_ASSERT_EQUAL(s.check.worst, 4);
}

UNIT_SUITE("common.scaling.scaling", UNIT(sizes_ascend), UNIT(words_of_the_user_are_taken),
           UNIT(efficiency_is_of_the_smallest_size))
