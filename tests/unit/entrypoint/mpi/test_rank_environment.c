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

/* What a rank alone is told, and what tells it which attempt it belongs to, is a whole place. */
static void a_rank_alone_is_told_as_mpirun_would(void) {
    cleanup_argv struct argv alone = {0};
    struct rank_place place = {.rank = 9};
    CU_ASSERT_EQUAL(rank_environment_alone(&alone, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&alone, "RINGMASTER_ATTEMPT", "3", NULL), 0);
    CU_ASSERT_EQUAL(rank_environment_read(alone.items, &place, NULL), 0);
    CU_ASSERT(place.rank == 0 && place.size == 1);
    CU_ASSERT(place.local_rank == 0 && place.local_size == 1);
    CU_ASSERT_EQUAL(place.attempt, 3);
    for (size_t i = 0; i + 1 < alone.count; i++)
        CU_ASSERT(rank_environment_is_mpi(alone.items[i]));
    CU_ASSERT_FALSE(rank_environment_is_mpi("RINGMASTER_ATTEMPT=3"));
    CU_ASSERT_FALSE(rank_environment_is_mpi("MY_OMPI_X=1"));
    CU_ASSERT(rank_environment_is_mpi("PMIX_RANK=0") && rank_environment_is_mpi("PRTE_MCA_x=1"));
}

UNIT_SUITE("mpi.place", UNIT(without_mpirun_there_is_no_place),
           UNIT(a_rank_alone_is_told_as_mpirun_would))
