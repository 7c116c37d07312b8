#include "tests/support/unit.h"
#include "trainer/app/device/device.h"

#ifdef RINGMASTER_HAVE_CUDA
#include "trainer/backend/cuda/cuda.h"
#endif

static struct options settled(int backend, int fusion) {
    struct options o = {.backend = backend, .fusion = fusion};
    struct comm *alone = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, &err), 0);
    CU_ASSERT_EQUAL(device_settle(&o, alone, &err), 0);
    comm_close(alone);
    return o;
}

/* How it is refused. */
static struct error refused(int backend, int dtype) {
    struct options o = {.backend = backend, .dtype = dtype, .fusion = FUSION_NONE};
    struct comm *alone = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&alone, &err), 0);
    CU_ASSERT_EQUAL(device_settle(&o, alone, &err), -1);
    comm_close(alone);
    return err;
}

/* Before anything is opened. */
static void what_no_host_of_this_build_can_is_refused(void) {
    struct error err = refused(OPTION_BACKEND_REF, OPTION_F16);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--dtype f16 needs --backend cuda");
#ifndef RINGMASTER_HAVE_CUDA
    err = refused(OPTION_BACKEND_CUDA, OPTION_F32);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    ASSERT_CONTAINS(err.text, "--backend cuda: this build has none");
#endif
}

static void what_was_named_stays(void) {
    struct options o;
#ifdef RINGMASTER_HAVE_CUDA
    o = settled(OPTION_BACKEND_CUDA, FUSION_NORM);
    CU_ASSERT_EQUAL(o.backend, OPTION_BACKEND_CUDA);
    CU_ASSERT_EQUAL(device_fusion(&o), FUSION_NORM);
#endif
    o = settled(OPTION_BACKEND_CPU, FUSION_NONE);
    CU_ASSERT_EQUAL(o.backend, OPTION_BACKEND_CPU);
    CU_ASSERT_EQUAL(device_fusion(&o), FUSION_NONE);
}

static void fusion_auto_is_what_serves_the_backend(void) {
    struct options o = settled(OPTION_BACKEND_REF, OPTION_FUSION_AUTO);
    CU_ASSERT_EQUAL(device_fusion(&o), FUSION_ALL);
    o = settled(OPTION_BACKEND_CPU, OPTION_FUSION_AUTO);
    CU_ASSERT_EQUAL(device_fusion(&o), FUSION_CONV);
}

#ifdef RINGMASTER_HAVE_CUDA
static bool is_measured(void) {
    char name[CUDA_NAME_SIZE];
    struct error why = {0};
    return cuda_probe(name, &why) > 0 && cuda_is_measured(name);
}
#endif

/* Around convolutions on a GPU only where such a one was seen to be right. */
static void a_gpu_that_nobody_has_measured_does_not_fuse_convolutions(void) {
    struct options o = {.backend = OPTION_BACKEND_CUDA, .fusion = OPTION_FUSION_AUTO};
    CU_ASSERT_EQUAL(device_fusion(&o), FUSION_ALL);
#ifdef RINGMASTER_HAVE_CUDA
    o = settled(OPTION_BACKEND_CUDA, OPTION_FUSION_AUTO);
    CU_ASSERT_EQUAL(device_fusion(&o), is_measured() ? FUSION_CONV : FUSION_ALL);
    /* Settled is settled: a later query gets the same answer. */
    CU_ASSERT_NOT_EQUAL(o.fusion, OPTION_FUSION_AUTO);
#endif
}

UNIT_SUITE("device.settle", UNIT(what_no_host_of_this_build_can_is_refused),
           UNIT(what_was_named_stays), UNIT(fusion_auto_is_what_serves_the_backend),
           UNIT(a_gpu_that_nobody_has_measured_does_not_fuse_convolutions))
