#include "trainer/data/dataset/shard_sequence.h"

#include <stdlib.h>

void shard_sequence_done(struct shard_sequence *order) {
    free(order->samples);
    free(order->first);
    *order = (struct shard_sequence){0};
}

static int compare(const void *a, const void *b, void *places) {
    const struct shard_place *x = (const struct shard_place *)places + *(const uint32_t *)a;
    const struct shard_place *y = (const struct shard_place *)places + *(const uint32_t *)b;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int shard_sequence_make(struct shard_sequence *ret, const struct dataset *set, struct error *err) {
    *ret = (struct shard_sequence){.shards = shard_store_list(set->shards)->count};
    ret->samples = malloc((set->count + 1) * sizeof(*ret->samples));
    ret->first = calloc(ret->shards + 1, sizeof(*ret->first));
    if (ret->samples == NULL || ret->first == NULL) {
        shard_sequence_done(ret);
        return error_no_memory(err, "the order of shards");
    }
    for (size_t i = 0; i < set->count; i++) {
        ret->samples[i] = (uint32_t)i;
        ret->first[set->places[i].shard + 1]++;
    }
    for (size_t i = 0; i < ret->shards; i++)
        ret->first[i + 1] += ret->first[i];
    qsort_r(ret->samples, set->count, sizeof(*ret->samples), compare, set->places);
    return 0;
}

void shard_sequence_read_ahead(const struct shard_sequence *order, const struct dataset *set,
                               const struct lanes_piece *piece) {
    const struct shard_place *first = &set->places[order->samples[piece->first]];
    const struct shard_place *last = &set->places[order->samples[piece->end - 1]];
    shard_store_read_ahead(set->shards, first->shard, first->offset,
                           last->offset + last->bytes - first->offset);
}
