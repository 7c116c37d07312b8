/* Faults found in the files of a data set: samples that cannot be used, and samples that were
 * damaged but decoded. A file counts once, however often and by whichever rank it is read: ranks
 * exchange their findings from time to time (bad_samples_unshared, bad_samples_learn).
 *
 * Any thread may add faults; the other functions are for one thread at a time, while others add. */
#ifndef TRAINER_DATA_DATASET_BAD_SAMPLES_H
#define TRAINER_DATA_DATASET_BAD_SAMPLES_H

#include "common/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bad_sample_kind { BAD_SAMPLE_DAMAGED, BAD_SAMPLE_BAD, BAD_SAMPLE_KINDS };

enum {
    BAD_SAMPLES_TOLD_MAX = 20, /* of each kind, by one rank: further ones are only counted */
    BAD_SAMPLE_WHY_MAX = 200,
};

struct bad_sample {
    int64_t sample;
    enum bad_sample_kind kind;
    char why[BAD_SAMPLE_WHY_MAX]; /* without the file's name */
};

struct bad_samples {
    pthread_mutex_t lock;
    bool made;
    size_t samples;
    uint8_t *known;                  /* owned; [samples], bits */
    int64_t count[BAD_SAMPLE_KINDS]; /* distinct, found here or learned from other ranks */
    int64_t fresh;                   /* found here and not shared */
    int told[BAD_SAMPLE_KINDS];      /* found here and added to `to_log` so far */
    struct bad_sample *to_log;       /* owned; capacity of BAD_SAMPLES_TOLD_MAX of each kind */
    int waiting;                     /* in to_log */
};

/* Returns true if ERR is the sample's fault, and not that of a machine that is temporarily short
 * of descriptors or memory. */
bool bad_sample_at_fault(const struct error *err);

/* Returns TEXT without a leading "NAME: ", a sample's name. */
const char *bad_sample_reason(const char *name, const char *text);

int bad_samples_init(struct bad_samples *f, size_t samples, struct error *err);
void bad_samples_done(struct bad_samples *f);

/* Adds a fault; returns how many samples have this kind of fault now. */
int64_t bad_samples_note(struct bad_samples *f, int64_t sample, enum bad_sample_kind kind,
                         const char *why);
int64_t bad_samples_count(struct bad_samples *f, enum bad_sample_kind kind);
/* Returns the number found here and not yet given to bad_samples_unshared, of all kinds. */
int64_t bad_samples_fresh(struct bad_samples *f);

/* Takes the faults found here that were not reported yet, by sample: at most MAX, which then count
 * as reported; only the first BAD_SAMPLES_TOLD_MAX of a kind. */
int bad_samples_take(struct bad_samples *f, struct bad_sample *ret, int max);

/* For other ranks: takes up to MAX of the faults found here, as numbers for bad_samples_learn;
 * each is returned once. Returns how many; *RET_LEFT is the number left. */
int bad_samples_unshared(struct bad_samples *f, int64_t *ret, int max, int64_t *ret_left);
void bad_samples_learn(struct bad_samples *f, int64_t number);

/* Returns the lowest sample from FROM on with this kind of fault, -1 for none. */
int64_t bad_samples_next(struct bad_samples *f, enum bad_sample_kind kind, int64_t from);

#define cleanup_bad_samples __attribute__((cleanup(bad_samples_done)))

#endif
