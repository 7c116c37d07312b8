#include "trainer/app/run/bn_statistics.h"

#include "common/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Batch norms learn running means and variances from the pictures of their own rank, so ranks drift
 * apart within an epoch although their weights are equal. The functions here bring them together:
 * by a mean at the end of an epoch, or side by side in a checkpoint between two ends.
 *
 * A store keeps all statistics of a network in one arena, slot after slot. In a checkpoint the
 * values are ordered by slot first and by rank second, so that those of one norm form one array
 * [ranks, values]; take_all and bn_statistics_scatter translate between the two orders.
 *
 * `own_statistics` is set by each step that counts (train.c) and cleared by the mean. It is the
 * same on all ranks, so all of them enter or skip the collectives together. */

/* Names with it are unknown to readers that expect torchvision's names, which ignore them. */
#define PREFIX "rank_statistics."

void bn_statistics_done(struct bn_statistics *s) {
    free(s->ranks);
    free(s->mean);
    free(s->arrays);
    free(s->names);
    *s = (struct bn_statistics){0};
}

/* Returns the values of all running statistics of the network, f32 each. */
static size_t state_count(const struct run_steps *steps) {
    return steps->net.store.count[STORE_STATE];
}

/* comm_sum gives all ranks the same bits, so the means are equal as well. With one rank nothing is
 * touched, and a run resumes bit for bit. */
int bn_statistics_average(struct run_steps *steps, struct comm *comm, struct error *err) {
    struct store *store = &steps->net.store;
    int ranks = comm_size(comm);
    size_t count = state_count(steps);
    void *arena = NULL;
    if (ranks == 1 || !steps->own_statistics)
        return 0;
    if (run_steps_pull(steps, STORE_STATE, &arena, err) != 0 ||
        comm_sum(comm, arena, count, COMM_F32, err) != 0)
        return error_wrap(err, "averaging statistics");
    float *values = arena;
    for (size_t i = 0; i < count; i++)
        values[i] /= (float)ranks;
    if (store_push(store, STORE_STATE, err) != 0)
        return -1;
    steps->own_statistics = false;
    return 0;
}

/* Prepares arrays without values, and memory for the values. The arrays are named and shaped here
 * for reading and writing alike. On failure S holds what was allocated, to be freed by
 * bn_statistics_done. The extra element keeps calloc from returning NULL for a network without
 * batch norms. */
static int prepare(struct bn_statistics *s, const struct run_steps *steps, size_t ranks,
                   struct error *err) {
    const struct store *store = &steps->net.store;
    size_t slots = (size_t)store->slot_count;
    size_t at = 0;
    *s = (struct bn_statistics){
        .ranks = calloc(state_count(steps) * ranks + 1, sizeof(float)),
        .mean = calloc(state_count(steps) + 1, sizeof(float)),
        .arrays = calloc(slots, sizeof(struct array)),
        .names = calloc(slots, ARRAY_NAME_MAX),
    };
    if (s->ranks == NULL || s->mean == NULL || s->arrays == NULL || s->names == NULL)
        return error_no_memory(err, "statistics of all ranks");
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (slot->home != STORE_STATE)
            continue;
        char *name = s->names + s->count * ARRAY_NAME_MAX;
        struct array *array = &s->arrays[s->count++];
        (void)snprintf(name, ARRAY_NAME_MAX, PREFIX "%s", slot->name);
        *array = (struct array){.name = name,
                                .type = ARRAY_F32,
                                .rank = 2,
                                .shape = {(int64_t)ranks, (int64_t)slot->count},
                                .data = s->ranks + at};
        at += ranks * slot->count;
    }
    return 0;
}

/* ALL: the arenas of all ranks, one after the other. Fills both layouts of S: values by slot and
 * rank, and the mean over ranks in the order of the arena. */
static void take_all(struct bn_statistics *s, const struct run_steps *steps, size_t ranks,
                     const float *all) {
    const struct store *store = &steps->net.store;
    size_t count = state_count(steps);
    float *out = s->ranks;
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        for (size_t r = 0; slot->home == STORE_STATE && r < ranks; r++, out += slot->count)
            memcpy(out, all + r * count + slot->first, slot->count * sizeof(float));
    }
    for (size_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < count; i++)
            s->mean[i] += all[r * count + i];
    for (size_t i = 0; i < count; i++)
        s->mean[i] /= (float)ranks;
}

