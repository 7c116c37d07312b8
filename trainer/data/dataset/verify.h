/* Every picture of a data set read and decoded whole, once: what cannot be used, what is damaged,
 * how large the pictures are, and which of them are the same bytes. */
#ifndef TRAINER_DATA_DATASET_VERIFY_H
#define TRAINER_DATA_DATASET_VERIFY_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VERIFY_THREADS_MAX = 256 };

enum verified_state { VERIFIED_GOOD, VERIFIED_DAMAGED, VERIFIED_BAD };

struct verified {
    uint64_t hash; /* of the file's bytes; FNV-1a, for difference alone */
    int64_t bytes;
    int width; /* 0 where bad */
    int height;
    enum verified_state state;
    bool read; /* hash and bytes are known */
    char *why; /* owned; NULL where good */
};

struct verification {
    const struct dataset *set; /* borrowed */
    struct verified *items;    /* owned; [set->count] */
    size_t damaged;
    size_t bad;
};

/* SET must be a folder and outlive RET. An error is not of the data: what is wrong with a file is
 * in its item. */
int verify_set(struct verification *ret, const struct dataset *set, int threads, struct error *err);
void verification_done(struct verification *v);

/* Pictures of SETS (their verifications, COUNT of them) with the same bytes lie side by side: items
 * [first, first + size) of ITEMS are such a group. */
struct content {
    uint64_t hash;
    int64_t bytes;
    size_t set;
    size_t sample;
};

struct duplicates {
    struct content *items; /* owned; by hash, bytes, set, sample */
    size_t count;
};

int duplicates_find(struct duplicates *ret, const struct verification *sets, size_t count,
                    struct error *err);
void duplicates_done(struct duplicates *d);
/* The group that begins at or behind AT; its size, 0 for none. */
size_t duplicates_next(const struct duplicates *d, size_t at, size_t *ret_first);

#define cleanup_verification __attribute__((cleanup(verification_done)))
#define cleanup_duplicates __attribute__((cleanup(duplicates_done)))

#endif
