#include "task/gather.h"

#include "common/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* Where the bytes of RANK begin. */
static size_t begin_of(const int64_t *sizes, int rank) {
    size_t begin = 0;
    for (int r = 0; r < rank; r++)
        begin += (size_t)sizes[r];
    return begin;
}

static size_t part(int64_t size, int64_t done) {
    int64_t left = size - done;
    return left <= 0 ? 0 : (size_t)(left < GATHER_ROUND ? left : GATHER_ROUND);
}

/* Bytes DONE and behind them of each rank, at most ROUND of them: blocks of one size travel, and
 * what a rank has no more of is padding. */
static int gather_round(struct comm *comm, const struct buf *mine, const int64_t *sizes,
                        int64_t done, size_t round, char *into, struct error *err) {
    int ranks = comm_size(comm);
    cleanup_free char *block = calloc(1, round);
    cleanup_free char *blocks = malloc(round * (size_t)ranks);
    if (block == NULL || blocks == NULL)
        return error_no_memory(err, "what ranks tell each other");
    size_t own = part((int64_t)mine->size, done);
    if (own > 0)
        memcpy(block, mine->data + done, own);
    if (comm_gather(comm, block, round, blocks, err) != 0)
        return -1;
    for (int r = 0; r < ranks; r++) {
        size_t count = part(sizes[r], done);
        if (count > 0)
            memcpy(into + begin_of(sizes, r) + done, blocks + (size_t)r * round, count);
    }
    return 0;
}

int gather_bytes(struct comm *comm, const struct buf *mine, struct buf *all, int64_t *ret_sizes,
                 struct error *err) {
    int ranks = comm_size(comm);
    int64_t size = (int64_t)mine->size, most = 0;
    if (comm_gather(comm, &size, sizeof(size), ret_sizes, err) != 0)
        return -1;
    for (int r = 0; r < ranks; r++)
        most = ret_sizes[r] > most ? ret_sizes[r] : most;
    size_t whole = begin_of(ret_sizes, ranks);
    if (buf_reserve(all, whole, err) != 0)
        return -1;
    char *into = all->data + all->size;
    for (int64_t done = 0; done < most; done += GATHER_ROUND)
        if (gather_round(comm, mine, ret_sizes, done, part(most, done), into, err) != 0)
            return -1;
    all->size += whole;
    if (whole > 0)
        all->data[all->size] = '\0';
    return 0;
}
