/* Gather of blocks of different sizes to one rank: sizes first, then rounds of equal pieces, so
 * that no rank needs memory for the largest block of each. */
#ifndef TRAINER_COMM_GATHER_H
#define TRAINER_COMM_GATHER_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of one round over all ranks. */
enum { GATHER_ROUND_BYTES = 64 * 1024 * 1024 };

/* Offsets of the ranks' blocks in the gathered bytes; the last one is the end. */
struct gathered {
    struct buf bytes;  /* blocks of all ranks, in order; empty on ranks other than the root */
    uint64_t *offsets; /* owned; [ranks + 1] */
};

void gathered_done(struct gathered *gathered);

/* Collective. More than MAX bytes in all are an error on all ranks. */
int comm_gather_blocks(struct comm *c, const void *bytes, size_t size, int root, uint64_t max,
                       struct gathered *ret, struct error *err);

#define cleanup_gathered __attribute__((cleanup(gathered_done)))

#endif
