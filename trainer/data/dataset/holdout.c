#include "trainer/data/dataset/holdout.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/math/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A stream of its own beside those of augmentation, which are named by epochs. */
static const uint32_t stream = UINT32_MAX;

struct lot {
    int32_t label;
    uint64_t number;
    size_t sample;
};

static const char *name_of(const struct dataset *set, size_t sample) {
    return set->names + set->name_at[sample];
}

/* Adds a sample's names, each with its NUL, so that no two names run together. */
static uint64_t hash_name(uint64_t hash, const struct dataset *set, size_t sample) {
    const char *class_name = set->class_names[set->labels[sample]];
    const char *name = name_of(set, sample);
    return str_hash(str_hash(hash, class_name, strlen(class_name) + 1), name, strlen(name) + 1);
}

static int compare(const void *a, const void *b) {
    const struct lot *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Sorts the samples by class, and within a class by the random number that draws them. */
static void draw_lots(const struct dataset *set, uint64_t seed, struct lot *lots) {
    for (size_t i = 0; i < set->count; i++) {
        struct random r = random_stream(seed, stream, hash_name(STR_HASH_START, set, i));
        const uint64_t high = random_u32(&r);
        lots[i] = (struct lot){set->labels[i], high << 32 | random_u32(&r), i};
    }
    qsort(lots, set->count, sizeof(*lots), compare);
}

/* The number of held-out samples among COUNT of a class. */
static size_t share_of(size_t count, double share) {
    const size_t part = (size_t)lround((double)count * share);
    if (count < 2)
        return 0;
    return part < 1 ? 1 : part > count - 1 ? count - 1 : part;
}

/* Marks what is held out; returns how much that is. */
static size_t mark(const struct dataset *set, const struct lot *lots, double share, bool *held,
                   size_t *ret_unheld) {
    size_t all = 0;
    *ret_unheld = 0;
    for (size_t first = 0, next; first < set->count; first = next) {
        next = first + 1;
        while (next < set->count && lots[next].label == lots[first].label)
            next++;
        const size_t part = share_of(next - first, share);
        for (size_t i = 0; i < part; i++)
            held[lots[first + i].sample] = true;
        all += part;
        *ret_unheld += part == 0;
    }
    return all;
}

static uint64_t hash_samples(const struct dataset *set, uint64_t hash) {
    for (size_t i = 0; i < set->count; i++)
        hash = hash_name(hash, set, i);
    return hash;
}

/* Room for COUNT samples of SET in RET, and its classes. */
static int make_room(const struct dataset *set, size_t count, size_t bytes, struct dataset *ret,
                     struct error *err) {
    bool complete = true;
    ret->kind = set->kind;
    ret->root = strdup(set->root);
    ret->labels = calloc(count + 1, sizeof(*ret->labels));
    ret->name_at = calloc(count + 1, sizeof(*ret->name_at));
    ret->names = malloc(bytes + 1);
    ret->class_names = calloc(set->classes + 1, sizeof(*ret->class_names));
    if (set->kind == DATASET_SHARDS) {
        ret->places = calloc(count + 1, sizeof(*ret->places));
        ret->shards = shard_store_share(set->shards);
        complete = ret->places != NULL;
    }
    ret->classes = ret->class_names != NULL ? set->classes : 0;
    complete = complete && ret->root != NULL && ret->labels != NULL && ret->name_at != NULL &&
               ret->names != NULL && ret->class_names != NULL;
    for (size_t c = 0; c < ret->classes && complete; c++)
        complete = (ret->class_names[c] = strdup(set->class_names[c])) != NULL;
    return complete ? 0 : error_no_memory(err, "samples that are held out");
}

/* The samples of SET that are HELD go to RET, the others move up. */
static void move(struct dataset *set, const bool *held, struct dataset *ret) {
    size_t kept = 0;
    size_t used = 0;
    for (size_t i = 0; i < set->count; i++) {
        const size_t size = strlen(name_of(set, i)) + 1;
        struct dataset *to = held[i] ? ret : set;
        if (set->places != NULL)
            to->places[held[i] ? ret->count : kept] = set->places[i];
        if (!held[i]) {
            set->labels[kept] = set->labels[i];
            set->name_at[kept++] = set->name_at[i];
            continue;
        }
        memcpy(ret->names + used, name_of(set, i), size);
        ret->labels[ret->count] = set->labels[i];
        ret->name_at[ret->count++] = used;
        used += size;
    }
    set->count = kept;
}

static size_t name_bytes(const struct dataset *set, const bool *held) {
    size_t bytes = 0;
    for (size_t i = 0; i < set->count; i++)
        bytes += held[i] ? strlen(name_of(set, i)) + 1 : 0;
    return bytes;
}

int holdout_split(struct dataset *set, double share, uint64_t seed, struct dataset *ret,
                  size_t *ret_unheld, struct error *err) {
    cleanup_free struct lot *lots = calloc(set->count + 1, sizeof(*lots));
    cleanup_free bool *held = calloc(set->count + 1, sizeof(*held));
    size_t unheld = 0;
    *ret = (struct dataset){0};
    if (lots == NULL || held == NULL)
        return error_no_memory(err, "samples that are held out");
    draw_lots(set, seed, lots);
    const size_t count = mark(set, lots, share, held, &unheld);
    if (count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: no class has two pictures, of which one could be held out",
                         set->root);
    if (make_room(set, count, name_bytes(set, held), ret, err) != 0) {
        dataset_done(ret);
        return -1;
    }
    const int64_t bytes = set->bytes;
    move(set, held, ret);
    /* The size of each file is not kept, so the bytes are estimated by count. */
    ret->bytes = (int64_t)((double)bytes * (double)count / (double)(set->count + count));
    set->bytes = bytes - ret->bytes;
    ret->hash = hash_samples(ret, set->hash);
    set->hash = hash_samples(set, set->hash);
    if (ret_unheld != NULL)
        *ret_unheld = unheld;
    return 0;
}
