/* Run under mpirun: every rank gives a block of its own size, rank 0 checks what came. */
#include "trainer/comm/gather.h"
#include "trainer/comm/mpi/comm_mpi.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS_OF = 3 };

/* Rank 1's block takes several rounds, the others' sizes are odd, rank 2's is empty. */
static size_t size_of(int rank, int ranks) {
    const size_t piece = GATHER_ROUND_BYTES / (size_t)ranks + 1;
    return rank == 2 ? 0 : rank == 1 ? piece * (ROUNDS_OF - 1) + 77 : 1001 + (size_t)rank;
}

static char byte_of(int rank, size_t i) {
    return (char)(i * 31 + i / 257 + (size_t)rank * 101);
}

static int check(const struct gathered *g, int ranks) {
    for (int rank = 0; rank < ranks; rank++) {
        const char *block = g->bytes.data + g->offsets[rank];
        if (g->offsets[rank + 1] - g->offsets[rank] != size_of(rank, ranks))
            return -1;
        for (size_t i = 0; i < size_of(rank, ranks); i++)
            if (block[i] != byte_of(rank, i))
                return -1;
    }
    return 0;
}

int main(void) {
    struct error err = {0};
    struct comm *c = NULL;
    struct gathered g = {0};
    if (comm_mpi_open(&c, &err) != 0)
        return fprintf(stderr, "%s\n", err.text) > 0;
    int rank = comm_rank(c), ranks = comm_size(c);
    size_t size = size_of(rank, ranks);
    char *own = malloc(size + 1);
    for (size_t i = 0; own != NULL && i < size; i++)
        own[i] = byte_of(rank, i);
    int failed = own == NULL ||
                 comm_gather_blocks(c, own, size, 0, UINT64_C(1) << 30, &g, &err) != 0 ||
                 (rank == 0 ? check(&g, ranks) != 0 : g.bytes.size != 0);
    if (failed)
        fprintf(stderr, "rank %d of %d: %s\n", rank, ranks, err.text);
    else
        printf("rank %d of %d: gathered\n", rank, ranks);
    free(own);
    gathered_done(&g);
    comm_close(c);
    return failed;
}
