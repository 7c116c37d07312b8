#include "trainer/data/dataset/holdout.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/math/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Each sample draws a number from the seed and its own names; those with the lowest numbers of a
 * class are held out. A sample keeps its number when files come or go, and so almost always its
 * side. A shuffled list of positions would move samples between training and evaluation whenever a
 * file is added, and the score would be measured on pictures that were trained on. */

/* A stream of its own beside those of augmentation, which are named by epochs. */
static const uint32_t stream = UINT32_MAX;

/* A sample with its class and the number that it drew. */
struct lot {
    int32_t label;
    uint64_t number;
    size_t sample;
};

/* Returns the path of a sample below its class folder, which is what sets in shards have, too. */
static const char *name_of(const struct dataset *set, size_t sample) {
    return set->names + set->name_at[sample];
}

/* Adds a sample's names, each with its NUL, so that no two names run together. */
static uint64_t hash_name(uint64_t hash, const struct dataset *set, size_t sample) {
    const char *class_name = set->class_names[set->labels[sample]];
    const char *name = name_of(set, sample);
    return str_hash(str_hash(hash, class_name, strlen(class_name) + 1), name, strlen(name) + 1);
}

/* Total order, so that qsort's result is the same on each host: equal numbers are decided by the
 * position. */
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

/* Returns the number of held-out samples among COUNT of a class: the share, rounded, but at least
 * one sample on each side. A class with a single sample keeps it for training. */
static size_t share_of(size_t count, double share) {
    /* COUNT - 1 is the most, so that the training keeps one. */
    const size_t part = (size_t)lround((double)count * share);
    if (count < 2)
        return 0;
    return part < 1 ? 1 : part > count - 1 ? count - 1 : part;
}

/* Marks in HELD what is held out; returns how much that is. LOTS are sorted by class, so that each
 * class is a run of them, and the first of a run are taken. *RET_UNHELD counts the classes that
 * have none. */
static size_t mark(const struct dataset *set, const struct lot *lots, double share, bool *held,
                   size_t *ret_unheld) {
    size_t all = 0;
    *ret_unheld = 0;
    /* Once for each class that has samples. */
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

/* Continues the hash of the set with the names of a part, in its order, so that both parts differ
 * from the whole and from each other. */
static uint64_t hash_samples(const struct dataset *set, uint64_t hash) {
    for (size_t i = 0; i < set->count; i++)
        hash = hash_name(hash, set, i);
    return hash;
}

/* Makes room for COUNT samples of SET in RET, with BYTES of names, and copies its classes. After a
 * failure RET is to be freed with dataset_done, for which `classes` never exceeds the names. */
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

/* The samples of SET that are HELD go to RET, the others move up in place. Their order stays. SET
 * keeps the bytes of all names, as only offsets are moved. */
static void move(struct dataset *set, const bool *held, struct dataset *ret) {
    size_t kept = 0;
    size_t used = 0;
    for (size_t i = 0; i < set->count; i++) {
        const size_t size = strlen(name_of(set, i)) + 1;
        struct dataset *to = held[i] ? ret : set;
        /* In place, as a sample never moves to a later position. */
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

/* Bytes of the names that move to the other set, each with its NUL. */
static size_t name_bytes(const struct dataset *set, const bool *held) {
    size_t bytes = 0;
    for (size_t i = 0; i < set->count; i++)
        bytes += held[i] ? strlen(name_of(set, i)) + 1 : 0;
    return bytes;
}

/* All that can fail is done before the first sample moves: on failure SET is unchanged and RET
 * empty. */
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
