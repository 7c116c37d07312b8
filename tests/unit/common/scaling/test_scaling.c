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

/* Two cores: with four ranks there are twice as many threads. */
static void shared_cores_are_told_apart(void) {
    struct scaling_study s;
    cleanup_buf struct buf words = {0};
    buf_init(&words, 4096);
    fill(&s);
    s.cores = 2;
    s.threads = 1;
    for (int i = 0; i < 3; i++)
        s.points[i].on_one = 1 << i;
    s.points[2].rate = 165;
    scaling_conclude(&s);
    CU_ASSERT_DOUBLE_EQUAL(scaling_crowd(&s, &s.points[1]), 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(scaling_crowd(&s, &s.points[2]), 2, 1e-9);
    CU_ASSERT_PTR_NULL(scaling_refusal(&s));
    CU_ASSERT_TRUE(fabs(s.check.error) < 0.2);
    CU_ASSERT_EQUAL(scaling_model_words(&s, &words, NULL), 0);
    has(&words, "With 4 ranks there were up to 2 compute threads a core, of 2 cores a host");
}

static void nothing_is_projected_without_a_foundation(void) {
    struct scaling_study s;
    cleanup_buf struct buf words = {0};
    buf_init(&words, 4096);
    fill(&s);
    /* One core: what more ranks cost apart from that is not known. */
    s.cores = 1;
    for (int i = 0; i < 3; i++)
        s.points[i].on_one = 1 << i;
    scaling_conclude(&s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scaling_refusal(&s));
    CU_ASSERT(isnan(scaling_projected_rate(&s, 16)));
    CU_ASSERT_EQUAL(scaling_model_words(&s, &words, NULL), 0);
    has(&words, "Not projected: all sizes but the smallest have more threads than cores");
    /* One size alone; and a model that is three times off. */
    fill(&s);
    s.count = 1;
    scaling_conclude(&s);
    CU_ASSERT_PTR_NOT_NULL(scaling_refusal(&s));
    fill(&s);
    s.points[2].rate = 100;
    scaling_conclude(&s);
    CU_ASSERT_PTR_NOT_NULL(scaling_refusal(&s));
}

UNIT_SUITE("common.scaling.scaling", UNIT(sizes_ascend), UNIT(words_of_the_user_are_taken),
           UNIT(efficiency_is_of_the_smallest_size), UNIT(shared_cores_are_told_apart),
           UNIT(nothing_is_projected_without_a_foundation))
