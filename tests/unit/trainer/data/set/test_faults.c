#include "tests/support/unit.h"
#include "trainer/data/set/faults.h"

#include <string.h>

static void a_fault_counts_once(void) {
    cleanup_faults struct faults f = {0};
    struct fault told[4];
    CU_ASSERT_EQUAL_FATAL(faults_init(&f, 10, NULL), 0);
    CU_ASSERT_EQUAL(faults_note(&f, 7, FAULT_BAD, "truncated"), 1);
    CU_ASSERT_EQUAL(faults_note(&f, 3, FAULT_BAD, "empty"), 2);
    CU_ASSERT_EQUAL(faults_note(&f, 7, FAULT_BAD, "again"), 2);
    CU_ASSERT_EQUAL(faults_note(&f, 7, FAULT_DAMAGED, "both"), 1);
    CU_ASSERT_EQUAL(faults_note(&f, 10, FAULT_BAD, "no such sample"), 2);
    CU_ASSERT_EQUAL(faults_count(&f, FAULT_BAD), 2);
    CU_ASSERT_EQUAL_FATAL(faults_take(&f, told, 2), 2);
    CU_ASSERT(told[0].sample == 3 && strcmp(told[0].why, "empty") == 0);
    CU_ASSERT_EQUAL(told[1].sample, 7);
    CU_ASSERT_EQUAL_FATAL(faults_take(&f, told, 4), 1);
    CU_ASSERT_EQUAL(faults_take(&f, told, 4), 0);
    CU_ASSERT_EQUAL(faults_next(&f, FAULT_BAD, 0), 3);
    CU_ASSERT_EQUAL(faults_next(&f, FAULT_BAD, 4), 7);
    CU_ASSERT_EQUAL(faults_next(&f, FAULT_BAD, 8), -1);
}

static void what_is_told_is_bounded_and_the_rest_counted(void) {
    cleanup_faults struct faults f = {0};
    struct fault told[100];
    CU_ASSERT_EQUAL_FATAL(faults_init(&f, 1000, NULL), 0);
    for (int64_t i = 0; i < 1000; i++) {
        (void)faults_note(&f, i, FAULT_BAD, "x");
        (void)faults_note(&f, i, FAULT_DAMAGED, "x");
    }
    CU_ASSERT_EQUAL(faults_take(&f, told, 100), 2 * FAULTS_TOLD_MAX);
    CU_ASSERT_EQUAL(faults_count(&f, FAULT_BAD), 1000);
    CU_ASSERT_EQUAL(faults_count(&f, FAULT_DAMAGED), 1000);
}

/* Two ranks that found some of the same files. */
static void ranks_know_together_what_each_found(void) {
    cleanup_faults struct faults a = {0};
    cleanup_faults struct faults b = {0};
    int64_t numbers[4];
    int64_t left = 0;
    CU_ASSERT_EQUAL_FATAL(faults_init(&a, 100, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(faults_init(&b, 100, NULL), 0);
    for (int64_t i = 0; i < 5; i++)
        (void)faults_note(&a, 10 * i, FAULT_BAD, "x");
    (void)faults_note(&a, 20, FAULT_DAMAGED, "x");
    (void)faults_note(&b, 20, FAULT_BAD, "x");
    (void)faults_note(&b, 99, FAULT_DAMAGED, "x");
    for (int round = 0; round < 2; round++) {
        int count = faults_unshared(&a, numbers, 4, &left);
        CU_ASSERT_EQUAL(count, round == 0 ? 4 : 2);
        CU_ASSERT_EQUAL(left, round == 0 ? 2 : 0);
        for (int i = 0; i < count; i++)
            faults_learn(&b, numbers[i]);
    }
    CU_ASSERT_EQUAL(faults_unshared(&a, numbers, 4, &left), 0);
    int count = faults_unshared(&b, numbers, 4, &left);
    CU_ASSERT_EQUAL(count, 1); /* 20 is known to both by now */
    for (int i = 0; i < count; i++)
        faults_learn(&a, numbers[i]);
    CU_ASSERT(faults_count(&a, FAULT_BAD) == 5 && faults_count(&b, FAULT_BAD) == 5);
    CU_ASSERT(faults_count(&a, FAULT_DAMAGED) == 2 && faults_count(&b, FAULT_DAMAGED) == 2);
    faults_learn(&a, -1);
    faults_learn(&a, 100000);
    CU_ASSERT_EQUAL(faults_count(&a, FAULT_BAD), 5);
}

UNIT_SUITE("data.faults", UNIT(a_fault_counts_once),
           UNIT(what_is_told_is_bounded_and_the_rest_counted),
           UNIT(ranks_know_together_what_each_found))
