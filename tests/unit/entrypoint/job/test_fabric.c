#include "job/fabric.h"
#include "support/unit.h"

static const char *const names[] = {"FI_PROVIDER", "NCCL_PROTO", "RDMAV_FORK_SAFE",
                                    "FI_EFA_USE_DEVICE_RDMA"};

static void types_with_an_adapter_are_known(void) {
    static const struct {
        const char *type;
        bool device;
        const char *expected[4];
    } cases[] = {
        {"ml.p4d.24xlarge", false, {"efa", "simple", "1", "1"}},
        {"ml.trn1.32xlarge", true, {"efa", "simple", "1", "1"}},
        {"ml.g5.48xlarge", false, {"efa", "simple", "1", NULL}},
        {"ml.p9.new", true, {"efa", "simple", "1", NULL}},
        {"", true, {"efa", "simple", "1", NULL}},
        {"ml.p4d.24xlarge.not", false, {NULL, NULL, NULL, NULL}},
        {"ml.c5.xlarge", false, {NULL, NULL, NULL, NULL}},
        {"", false, {NULL, NULL, NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_argv struct argv got = {0};
        CU_ASSERT_EQUAL(fabric_add(cases[i].type, cases[i].device, &got, NULL), 0);
        for (size_t n = 0; n < 4; n++) {
            const char *value = argv_get_env(&got, names[n]);
            if (cases[i].expected[n] == NULL)
                CU_ASSERT_PTR_NULL(value);
            if (cases[i].expected[n] != NULL)
                CU_ASSERT_STRING_EQUAL(value, cases[i].expected[n]);
        }
    }
}

static void what_the_job_sets_stays(void) {
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "FI_PROVIDER", "tcp", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&got, "FI_EFA_USE_DEVICE_RDMA", "", NULL), 0);
    CU_ASSERT_EQUAL(fabric_add("ml.p4d.24xlarge", true, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "FI_PROVIDER"), "tcp");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "FI_EFA_USE_DEVICE_RDMA"), "");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "NCCL_PROTO"), "simple");
    CU_ASSERT_EQUAL(got.count, 4);
}

UNIT_MAIN("job.fabric", UNIT(types_with_an_adapter_are_known), UNIT(what_the_job_sets_stays))