/* All ranks allocate memory for the values of all, since comm_gather gives each rank the whole.
 * Only rank 0 keeps them: it alone writes the checkpoint. */
int bn_statistics_gather(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                         struct error *err) {
    size_t count = state_count(steps);
    void *own = NULL;
    *s = (struct bn_statistics){0};
    cleanup_free float *all = malloc((count * (size_t)comm_size(comm) + 1) * sizeof(float));
    if (all == NULL)
        return error_no_memory(err, "statistics of all ranks");
    if (run_steps_pull(steps, STORE_STATE, &own, err) != 0 ||
        comm_gather(comm, own, count * sizeof(float), all, err) != 0)
        return error_wrap(err, "gathering statistics");
    if (comm_rank(comm) != 0)
        return 0;
    if (prepare(s, steps, (size_t)comm_size(comm), err) != 0)
        return -1;
    take_all(s, steps, (size_t)comm_size(comm), all);
    return 0;
}

/* The arrays are found by name. W must not be used after S is freed, because its arrays then point
 * into S. */
void bn_statistics_show_mean(const struct bn_statistics *s, const struct run_steps *steps,
                             struct weights *w) {
    const struct store *store = &steps->net.store;
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        for (size_t k = 0; slot->home == STORE_STATE && k < w->count; k++)
            if (strcmp(w->arrays[k].name, slot->name) == 0)
                w->arrays[k].data = s->mean + slot->first;
    }
}

/* Only the first array is looked at to decide if the file has statistics of this many ranks. If it
 * does, a missing or misshapen later one is an error, because the file is then damaged. */
int bn_statistics_read(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                       const struct safetensors *file, struct error *err) {
    *s = (struct bn_statistics){0};
    if (comm_size(comm) == 1 || prepare(s, steps, (size_t)comm_size(comm), err) != 0)
        return comm_size(comm) == 1 ? 0 : -1;
    /* A run on another number of ranks starts from the mean, which is under the usual names. */
    const struct safetensors_entry *entry =
        s->count > 0 ? safetensors_find(file, s->arrays[0].name) : NULL;
    if (entry == NULL || entry->rank != 2 || entry->shape[0] != comm_size(comm)) {
        bn_statistics_done(s);
        return 0;
    }
    for (size_t i = 0; i < s->count; i++)
        if (safetensors_read(file, &s->arrays[i], err) != 0)
            return -1;
    return 0;
}

/* Rank 0 first tells the others if there is anything: they cannot know, as they have not read the
 * file. All values go to all ranks in one message, and each picks its own. */
int bn_statistics_scatter(struct bn_statistics *s, struct run_steps *steps, struct comm *comm,
                          struct error *err) {
    struct store *store = &steps->net.store;
    size_t ranks = (size_t)comm_size(comm), rank = (size_t)comm_rank(comm);
    bool there = s->ranks != NULL;
    void *arena = NULL;
    if (ranks == 1)
        return 0;
    if (comm_broadcast(comm, &there, sizeof(there), 0, err) != 0)
        return -1;
    if (!there)
        return 0;
    /* Other ranks have the same network, so their arrays have the same sizes. */
    if (comm_rank(comm) != 0 && prepare(s, steps, (size_t)comm_size(comm), err) != 0)
        return -1;
    if (comm_broadcast(comm, s->ranks, state_count(steps) * ranks * sizeof(float), 0, err) != 0 ||
        run_steps_pull(steps, STORE_STATE, &arena, err) != 0)
        return error_wrap(err, "spreading statistics");
    const float *in = s->ranks;
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (slot->home != STORE_STATE)
            continue;
        memcpy((float *)arena + slot->first, in + rank * slot->count, slot->count * sizeof(float));
        in += ranks * slot->count;
    }
    steps->own_statistics = true;
    return store_push(store, STORE_STATE, err);
}
