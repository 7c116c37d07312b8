#include "trainer/app/weights/weights.h"

#include "common/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list is made in one pass over the store's slots and then handed to a reader or writer of
 * safetensors. Nothing is copied here: each array points into an arena in host memory. On ref
 * and cpu that is the arena itself, and on a device it is the store's copy, which weights_read
 * pushes back.
 *
 * Only values are listed, never gradients. Arrays of the optimizer and of the average follow the
 * model's array of the same parameter; safetensors files are read by name, so this order is not
 * part of the format. */

#define MEAN_SUFFIX ".running_mean"

void weights_done(struct weights *w) {
    free(w->arrays);
    free(w->names);
    *w = (struct weights){0};
}

/* Appends an array called PREFIX, the first NAME_SIZE bytes of NAME, and SUFFIX. The names lie
 * in one block, each in ARRAY_NAME_MAX bytes of it, so they do not move as more are added. */
static struct array *add(struct weights *w, const char *prefix, const char *name, int name_size,
                         const char *suffix) {
    char *text = w->names + w->count * ARRAY_NAME_MAX;
    (void)snprintf(text, ARRAY_NAME_MAX, "%s%.*s%s", prefix, name_size, name, suffix);
    struct array *array = &w->arrays[w->count++];
    array->name = text;
    return array;
}

/* Adds SLOT's values in ARENA. ARENAS: the store's, in host memory. The shape becomes the file's,
 * which differs from the store's in three cases. */
static void add_slot(struct weights *w, void *const arenas[STORE_ARENAS],
                     const struct store_slot *slot, const char *prefix, enum store_arena arena) {
    struct array *array = add(w, prefix, slot->name, (int)strlen(slot->name), "");
    array->type = ARRAY_F32;
    array->data = (float *)arenas[arena] + slot->first;
    const int64_t *dim = slot->shape.dim;
    array->rank = slot->shape.rank;
    memcpy(array->shape, dim, sizeof(slot->shape.dim));
    if (slot->file == FILE_PIXELWISE) {
        /* A matrix here, and a convolution with a window of 1 x 1 in files. */
        array->rank = 4;
        array->shape[2] = array->shape[3] = 1;
    } else if (slot->file == FILE_MATRIX) {
        array->ohwi = true;
        /* A layer that reads flattened maps: in files a matrix with columns channel by
         * channel. */
        array->inputs = dim[3];
        array->rank = 2;
        array->shape[1] = dim[1] * dim[2] * dim[3];
    } else if (slot->shape.rank == 4) {
        /* OHWI in the store, OIHW in the file. */
        array->ohwi = true;
        array->shape[1] = dim[3];
        array->shape[2] = dim[1];
        array->shape[3] = dim[2];
    }
}

/* Returns true if SLOT is the running mean of a norm, which stands for the norm as a whole;
 * *RET_PREFIX is then the length of the norm's name. */
static bool is_mean(const struct store_slot *slot, size_t *ret_prefix) {
    size_t size = strlen(slot->name);
    size_t suffix = strlen(MEAN_SUFFIX);
    if (slot->home != STORE_STATE || size < suffix ||
        strcmp(slot->name + size - suffix, MEAN_SUFFIX) != 0)
        return false;
    *ret_prefix = size - suffix;
    return true;
}

/* Returns true if WHAT includes ARENA, and STORE has it. */
static bool concerns(const struct store *store, unsigned what, enum store_arena arena) {
    if (store_is_kept(arena) && store->count[arena] == 0)
        return false;
    switch (arena) {
    case STORE_PARAMETERS:
    case STORE_STATE:
    case STORE_CONSTANTS:
        return (what & WEIGHTS_MODEL) != 0;
    case STORE_MOMENTUM:
    case STORE_SECOND:
        return (what & WEIGHTS_OPTIMIZER) != 0;
    case STORE_AVERAGE:
        return (what & (WEIGHTS_AVERAGE | WEIGHTS_PUBLISHED)) != 0;
    default:
        return false;
    }
}

/* Lists the values of SLOT. A publication has the average under the plain name, if there is an
 * average; running statistics and constants have none and are always themselves. */
static void add_model(struct weights *w, void *const arenas[STORE_ARENAS],
                      const struct store_slot *slot) {
    const bool averaged = slot->home == STORE_PARAMETERS;
    const bool published = averaged && (w->what & WEIGHTS_PUBLISHED) != 0;
    add_slot(w, arenas, slot,
             averaged && (w->what & WEIGHTS_FROM_AVERAGE) != 0 ? WEIGHTS_AVERAGE_PREFIX : "",
             published && arenas[STORE_AVERAGE] != NULL ? STORE_AVERAGE : slot->home);
}

