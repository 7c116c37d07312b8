#include "trainer/data/order/lanes.h"

#include "trainer/data/order/permutation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Distinct from the orders of sampler.c. */
enum { ORDER_OF_SHARDS = 64 };

void lanes_line_done(struct lanes_line *line) {
    free(line->shards);
    free(line->first);
    *line = (struct lanes_line){0};
}

int lanes_line_init(struct lanes_line *ret, const struct lanes *l, struct error *err) {
    *ret = (struct lanes_line){
        .shards = calloc(l->shards + 1, sizeof(*ret->shards)),
        .first = calloc(l->shards + 1, sizeof(*ret->first)),
    };
    if (ret->shards != NULL && ret->first != NULL)
        return 0;
    lanes_line_done(ret);
    return error_no_memory(err, "the order of an epoch");
}

void lanes_line_make(struct lanes_line *line, const struct lanes *l, uint64_t seed,
                     uint32_t epoch) {
    const struct permutation order = {seed, epoch, ORDER_OF_SHARDS, PERMUTATION_MARK};
    size_t at = 0;
    for (size_t i = 0; i < l->shards; i++) {
        const size_t shard = permutation_at(&order, l->shards, i);
        line->shards[i] = (uint32_t)shard;
        line->first[i] = at;
        at += l->first[shard + 1] - l->first[shard];
    }
    line->first[l->shards] = at;
}

/* Returns true if so many lanes can be divided among the ranks, and a step among them. */
static bool fits(size_t lanes, int ranks, size_t global) {
    return lanes > 0 && lanes % (size_t)ranks == 0 && global % lanes == 0;
}

/* RANKS itself always fits, as each rank has as many samples as the others. */
int lanes_check(const struct lanes *l, int ranks, size_t global, struct error *err) {
    const size_t wanted = (size_t)l->lanes;
    size_t below = wanted < global ? wanted : global;
    size_t above = wanted;
    char words[64] = "";
    if (fits(wanted, ranks, global))
        return 0;
    while (below > 0 && !fits(below, ranks, global))
        below--;
    while (above < global && !fits(above, ranks, global))
        above++;
    if (below > 0 && above <= LANES_MAX && fits(above, ranks, global))
        (void)snprintf(words, sizeof(words), "%zu or %zu", below, above);
    else
        (void)snprintf(words, sizeof(words), "%zu", below > 0 ? below : above);
    return error_set(err, EXIT_CODE_USAGE,
                     "--lanes %d: %d rank%s must divide the lanes, and these the %zu images "
                     "of a step; the nearest that fit: --lanes %s",
                     l->lanes, ranks, ranks == 1 ? "" : "s", global, words);
}

size_t lanes_steps(const struct lanes *l, size_t global) {
    const size_t lanes = (size_t)l->lanes;
    return l->first[l->shards] / lanes / (global / lanes);
}

/* Returns where lane LANE begins in the line. */
static size_t begin_of(const struct lanes *l, size_t lane) {
    return lane * l->first[l->shards] / (size_t)l->lanes;
}

/* Returns the shard, by its place in the line, in which sample AT of the line is. */
static size_t shard_at(const struct lanes *l, const struct lanes_line *line, size_t at) {
    size_t low = 0;
    size_t high = l->shards;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (line->first[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

uint32_t lanes_at(const struct lanes *l, const struct lanes_line *line, uint64_t seed,
                  uint32_t epoch, size_t global, size_t step, size_t place) {
    const size_t share = global / (size_t)l->lanes;
    const size_t lane = place / share;
    const size_t of_lane = step * share + place % share;
    const size_t window = of_lane / (size_t)l->window;
    const size_t from = window * (size_t)l->window;
    const size_t begin = begin_of(l, lane);
    const size_t size = least((size_t)l->window, begin_of(l, lane + 1) - begin - from);
    const struct permutation order = {seed, epoch, (uint32_t)lane,
                                      PERMUTATION_MARK - 1 - (uint32_t)window};
    const size_t at = begin + from + permutation_at(&order, size, of_lane - from);
    const size_t shard = shard_at(l, line, at);
    return l->samples[l->first[line->shards[shard]] + at - line->first[shard]];
}

/* Reports samples BEGIN to END of the line. */
static void report(const struct lanes *l, const struct lanes_line *line, size_t begin, size_t end,
                   void (*piece)(void *context, struct lanes_piece piece), void *context) {
    while (begin < end) {
        const size_t shard = shard_at(l, line, begin);
        const size_t until = least(end, line->first[shard + 1]);
        const size_t first = l->first[line->shards[shard]] - line->first[shard];
        piece(context, (struct lanes_piece){line->shards[shard], first + begin, first + until});
        begin = until;
    }
}

void lanes_ahead(const struct lanes *l, const struct lanes_line *line, size_t global, int lane,
                 size_t step, size_t from, void (*piece)(void *context, struct lanes_piece piece),
                 void *context) {
    const size_t share = global / (size_t)l->lanes;
    const size_t window = (size_t)l->window;
    const size_t begin = begin_of(l, (size_t)lane);
    const size_t end = begin_of(l, (size_t)lane + 1);
    const size_t first = step > from ? step * share + window : step * share / window * window;
    report(l, line, least(begin + first, end), least(begin + (step + 1) * share + window, end),
           piece, context);
}
