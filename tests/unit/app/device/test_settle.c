#include "device/device.h"
#include "support/unit.h"

#ifdef RINGMASTER_HAVE_CUDA
#include "cuda/cuda.h"
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

static bool is_measured(void) {
#ifdef RINGMASTER_HAVE_CUDA
    char name[CUDA_NAME_SIZE];
    struct error why = {0};
    return cuda_usable(name, &why) > 0 && cuda_is_measured(name);
#else
    return false;
#endif
}

static void what_was_named_stays(void) {
    struct options o = settled(OPTION_BACKEND_CUDA, FUSION_NORM);
    CU_ASSERT_EQUAL(o.backend, OPTION_BACKEND_CUDA);
    CU_ASSERT_EQUAL(device_fusion(&o), FUSION_NORM);
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

/* Around convolutions on a GPU only where such a one was seen to be right. */
static void a_gpu_that_nobody_has_measured_does_not_fuse_convolutions(void) {
    struct options o = settled(OPTION_BACKEND_CUDA, OPTION_FUSION_AUTO);
    CU_ASSERT_EQUAL(device_fusion(&o), is_measured() ? FUSION_CONV : FUSION_ALL);
    /* Settled is settled: who asks later hears the same. */
    CU_ASSERT_NOT_EQUAL(o.fusion, OPTION_FUSION_AUTO);
}

UNIT_MAIN("device.settle", UNIT(what_was_named_stays), UNIT(fusion_auto_is_what_serves_the_backend),
          UNIT(a_gpu_that_nobody_has_measured_does_not_fuse_convolutions))
