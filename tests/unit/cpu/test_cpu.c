#include "cpu/cpu.h"
#include "support/unit.h"

#include <stdint.h>
#include <stdlib.h>

static void opening_wants_at_least_one_thread(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL(cpu_open(&backend, &(struct cpu_options){.threads = 0}, &err), -1);
    ASSERT_CONTAINS(err.text, "not 0");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_PTR_NULL(backend);
}

/* With OMP_THREAD_LIMIT=2, as tests/room.cmake has it once, and without. */
static void more_threads_than_openmp_gives_are_refused(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    bool limited = getenv("OMP_THREAD_LIMIT") != NULL;
    CU_ASSERT_EQUAL(cpu_open(&backend, &(struct cpu_options){.threads = 3}, &err),
                    limited ? -1 : 0);
    if (limited) {
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "OpenMP gives 2 of 3 threads (OMP_THREAD_LIMIT)");
    }
    backend_close(backend);
}

static void a_description_names_library_and_threads(void) {
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &(struct cpu_options){.threads = 2}, &err), 0);
    ASSERT_CONTAINS(backend->table->describe(backend), "oneDNN 3.");
    ASSERT_CONTAINS(backend->table->describe(backend), "2 threads");
    ASSERT_CONTAINS(cpu_describe_machine(), "loops ");
    backend_close(backend);
}

static void memory_is_aligned_and_zero(void) {
    static const size_t sizes[] = {1, 4096, 3 << 20};
    struct backend *backend = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &(struct cpu_options){.threads = 1}, &err), 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *memory = backend->table->alloc(backend, sizes[i], &err);
        CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
        CU_ASSERT_EQUAL((uintptr_t)memory % BACKEND_ALIGNMENT, 0);
        unsigned char any = 0;
        for (size_t k = 0; k < sizes[i]; k++)
            any |= memory[k];
        CU_ASSERT_EQUAL(any, 0);
        backend->table->free(backend, memory, sizes[i]);
    }
    backend_close(backend);
}

UNIT_MAIN("cpu.cpu", UNIT(opening_wants_at_least_one_thread),
          UNIT(more_threads_than_openmp_gives_are_refused),
          UNIT(a_description_names_library_and_threads), UNIT(memory_is_aligned_and_zero))
