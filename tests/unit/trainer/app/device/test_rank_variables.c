#include "tests/support/unit.h"
#include "trainer/app/device/rank_variables.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "TORCHELASTIC_RUN_ID",
                                    "TORCHELASTIC_RESTART_COUNT",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                                    "PMIX_RANK"};

static void clear(void) {
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CU_ASSERT_EQUAL(unsetenv(names[i]), 0);
}

static void set(const char *name, const char *value) {
    CU_ASSERT_EQUAL(setenv(name, value, 1), 0);
}

static void set_rank(const char *rank, const char *size) {
    clear();
    set("RANK", rank);
    set("WORLD_SIZE", size);
    set("MASTER_ADDR", "algo-1");
    set("MASTER_PORT", "7073");
}

static void torchruns_variables_are_read(void) {
    struct comm_tcp_plan plan;
    set_rank("5", "8");
    set("LOCAL_RANK", "1");
    set("LOCAL_WORLD_SIZE", "4");
    set("TORCHELASTIC_RUN_ID", "train-9");
    set("TORCHELASTIC_RESTART_COUNT", "2");
    CU_ASSERT_EQUAL_FATAL(rank_variables_tcp(&plan, NULL), 0);
    CU_ASSERT(plan.mesh.rank == 5 && plan.mesh.size == 8 && plan.mesh.port == 7073);
    CU_ASSERT(plan.local_rank == 1 && plan.local_size == 4);
    CU_ASSERT_STRING_EQUAL(plan.mesh.address, "algo-1");
    CU_ASSERT_STRING_EQUAL(plan.mesh.job, "2 train-9");
    CU_ASSERT_EQUAL(rank_variables_local_size(), 4);
    clear();
}

static void without_a_launcher_there_is_one_rank(void) {
    struct comm_tcp_plan plan;
    clear();
    set("RANK", "nonsense");
    CU_ASSERT_EQUAL_FATAL(rank_variables_tcp(&plan, NULL), 0);
    CU_ASSERT(plan.mesh.size == 1 && plan.mesh.rank == 0 && plan.local_size == 1);
    CU_ASSERT_EQUAL(rank_variables_local_size(), 1);
    clear();
}

static void refused(const char *words) {
    struct error err = {0};
    struct comm_tcp_plan plan;
    CU_ASSERT_EQUAL(rank_variables_tcp(&plan, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, words);
    clear();
}

static void what_cannot_be_is_named(void) {
    set_rank("8", "8");
    refused("RANK");
    set_rank("0", "0");
    refused("WORLD_SIZE");
    set_rank("0", "2");
    CU_ASSERT_EQUAL(unsetenv("RANK"), 0);
    refused("RANK is not set");
    set_rank("0", "2");
    set("MASTER_PORT", "0");
    refused("MASTER_PORT");
    set_rank("0", "2");
    set("MASTER_ADDR", "");
    refused("MASTER_ADDR is not set");
    set_rank("0", "2");
    set("LOCAL_WORLD_SIZE", "3");
    refused("LOCAL_WORLD_SIZE");
    set_rank("0", "2");
    set("LOCAL_RANK", "1");
    refused("LOCAL_RANK");
}

/* Others set Open MPI's names for scripts that read them. */
static void mpirun_is_known_by_its_process_manager(void) {
    int ranks = -1;
    clear();
    set("OMPI_COMM_WORLD_SIZE", "3");
    CU_ASSERT(rank_variables_mpi(&ranks, NULL) == 0 && ranks == 0);
    set("PMIX_RANK", "0");
    CU_ASSERT(rank_variables_mpi(&ranks, NULL) == 0 && ranks == 3);
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    CU_ASSERT_EQUAL(rank_variables_local_size(), 2);
    clear();
}

UNIT_SUITE("app.rank_variables", UNIT(torchruns_variables_are_read),
           UNIT(without_a_launcher_there_is_one_rank), UNIT(what_cannot_be_is_named),
           UNIT(mpirun_is_known_by_its_process_manager))
