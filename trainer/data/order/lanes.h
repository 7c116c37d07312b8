/* Order of an epoch in lanes, for media that need sequential reads.
 *
 * Each part of a batch comes from a few shards that are read through, and not from all shards at
 * random.
 *
 * The shards of an epoch, permuted, are one long line of samples. It is cut into equal lanes, and
 * each lane into windows, in which the samples are permuted: lanes x window samples are shuffled
 * together, and the shards of a lane are others in each epoch. A global batch takes equally many
 * samples of each lane, and each rank has the lanes of its own, one after the other, as its share
 * of the batch.
 *
 * The number of ranks therefore has to divide the number of lanes, and that the global batch. The
 * order is then a function of seed, epoch, lanes and window: the same for each number of ranks that
 * divides the lanes, and after a resume. Each sample occurs once an epoch, but for those at the
 * ends of the lanes that fill no step, which are others each time. */
#ifndef TRAINER_DATA_ORDER_LANES_H
#define TRAINER_DATA_ORDER_LANES_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { LANES_MAX = 65536, LANES_WINDOW_MAX = 1 << 20 };

/* Zeroed: no lanes. */
struct lanes {
    const uint32_t *samples; /* borrowed; shard by shard, in each in the order of its bytes */
    const size_t *first;     /* borrowed; [shards + 1]; where each shard begins in `samples` */
    size_t shards;
    int lanes;  /* 0: none */
    int window; /* samples that are shuffled together in a lane */
};

/* The line of one epoch. */
struct lanes_line {
    uint32_t *shards; /* owned; [shards], as they follow each other */
    size_t *first;    /* owned; [shards + 1], where each of these begins in the line */
};

void lanes_line_done(struct lanes_line *line);
/* Makes room for a line. */
int lanes_line_init(struct lanes_line *ret, const struct lanes *lanes, struct error *err);
/* Lays out the line of EPOCH. */
void lanes_line_make(struct lanes_line *line, const struct lanes *lanes, uint64_t seed,
                     uint32_t epoch);

/* Fails with EXIT_CODE_USAGE, and names the nearest number of lanes that would do, unless RANKS
 * divides the lanes, and these the GLOBAL samples of a step. */
int lanes_check(const struct lanes *lanes, int ranks, size_t global, struct error *err);

/* Returns the steps of GLOBAL samples in an epoch. */
size_t lanes_steps(const struct lanes *lanes, size_t global);

/* Returns the sample at PLACE (0 .. GLOBAL-1) of step STEP of EPOCH, of which this is the line. */
uint32_t lanes_at(const struct lanes *lanes, const struct lanes_line *line, uint64_t seed,
                  uint32_t epoch, size_t global, size_t step, size_t place);

/* A part of a shard: places FIRST to END in `samples`. */
struct lanes_piece {
    uint32_t shard;
    size_t first, end;
};

/* Reports what is to be read ahead in lane LANE when step STEP begins, so that its window and the
 * next one are there: each step a step's share more, and at step FROM, with which reading begins,
 * all of it. */
void lanes_ahead(const struct lanes *lanes, const struct lanes_line *line, size_t global, int lane,
                 size_t step, size_t from, void (*piece)(void *context, struct lanes_piece piece),
                 void *context);

#endif
