/* All-reduce over the ranks of a job, by the communicator that its flag names. Run under mpirun, as
 * both kinds can then be had: `bench_sum mpi|tcp BYTES ROUNDS`. Rank 0 prints the median of a round
 * in milliseconds and the bytes a second that the values pass at. For tcp the variables of
 * trainer/app/device/rank_variables.h are set. Source of the measure: nccl-tests, "algbw". */
#include "common/clock.h"
#include "trainer/app/device/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int measure(struct comm *c, size_t bytes, int rounds, struct error *err) {
    float *values = calloc(bytes / sizeof(float) + 1, sizeof(float));
    int64_t *times = calloc((size_t)rounds, sizeof(*times));
    int result = values == NULL || times == NULL ? error_no_memory(err, "values") : 0;
    for (int i = -2; result == 0 && i < rounds; i++) {
        result = comm_barrier(c, err);
        const int64_t began = clock_now();
        if (result == 0)
            result = comm_sum(c, values, bytes / sizeof(float), COMM_F32, err);
        if (i >= 0)
            times[i] = clock_now() - began;
    }
    if (result == 0 && comm_rank(c) == 0) {
        qsort(times, (size_t)rounds, sizeof(*times), ascending);
        const double median = (double)times[rounds / 2];
        printf("%s ranks=%d bytes=%zu ms=%.3f MB/s=%.1f\n", comm_name(c), comm_size(c), bytes,
               median / 1e6, (double)bytes * 1e3 / median);
    }
    free(values);
    free(times);
    return result;
}

int main(int argc, char **argv) {
    struct error err = {0};
    struct comm *c = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: bench_sum mpi|tcp BYTES ROUNDS\n");
        return EXIT_CODE_USAGE;
    }
    const bool tcp = strcmp(argv[1], "tcp") == 0;
    const int rounds = atoi(argv[3]);
    if (ranks_open(tcp ? OPTION_COMM_TCP : OPTION_COMM_MPI, &c, &err) != 0 ||
        measure(c, (size_t)atoll(argv[2]), rounds > 0 ? rounds : 1, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return (int)err.code;
    }
    comm_close(c);
    return 0;
}
