/* An MPI program that hangs, for test_hangs.sh: ranks meet in an all-reduce every 100 ms and say
 * so, until FOLDER/hang is there; then the rank RANK waits for ever in left_out(), and all others
 * in MPI_Allreduce.
 *
 *     probe_hang FOLDER RANK
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int left_out(void);
__attribute__((noinline)) int left_out(void) {
    for (;;)
        (void)pause();
    return 0;
}

int main(int argc, char **argv) {
    char path[4096];
    int rank = 0, hangs = 0, all = 0;
    if (argc != 3)
        return 64;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "%s/hang", argv[1]);
    while (!all) {
        hangs = rank == 0 && access(path, F_OK) == 0;
        MPI_Allreduce(&hangs, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        printf("rank %d has met all others\n", rank);
        fflush(stdout);
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
    }
    if (rank == atoi(argv[2]))
        left_out();
    MPI_Allreduce(&hangs, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
