#include "entrypoint/host/ranks/rank_owners.h"

#include "common/cleanup.h"
#include "entrypoint/evidence/process_owner.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/wire/message.h"

#include <stdlib.h>

static size_t count_slots(const struct rank_set *c) {
    size_t count = 0;
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next)
        count++;
    return count;
}

static size_t list_ranks(const struct rank_set *c, struct process_owner_rank *ret) {
    size_t count = 0;
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next)
        if (s->link != NULL && !s->reported)
            ret[count++] = (struct process_owner_rank){.rank = s->rank, .shim = s->shim};
    return count;
}

json_t *rank_owners_answer(const struct rank_set *c, const json_t *order) {
    int64_t pids[RANK_OWNERS_MAX];
    int64_t owners[RANK_OWNERS_MAX];
    size_t count = 0;
    const json_t *list = json_object_get(order, "pids");
    cleanup_free struct process_owner_rank *ranks =
        calloc(count_slots(c) + 1, sizeof(struct process_owner_rank));
    if (ranks == NULL)
        return NULL;
    for (size_t i = 0; i < json_array_size(list) && count < RANK_OWNERS_MAX; i++)
        pids[count++] = json_integer_value(json_array_get(list, i));
    process_owner_find(ranks, list_ranks(c, ranks), pids, count, owners);
    json_t *pairs = json_array();
    for (size_t i = 0; i < count; i++)
        if (owners[i] >= 0)
            (void)json_array_append_new(
                pairs, json_pack("[I, I]", (json_int_t)pids[i], (json_int_t)owners[i]));
    return message_with(MESSAGE_OWNERS,
                        json_pack("{s:I, s:o}", "number",
                                  json_integer_value(json_object_get(order, "number")), "owners",
                                  pairs));
}
