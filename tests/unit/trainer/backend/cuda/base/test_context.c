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

UNIT_SUITE("cuda.context", UNIT(a_workspace_is_aligned_within_its_scratch),
           UNIT(no_workspace_is_no_scratch), UNIT(what_follows_a_workspace_is_aligned_too))
