#include "trainer/app/step/strategy_shards.h"

#include "common/cleanup.h"

#include <stdlib.h>

const enum store_arena STRATEGY_ARENAS[SHARD_ARENAS] = {[SHARD_WEIGHTS] = STORE_PARAMETERS,
                                                        [SHARD_MOMENTUM] = STORE_MOMENTUM,
                                                        [SHARD_SECOND] = STORE_SECOND,
                                                        [SHARD_AVERAGE] = STORE_AVERAGE};

static int list_tensors(const struct stepper *s, struct shard_tensor *list) {
    const struct store *store = &s->net->store;
    int count = 0;
    for (int i = 0; i < store->slot_count; i++)
        if (store->slots[i].trained)
            list[count++] =
                (struct shard_tensor){store->slots[i].first, store->slots[i].count, s->group_of[i]};
    return count;
}

static int tell_servers(struct stepper *s, const struct shard_layout *layout,
                        struct shard_service *service, struct error *err) {
    service->rule = s->rule;
    service->count = s->net->store.trained;
    for (int i = 0; i < SHARD_ARENAS; i++)
        service->keeps[i] = s->net->store.arena[STRATEGY_ARENAS[i]] != NULL;
    return shard_server_tell(s->all, layout, service, err);
}

int strategy_shards_open(struct stepper *s, const size_t *begins, int count,
                         struct shard_service *service, struct error *err) {
    cleanup_free struct shard_tensor *tensors =
        calloc((size_t)s->net->store.slot_count + 1, sizeof(*tensors));
    s->shards = calloc(1, sizeof(*s->shards));
    if (tensors == NULL || s->shards == NULL)
        return error_no_memory(err, "shares of the optimizer");
    const struct shard_layout layout = {.buckets = begins,
                                        .bucket_count = count,
                                        .tensors = tensors,
                                        .tensor_count = list_tensors(s, tensors)};
    s->gathered = true;
    return shards_open(s->shards, s->all, comm_size(s->comm), &layout, err) != 0 ? -1
           : s->shards->serves ? tell_servers(s, &layout, service, err)
                               : 0;
}

void strategy_shards_done(struct stepper *s) {
    if (s->shards != NULL)
        shards_done(s->shards);
    free(s->shards);
    s->shards = NULL;
}

void strategy_shards_forget(struct stepper *s) {
    const struct store *store = &s->net->store;
    if (!s->gathered)
        return;
    shards_forget(s->shards, store->arena[STORE_MOMENTUM]);
    shards_forget(s->shards, store->arena[STORE_SECOND]);
    s->gathered = false;
}
