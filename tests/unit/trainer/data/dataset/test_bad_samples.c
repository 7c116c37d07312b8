#include "tests/support/unit.h"
#include "trainer/data/dataset/bad_samples.h"

#include <errno.h>
#include <string.h>

static void a_fault_counts_once(void) {
    cleanup_bad_samples struct bad_samples f = {0};
    struct bad_sample told[4];
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&f, 10, NULL), 0);
    CU_ASSERT_EQUAL(bad_samples_note(&f, 7, BAD_SAMPLE_BAD, "truncated"), 1);
    CU_ASSERT_EQUAL(bad_samples_note(&f, 3, BAD_SAMPLE_BAD, "empty"), 2);
    CU_ASSERT_EQUAL(bad_samples_note(&f, 7, BAD_SAMPLE_BAD, "again"), 2);
    CU_ASSERT_EQUAL(bad_samples_note(&f, 7, BAD_SAMPLE_DAMAGED, "both"), 1);
    CU_ASSERT_EQUAL(bad_samples_note(&f, 10, BAD_SAMPLE_BAD, "no such sample"), 2);
    CU_ASSERT_EQUAL(bad_samples_count(&f, BAD_SAMPLE_BAD), 2);
    CU_ASSERT_EQUAL_FATAL(bad_samples_take(&f, told, 2), 2);
    CU_ASSERT(told[0].sample == 3 && strcmp(told[0].why, "empty") == 0);
    CU_ASSERT_EQUAL(told[1].sample, 7);
    CU_ASSERT_EQUAL_FATAL(bad_samples_take(&f, told, 4), 1);
    CU_ASSERT_EQUAL(bad_samples_take(&f, told, 4), 0);
    CU_ASSERT_EQUAL(bad_samples_next(&f, BAD_SAMPLE_BAD, 0), 3);
    CU_ASSERT_EQUAL(bad_samples_next(&f, BAD_SAMPLE_BAD, 4), 7);
    CU_ASSERT_EQUAL(bad_samples_next(&f, BAD_SAMPLE_BAD, 8), -1);
}

static void what_is_reported_is_bounded_and_the_rest_counted(void) {
    cleanup_bad_samples struct bad_samples f = {0};
    struct bad_sample told[100];
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&f, 1000, NULL), 0);
    for (int64_t i = 0; i < 1000; i++) {
        (void)bad_samples_note(&f, i, BAD_SAMPLE_BAD, "x");
        (void)bad_samples_note(&f, i, BAD_SAMPLE_DAMAGED, "x");
    }
    CU_ASSERT_EQUAL(bad_samples_take(&f, told, 100), 2 * BAD_SAMPLES_TOLD_MAX);
    CU_ASSERT_EQUAL(bad_samples_count(&f, BAD_SAMPLE_BAD), 1000);
    CU_ASSERT_EQUAL(bad_samples_count(&f, BAD_SAMPLE_DAMAGED), 1000);
}

/* Two ranks that found some of the same files. */
static void ranks_know_together_what_each_found(void) {
    cleanup_bad_samples struct bad_samples a = {0};
    cleanup_bad_samples struct bad_samples b = {0};
    int64_t numbers[4];
    int64_t left = 0;
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&a, 100, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(bad_samples_init(&b, 100, NULL), 0);
    for (int64_t i = 0; i < 5; i++)
        (void)bad_samples_note(&a, 10 * i, BAD_SAMPLE_BAD, "x");
    (void)bad_samples_note(&a, 20, BAD_SAMPLE_DAMAGED, "x");
    (void)bad_samples_note(&b, 20, BAD_SAMPLE_BAD, "x");
    (void)bad_samples_note(&b, 99, BAD_SAMPLE_DAMAGED, "x");
    for (int round = 0; round < 2; round++) {
        int count = bad_samples_unshared(&a, numbers, 4, &left);
        CU_ASSERT_EQUAL(count, round == 0 ? 4 : 2);
        CU_ASSERT_EQUAL(left, round == 0 ? 2 : 0);
        for (int i = 0; i < count; i++)
            bad_samples_learn(&b, numbers[i]);
    }
    CU_ASSERT_EQUAL(bad_samples_unshared(&a, numbers, 4, &left), 0);
    int count = bad_samples_unshared(&b, numbers, 4, &left);
    CU_ASSERT_EQUAL(count, 1); /* 20 is known to both by now */
    for (int i = 0; i < count; i++)
        bad_samples_learn(&a, numbers[i]);
    CU_ASSERT(bad_samples_count(&a, BAD_SAMPLE_BAD) == 5 &&
              bad_samples_count(&b, BAD_SAMPLE_BAD) == 5);
    CU_ASSERT(bad_samples_count(&a, BAD_SAMPLE_DAMAGED) == 2 &&
              bad_samples_count(&b, BAD_SAMPLE_DAMAGED) == 2);
    bad_samples_learn(&a, -1);
    bad_samples_learn(&a, 100000);
    CU_ASSERT_EQUAL(bad_samples_count(&a, BAD_SAMPLE_BAD), 5);
}

static void a_machine_in_need_is_not_the_samples_fault(void) {
    struct error err = {.code = EXIT_CODE_DATA};
    CU_ASSERT(bad_sample_at_fault(&err));
    err.os_errno = ENOENT;
    CU_ASSERT(bad_sample_at_fault(&err));
    err.os_errno = EMFILE;
    CU_ASSERT(!bad_sample_at_fault(&err));
    err = (struct error){.code = EXIT_CODE_INTERNAL};
    CU_ASSERT(!bad_sample_at_fault(&err));
}

static void a_name_in_front_is_taken_away(void) {
    CU_ASSERT_STRING_EQUAL(bad_sample_reason("a.jpg", "a.jpg: cut"), "cut");
    CU_ASSERT_STRING_EQUAL(bad_sample_reason("a.jp", "a.jpg: cut"), "a.jpg: cut");
    CU_ASSERT_STRING_EQUAL(bad_sample_reason("b.jpg", "a.jpg: cut"), "a.jpg: cut");
}

UNIT_SUITE("data.bad_samples", UNIT(a_fault_counts_once),
           UNIT(what_is_reported_is_bounded_and_the_rest_counted),
           UNIT(ranks_know_together_what_each_found),
           UNIT(a_machine_in_need_is_not_the_samples_fault), UNIT(a_name_in_front_is_taken_away))
