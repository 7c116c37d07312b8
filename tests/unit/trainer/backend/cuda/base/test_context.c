#include "tests/support/unit.h"
#include "trainer/backend/cuda/base/context.h"

#include <stdint.h>

/* Wherever an arena puts the scratch, the workspace in it is aligned and fits. */
static void a_workspace_is_aligned_within_its_scratch(void) {
    static char arena[4096];
    char *first = arena + BACKEND_ALIGNMENT - (uintptr_t)arena % BACKEND_ALIGNMENT;
    static const size_t sizes[] = {1, 64, 100, 1000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t at = 0; at < 512; at += BACKEND_ALIGNMENT) {
            char *scratch = first + at;
            char *workspace = cuda_workspace(scratch);
            CU_ASSERT_EQUAL((uintptr_t)workspace % CUDA_WORKSPACE_ALIGNMENT, 0);
            CU_ASSERT(workspace >= scratch);
            CU_ASSERT(workspace + sizes[i] <= scratch + cuda_workspace_bytes(sizes[i]));
        }
    }
}

static void no_workspace_is_no_scratch(void) {
    CU_ASSERT_EQUAL(cuda_workspace_bytes(0), 0);
    CU_ASSERT_PTR_NULL(cuda_workspace(NULL));
}

/* What follows a workspace in the same scratch memory keeps the arena's alignment. */
static void what_follows_a_workspace_is_aligned_too(void) {
    CU_ASSERT_EQUAL(cuda_workspace_bytes(100) % BACKEND_ALIGNMENT, 0);
}

/* Folds that are put off, on a device that only counts launches. */
static struct cuda cuda;
static struct launch_count count;

static void begin(void) {
    cuda = (struct cuda){0};
    count = (struct launch_count){0};
    launch_count_in(&count);
}

static void add(int folds, enum dtype type) {
    const struct fold_args fold = {.outputs = 1, .taps = 1, .from_width = 1, .to_width = 1};
    struct error err = {0};
    for (int i = 0; i < folds; i++)
        CU_ASSERT_EQUAL(folds_add(&cuda, type, &fold, &err), 0);
}

static void launch(unsigned long expected) {
    struct error err = {0};
    CU_ASSERT_EQUAL(folds_launch(&cuda, &err), 0);
    CU_ASSERT_EQUAL(count.all, expected);
    CU_ASSERT_EQUAL(count.early, expected);
    CU_ASSERT_EQUAL(cuda.folds.count, 0);
}

static void folds_share_a_launch(void) {
    begin();
    launch(0); /* there are none */
    add(3, DTYPE_F16);
    CU_ASSERT_EQUAL(count.all, 0);
    launch(1);
    launch(1); /* each of them once */
    launch_count_in(NULL);
}

static void what_does_not_fit_goes_into_another_launch(void) {
    begin();
    add(LAUNCH_FOLDS_MAX, DTYPE_F16);
    CU_ASSERT_EQUAL(count.all, 0);
    add(1, DTYPE_F16);
    CU_ASSERT_EQUAL(count.all, 1);
    launch(2);
    launch_count_in(NULL);
}

static void each_type_has_launches_of_its_own(void) {
    begin();
    add(2, DTYPE_F16);
    add(2, DTYPE_BF16);
    CU_ASSERT_EQUAL(count.all, 1);
    launch(2);
    launch_count_in(NULL);
}

UNIT_SUITE("cuda.context", UNIT(a_workspace_is_aligned_within_its_scratch),
           UNIT(no_workspace_is_no_scratch), UNIT(what_follows_a_workspace_is_aligned_too),
           UNIT(folds_share_a_launch), UNIT(what_does_not_fit_goes_into_another_launch),
           UNIT(each_type_has_launches_of_its_own))