/* Lists what the optimizer keeps of SLOT. */
static void add_kept(struct weights *w, void *const arenas[STORE_ARENAS],
                     const struct store_slot *slot) {
    static const struct {
        enum store_arena arena;
        unsigned bit;
        const char *prefix;
    } kept[] = {{STORE_MOMENTUM, WEIGHTS_OPTIMIZER, "optimizer.momentum."},
                {STORE_SECOND, WEIGHTS_OPTIMIZER, "optimizer.second."},
                {STORE_AVERAGE, WEIGHTS_AVERAGE, WEIGHTS_AVERAGE_PREFIX}};
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (slot->home == STORE_PARAMETERS && arenas[kept[i].arena] != NULL &&
            (kept[i].bit & w->what) != 0)
            add_slot(w, arenas, slot, kept[i].prefix, kept[i].arena);
}

int weights_list(struct weights *w, struct store *store, unsigned what, int64_t batches,
                 struct error *err) {
    /* A parameter has up to four arrays: its values, two of the optimizer and the average. A
     * running mean has two, with its counter. */
    size_t most = 5 * (size_t)store->slot_count;
    void *arenas[STORE_ARENAS] = {0};
    *w = (struct weights){.store = store,
                          .what = what,
                          .arrays = calloc(most, sizeof(struct array)),
                          .names = calloc(most, ARRAY_NAME_MAX),
                          .batches = batches};
    if (w->arrays == NULL || w->names == NULL)
        return error_no_memory(err, "list of weights");
    /* Arenas that are not wanted stay NULL, and are not copied from a device. */
    for (int i = 0; i < STORE_ARENAS; i++)
        if (concerns(store, what, (enum store_arena)i) &&
            store_pull(store, (enum store_arena)i, &arenas[i], err) != 0)
            return -1;
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        size_t prefix = 0;
        if ((what & WEIGHTS_MODEL) != 0)
            add_model(w, arenas, slot);
        add_kept(w, arenas, slot);
        if ((what & WEIGHTS_BATCHES) != 0 && is_mean(slot, &prefix)) {
            struct array *array = add(w, "", slot->name, (int)prefix, ".num_batches_tracked");
            array->type = ARRAY_I64;
            array->data = &w->batches;
        }
    }
    return 0;
}

/* Callers ask this to choose between lists, such as one of the average and one of the plain
 * weights, before anything is read. */
bool weights_are_in(const struct weights *w, const struct safetensors *file) {
    for (size_t i = 0; i < w->count; i++)
        if (safetensors_find(file, w->arrays[i].name) == NULL)
            return false;
    return true;
}

/* All arrays must be there, in the store's type and shape. After a failure a part of the store
 * may have been overwritten. */
int weights_read(const struct weights *w, const struct safetensors *file, struct error *err) {
    for (size_t i = 0; i < w->count; i++)
        if (safetensors_read(file, &w->arrays[i], err) != 0)
            return -1;
    for (int i = 0; i < STORE_ARENAS; i++)
        if (concerns(w->store, w->what, (enum store_arena)i) &&
            store_push(w->store, (enum store_arena)i, err) != 0)
            return -1;
    return 0;
}

/* Whole arenas are sent, padding included, as their layout is the same on all ranks. The first
 * three are always there; those of the optimizer come last, so that the count alone leaves them
 * out. */
int weights_spread(struct store *store, struct comm *comm, bool kept, struct error *err) {
    static const enum store_arena arenas[] = {STORE_PARAMETERS, STORE_STATE,  STORE_CONSTANTS,
                                              STORE_MOMENTUM,   STORE_SECOND, STORE_AVERAGE};
    const size_t count = sizeof(arenas) / sizeof(arenas[0]) - (kept ? 0 : 3);
    if (comm_size(comm) == 1)
        return 0;
    for (size_t i = 0; i < count; i++) {
        void *values = NULL;
        if (store_is_kept(arenas[i]) && store->count[arenas[i]] == 0)
            continue;
        if (store_pull(store, arenas[i], &values, err) != 0 ||
            comm_broadcast(comm, values, store->count[arenas[i]] * sizeof(float), 0, err) != 0 ||
            store_push(store, arenas[i], err) != 0)
            return error_wrap(err, "spreading parameters");
    }
    return 0;
}
