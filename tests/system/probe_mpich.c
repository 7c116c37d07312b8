/* A program of MPICH for tests/system/test_mpich.sh: all ranks meet in an all-reduce, the first and
 * the last one send a message there and back a hundred times. With a number as its argument, the
 * rank of that number exits with 9 before MPI_Init. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 100, FAILS = 9 };

static int fails_first(const char *number) {
    const char *rank = getenv("RANK");
    return rank != NULL && atoi(rank) == atoi(number);
}

static int ping_pong(int rank, int last) {
    int turns = 0;
    for (int i = 0; i < TURNS && last > 0; i++) {
        if (rank == 0)
            (void)MPI_Send(&turns, 1, MPI_INT, last, 1, MPI_COMM_WORLD);
        if (rank == 0 || rank == last)
            (void)MPI_Recv(&turns, 1, MPI_INT, last - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == last) {
            turns++;
            (void)MPI_Send(&turns, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        }
    }
    (void)MPI_Bcast(&turns, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return turns;
}

int main(int argc, char **argv) {
    int rank = 0, size = 0, sum = 0;
    if (argc > 1 && fails_first(argv[1]))
        return FAILS;
    (void)MPI_Init(&argc, &argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int turns = ping_pong(rank, size - 1);
    printf("rank %d of %d, sum %d, %d times there and back\n", rank, size, sum, turns);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
