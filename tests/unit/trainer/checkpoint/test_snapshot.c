#include "trainer/checkpoint/snapshot.h"

#include "tests/support/no_memory.h"
#include "tests/support/unit.h"

#include <string.h>

static float weights[7], more[40];
static int64_t batches;

static void a_copy_stays_as_it_was(void) {
    char name[] = "fc.weight";
    struct snapshot s = {0};
    const struct array arrays[] = {
        {.name = name, .type = ARRAY_F32, .rank = 1, .shape = {7}, .data = weights},
        {.name = "batches", .type = ARRAY_I64, .data = &batches},
        {.name = "none", .type = ARRAY_F32, .rank = 1, .shape = {0}, .data = more},
    };
    for (int i = 0; i < 7; i++)
        weights[i] = (float)i;
    batches = 12;
    CU_ASSERT_EQUAL(snapshot_bytes(arrays, 3), 128);
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&s, arrays, 3, NULL), 0);
    memset(weights, 0, sizeof(weights));
    memset(name, 'x', sizeof(name) - 1);
    batches = 0;
    CU_ASSERT_EQUAL_FATAL(s.count, 3);
    CU_ASSERT_STRING_EQUAL(s.arrays[0].name, "fc.weight");
    CU_ASSERT_STRING_EQUAL(s.arrays[1].name, "batches");
    for (int i = 0; i < 7; i++)
        CU_ASSERT_EQUAL(((const float *)s.arrays[0].data)[i], (float)i);
    CU_ASSERT_EQUAL(*(const int64_t *)s.arrays[1].data, 12);
    CU_ASSERT_EQUAL(s.arrays[0].shape[0], 7);
    snapshot_done(&s);
    CU_ASSERT_EQUAL(s.count, 0);
}

static void the_next_copy_has_the_same_memory_or_more(void) {
    struct snapshot s = {0};
    struct array array = {.name = "w", .type = ARRAY_F32, .rank = 1, .shape = {40}, .data = more};
    more[39] = 3;
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&s, &array, 1, NULL), 0);
    const void *memory = s.memory;
    more[39] = 4;
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&s, &array, 1, NULL), 0);
    CU_ASSERT_PTR_EQUAL(s.memory, memory);
    CU_ASSERT_EQUAL(((const float *)s.arrays[0].data)[39], 4);
    array.shape[0] = 7;
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&s, &array, 1, NULL), 0);
    CU_ASSERT_PTR_EQUAL(s.memory, memory);
    CU_ASSERT_EQUAL(s.arrays[0].shape[0], 7);
    CU_ASSERT_EQUAL_FATAL(snapshot_take(&s, &array, 0, NULL), 0);
    CU_ASSERT_EQUAL(s.count, 0);
    snapshot_done(&s);
}

static void without_memory_it_is_empty(void) {
    enum { ALLOCATIONS = 3 };
    const struct array array = {
        .name = "w", .type = ARRAY_F32, .rank = 1, .shape = {40}, .data = more};
    const struct array small = {
        .name = "w", .type = ARRAY_F32, .rank = 1, .shape = {7}, .data = weights};
    for (size_t n = 1; n <= ALLOCATIONS; n++) {
        struct snapshot s = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL_FATAL(snapshot_take(&s, &small, 1, NULL), 0);
        no_memory_begin(n, false);
        CU_ASSERT_EQUAL(snapshot_take(&s, &array, 1, &err), -1);
        CU_ASSERT(no_memory_end());
        ASSERT_CONTAINS(err.text, "a copy of the weights");
        CU_ASSERT_EQUAL(s.count, 0);
        CU_ASSERT_PTR_NULL(s.memory);
        CU_ASSERT_EQUAL(snapshot_take(&s, &array, 1, &err), 0);
        snapshot_done(&s);
    }
}

UNIT_SUITE("checkpoint.snapshot", UNIT(a_copy_stays_as_it_was),
           UNIT(the_next_copy_has_the_same_memory_or_more), UNIT(without_memory_it_is_empty))
