#include "entrypoint/mpi/rank_environment.h"
#include "tests/support/unit.h"

#include <stdlib.h>

static void without_mpirun_there_is_no_place(void) {
    char rank[] = "OMPI_COMM_WORLD_RANK=3", bad[] = "OMPI_COMM_WORLD_SIZE=-4";
    char *launched[] = {rank, NULL};
    struct rank_place place;
    struct error err = {0};
    CU_ASSERT_EQUAL(rank_environment_read(launched, &place, &err), -1);
    ASSERT_CONTAINS(err.text, "OMPI_COMM_WORLD_SIZE");
    char *wrong[] = {rank, bad, NULL};
    CU_ASSERT_EQUAL(rank_environment_read(wrong, &place, &err), -1);
    ASSERT_CONTAINS(err.text, "OMPI_COMM_WORLD_SIZE");
}

static void a_place_that_was_set_is_read_again(void) {
    const struct rank_place given = {
        .rank = 6, .size = 9, .local_rank = 2, .local_size = 4, .attempt = 3};
    struct rank_place place = {0};
    cleanup_argv struct argv told = {0};
    CU_ASSERT_EQUAL(rank_environment_set(&given, &told, NULL), 0);
    CU_ASSERT_EQUAL(rank_environment_read(told.items, &place, NULL), 0);
    CU_ASSERT(place.rank == 6 && place.size == 9);
    CU_ASSERT(place.local_rank == 2 && place.local_size == 4);
    CU_ASSERT_EQUAL(place.attempt, 3);
    CU_ASSERT(rank_environment_has_mpi(&told));
    for (size_t i = 0; i + 1 < told.count; i++)
        CU_ASSERT(rank_environment_is_mpi(told.items[i]));
    CU_ASSERT_FALSE(rank_environment_is_mpi("RINGMASTER_ATTEMPT=3"));
    CU_ASSERT_FALSE(rank_environment_is_mpi("MY_OMPI_X=1"));
    CU_ASSERT(rank_environment_is_mpi("PMIX_RANK=0") && rank_environment_is_mpi("PRTE_MCA_x=1"));
}

/* MPI_Init fails if any framework is told to use a component that does not exist. */
static void a_program_without_mpirun_cannot_use_mpi(void) {
    cleanup_argv struct argv told = {0};
    CU_ASSERT_EQUAL(argv_set_env(&told, "LANG", "C", NULL), 0);
    CU_ASSERT_FALSE(rank_environment_has_mpi(&told));
    CU_ASSERT_EQUAL(rank_environment_refuse_mpi(&told, NULL), 0);
    CU_ASSERT(rank_environment_has_mpi(&told));
    ASSERT_CONTAINS(argv_get_env(&told, "OMPI_MCA_backtrace"), "set-RINGMASTER_LAUNCHER=mpirun");
    ASSERT_CONTAINS(argv_get_env(&told, "OMPI_MCA_pml"), "set-RINGMASTER_LAUNCHER=mpirun");
}

UNIT_SUITE("mpi.rank_environment", UNIT(without_mpirun_there_is_no_place),
           UNIT(a_place_that_was_set_is_read_again), UNIT(a_program_without_mpirun_cannot_use_mpi))
