/* What flags make of a backend; what `auto` becomes is in test_settle.c. */
#include "trainer/app/device/device.h"

#include "tests/support/unit.h"

#include <string.h>

static struct error err;

static struct backend *open_with(const struct options *o, int threads) {
    struct backend *backend = NULL;
    struct comm *alone = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, NULL), 0);
    err = (struct error){0};
    CU_ASSERT_EQUAL(device_open(&backend, o, threads, alone, false, &err),
                    backend != NULL ? 0 : -1);
    comm_close(alone);
    return backend;
}

static void the_cpu_has_the_threads_that_are_asked_for(void) {
    for (int convs = OPTION_CONVS_AUTO; convs <= OPTION_CONVS_WINOGRAD; convs++) {
        const struct options o = {.backend = OPTION_BACKEND_CPU, .convs = convs};
        struct backend *backend = open_with(&o, 3);
        if (backend == NULL) {
            ASSERT_CONTAINS(err.text, "this build has no backend cpu");
            continue;
        }
        ASSERT_CONTAINS(backend->table->describe(backend), ", 3 threads");
        backend_close(backend);
    }
}

static void ref_is_there_in_every_build(void) {
    const struct options o = {.backend = OPTION_BACKEND_REF};
    struct backend *backend = open_with(&o, 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(backend);
    CU_ASSERT_PTR_NULL(backend->table->device);
    ASSERT_CONTAINS(backend->table->describe(backend), "ref");
    struct device_sum *sum = NULL;
    CU_ASSERT_EQUAL(device_sum_open(&sum, &o, NULL, backend, NULL, 0, &err), 0);
    CU_ASSERT_PTR_NULL(sum);
    backend_close(backend);
}

static void f16_is_for_gpus_alone(void) {
    static const int backends[] = {OPTION_BACKEND_REF, OPTION_BACKEND_CPU};
    for (int i = 0; i < 2; i++) {
        const struct options o = {.backend = backends[i], .dtype = OPTION_F16};
        CU_ASSERT_PTR_NULL(open_with(&o, 1));
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "--dtype f16 needs --backend cuda");
    }
}

static void types_have_their_names(void) {
    CU_ASSERT_EQUAL(device_dtype(OPTION_F32), DTYPE_F32);
    CU_ASSERT_EQUAL(device_dtype(OPTION_BF16), DTYPE_BF16);
    CU_ASSERT_EQUAL(device_dtype(OPTION_F16), DTYPE_F16);
}

UNIT_SUITE("device.device", UNIT(the_cpu_has_the_threads_that_are_asked_for),
           UNIT(ref_is_there_in_every_build), UNIT(f16_is_for_gpus_alone),
           UNIT(types_have_their_names))
