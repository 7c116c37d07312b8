/* Verification of a data set: reads and decodes each picture once and records which are unusable
 * or damaged, their sizes and pixels, and duplicates (files with the same bytes). */
#ifndef TRAINER_DATA_DATASET_VERIFY_H
#define TRAINER_DATA_DATASET_VERIFY_H

#include "common/error.h"
#include "trainer/data/codec/pixel_statistics.h"
#include "trainer/data/dataset/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VERIFY_THREADS_MAX = 256 };

enum verified_state { VERIFIED_GOOD, VERIFIED_DAMAGED, VERIFIED_BAD };

struct verified {
    uint64_t hash; /* of the file's bytes; FNV-1a, only to compare */
    int64_t bytes;
    int width; /* 0 if unusable */
    int height;
    enum verified_state state;
    bool read; /* hash and bytes are known */
    char *why; /* owned; NULL if good */
};

struct verification {
    const struct dataset *set; /* borrowed */
    struct verified *items;    /* owned; [set->count] */
    size_t damaged;
    size_t bad;
    struct pixel_statistics pixels; /* of the pictures that can be used */
};

/* SET must be a folder or shards, and outlive RET. Faults of a file are recorded in its item; an
 * error is returned only for other failures. */
int verify_set(struct verification *ret, const struct dataset *set, int threads, struct error *err);
void verification_done(struct verification *v);

/* Orders the pictures of SETS (COUNT verifications) so that those with the same bytes are
 * adjacent: items [first, first + size) of ITEMS are such a group. */
struct content {
    uint64_t hash;
    int64_t bytes;
    size_t set;
    size_t sample;
};

struct duplicates {
    struct content *items; /* owned; sorted by hash, bytes, set, sample */
    size_t count;
};

int duplicates_find(struct duplicates *ret, const struct verification *sets, size_t count,
                    struct error *err);
void duplicates_done(struct duplicates *d);
/* Finds the next group at or after AT; returns its size, 0 for none. */
size_t duplicates_next(const struct duplicates *d, size_t at, size_t *ret_first);

#define cleanup_verification __attribute__((cleanup(verification_done)))
#define cleanup_duplicates __attribute__((cleanup(duplicates_done)))

#endif
