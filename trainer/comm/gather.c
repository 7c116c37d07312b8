#include "trainer/comm/gather.h"

#include "common/cleanup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void gathered_done(struct gathered *gathered) {
    buf_done(&gathered->bytes);
    free(gathered->offsets);
    *gathered = (struct gathered){0};
}

/* Gathers the sizes of all ranks and turns them into offsets. */
static int gather_sizes(struct comm *c, size_t size, uint64_t max, struct gathered *ret,
                        uint64_t *ret_most, struct error *err) {
    const uint64_t own = size;
    const size_t ranks = (size_t)comm_size(c);
    ret->offsets = calloc(ranks + 1, sizeof(*ret->offsets));
    cleanup_free uint64_t *sizes = calloc(ranks, sizeof(*sizes));
    if (ret->offsets == NULL || sizes == NULL)
        return error_no_memory(err, "what ranks tell each other");
    if (comm_gather(c, &own, sizeof(own), sizes, err) != 0)
        return -1;
    *ret_most = 0;
    for (size_t i = 0; i < ranks; i++) {
        if (sizes[i] > max - ret->offsets[i])
            return error_set(err, EXIT_CODE_INTERNAL,
                             "rank %zu sends %" PRIu64 " bytes; over all ranks %" PRIu64
                             " are allowed",
                             i, sizes[i], max);
        ret->offsets[i + 1] = ret->offsets[i] + sizes[i];
        *ret_most = sizes[i] > *ret_most ? sizes[i] : *ret_most;
    }
    return 0;
}

static size_t least(uint64_t a, uint64_t b) {
    return (size_t)(a < b ? a : b);
}

/* Returns how much of RANK's block is left from AT on, at most PIECE bytes. */
static size_t left_of(const struct gathered *g, int rank, uint64_t at, size_t piece) {
    uint64_t size = g->offsets[rank + 1] - g->offsets[rank];
    return at < size ? least(size - at, piece) : 0;
}

int comm_gather_blocks(struct comm *c, const void *bytes, size_t size, int root, uint64_t max,
                       struct gathered *ret, struct error *err) {
    const int ranks = comm_size(c);
    const bool is_root = comm_rank(c) == root;
    cleanup_gathered struct gathered gathered = {0};
    uint64_t most = 0;
    if (gather_sizes(c, size, max, &gathered, &most, err) != 0)
        return -1;
    const uint64_t total = gathered.offsets[ranks];
    const size_t piece = least(most, GATHER_ROUND_BYTES / (size_t)ranks + 1);
    cleanup_free char *own = calloc(1, piece + 1);
    cleanup_free char *all = malloc(piece * (size_t)ranks + 1);
    buf_init(&gathered.bytes, (size_t)total + 1);
    if (own == NULL || all == NULL)
        return error_no_memory(err, "what ranks tell each other");
    if (is_root && buf_reserve(&gathered.bytes, (size_t)total + 1, err) != 0)
        return -1;
    for (uint64_t at = 0; at < most; at += piece) {
        const size_t part = left_of(&gathered, comm_rank(c), at, piece);
        if (part > 0)
            memcpy(own, (const char *)bytes + at, part);
        if (comm_gather(c, own, piece, all, err) != 0)
            return -1;
        for (int rank = 0; is_root && rank < ranks; rank++)
            memcpy(gathered.bytes.data + gathered.offsets[rank] + at, all + (size_t)rank * piece,
                   left_of(&gathered, rank, at, piece));
    }
    if (is_root) {
        gathered.bytes.size = (size_t)total;
        gathered.bytes.data[total] = '\0'; /* terminator, as buf_text has it */
    }
    *ret = gathered;
    gathered = (struct gathered){0};
    return 0;
}
