#include "entrypoint/job/machine/efa.h"
#include "tests/support/rdma.h"
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[] = {"FI_PROVIDER", "NCCL_PROTO", "RDMAV_FORK_SAFE",
                                    "FI_EFA_USE_DEVICE_RDMA"};

static char root[2048];

static void put_line(const char *folder, const char *name, const char *line) {
    tree_put(root, folder, name, line);
}

static void check_values(const struct argv *got, const char *const expected[4]) {
    for (size_t n = 0; n < 4; n++) {
        const char *value = argv_get_env(got, names[n]);
        if (expected[n] == NULL)
            CU_ASSERT_PTR_NULL(value);
        if (expected[n] != NULL)
            CU_ASSERT_STRING_EQUAL(value, expected[n]);
    }
}

static void types_with_an_adapter_are_known(void) {
    static const struct {
        const char *type;
        const char *machine; /* the product name if there is an adapter; NULL: no adapter */
        const char *toolkit[4];
    } cases[] = {
        {"ml.p4d.24xlarge", NULL, {"efa", "simple", "1", "1"}},
        {"ml.trn1.32xlarge", "", {"efa", "simple", "1", "1"}},
        {"ml.g5.48xlarge", NULL, {"efa", "simple", "1", NULL}},
        {"ml.p9.new", "p9.new\n", {"efa", NULL, NULL, NULL}},
        {"", "", {"efa", NULL, NULL, NULL}},
        {"", "p4d.24xlarge\n", {"efa", "simple", "1", "1"}},
        {"", "p5.48xlarge\n", {"efa", "simple", "1", NULL}},
        {"", "ml.p4d.24xlarge\n", {"efa", NULL, NULL, NULL}},
        {"p4d.24xlarge", NULL, {NULL, NULL, NULL, NULL}},
        {"ml.p4d.24xlarge.not", NULL, {NULL, NULL, NULL, NULL}},
        {"ml.c5.xlarge", NULL, {NULL, NULL, NULL, NULL}},
        {"", NULL, {NULL, NULL, NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_argv struct argv got = {0};
        cleanup_argv struct argv asked = {0};
        const char *const *toolkit = cases[i].toolkit;
        const char *const needed[4] = {toolkit[0], NULL, NULL, toolkit[3]};
        (void)snprintf(root, sizeof(root), "%s/type%zu", unit_temp_dir(), i);
        if (cases[i].machine != NULL) {
            rdma_make(root, "rdmap0s6", "efa", 0);
            put_line("sys/class/dmi/id", "product_name", cases[i].machine);
        }
        CU_ASSERT_EQUAL(efa_add(root, cases[i].type, false, &got, NULL), 0);
        check_values(&got, needed);
        CU_ASSERT_EQUAL(efa_add(root, cases[i].type, true, &asked, NULL), 0);
        check_values(&asked, toolkit);
    }
}

/* This container was not given the machine's device: libfabric would find nothing. */
static void an_adapter_of_other_containers_is_none(void) {
    cleanup_argv struct argv got = {0};
    (void)snprintf(root, sizeof(root), "%s/apart", unit_temp_dir());
    rdma_make(root, "rdmap0s6", "efa", 0);
    put_line("sys/class/dmi/id", "product_name", "p4d.24xlarge\n");
    rdma_remove_way(root, 0);
    CU_ASSERT_EQUAL(efa_add(root, "", true, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.count, 0);
}

static void what_the_job_sets_stays(void) {
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "FI_PROVIDER", "tcp", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&got, "FI_EFA_USE_DEVICE_RDMA", "", NULL), 0);
    CU_ASSERT_EQUAL(efa_add(unit_temp_dir(), "ml.p4d.24xlarge", true, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "FI_PROVIDER"), "tcp");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "FI_EFA_USE_DEVICE_RDMA"), "");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "NCCL_PROTO"), "simple");
    CU_ASSERT_EQUAL(got.count, 4);
}

/* --- what is missing ------------------------------------------------------------------------- */

static const char *said(void) {
    static char text[WARNING_SIZE];
    struct warnings w = {.count = 0};
    efa_warn(root, &w);
    (void)snprintf(text, sizeof(text), "%s", w.count > 0 ? w.text[0] : "");
    return text;
}

static int memory_is_short(void) {
    const struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return 1;
    return strstr(said(), "no more than 64 KiB of memory") != NULL ? 0 : 2;
}

static void a_device_of_another_kind_wants_memory_alone(void) {
    (void)snprintf(root, sizeof(root), "%s/ib", unit_temp_dir());
    CU_ASSERT_STRING_EQUAL(said(), "");
    rdma_make(root, "mlx5_0", "mlx5_core", 0);
    CU_ASSERT_EQUAL(unit_in_child(memory_is_short), 0);
}

static void who_was_not_given_a_device_lacks_nothing_for_it(void) {
    (void)snprintf(root, sizeof(root), "%s/none", unit_temp_dir());
    rdma_make(root, "rdmap0s6", "efa", 0);
    rdma_remove_way(root, 0);
    CU_ASSERT_EQUAL(WEXITSTATUS(unit_in_child(memory_is_short)), 2);
    CU_ASSERT_STRING_EQUAL(said(), "");
}

UNIT_SUITE("job.efa", UNIT(types_with_an_adapter_are_known), UNIT(what_the_job_sets_stays),
           UNIT(a_device_of_another_kind_wants_memory_alone),
           UNIT(an_adapter_of_other_containers_is_none),
           UNIT(who_was_not_given_a_device_lacks_nothing_for_it))
