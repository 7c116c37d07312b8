/* What was found wrong with the files of a data set: which samples cannot be used and which were
 * damaged and decoded over. A file counts once, however often and by whichever rank it is read:
 * ranks tell each other what they found (bad_samples_unshared, bad_samples_learn) when it suits
 * them.
 *
 * Any thread may note; the rest is for one thread at a time, while others note. */
#ifndef TRAINER_DATA_DATASET_BAD_SAMPLES_H
#define TRAINER_DATA_DATASET_BAD_SAMPLES_H

#include "common/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bad_sample_kind { BAD_SAMPLE_DAMAGED, BAD_SAMPLE_BAD, BAD_SAMPLE_KINDS };

enum {
    BAD_SAMPLES_TOLD_MAX = 20, /* of each kind, by one rank: the others are counted alone */
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
    int64_t count[BAD_SAMPLE_KINDS]; /* distinct, found here or learned */
    int64_t fresh;                   /* found here and not shared */
    int told[BAD_SAMPLE_KINDS];      /* found here and put into `to_tell` so far */
    struct bad_sample *to_tell;      /* owned; room for BAD_SAMPLES_TOLD_MAX of each kind */
    int waiting;                     /* in to_tell */
};

int bad_samples_init(struct bad_samples *f, size_t samples, struct error *err);
void bad_samples_done(struct bad_samples *f);

/* Returns how many samples have this fault now. */
int64_t bad_samples_note(struct bad_samples *f, int64_t sample, enum bad_sample_kind kind,
                         const char *why);
int64_t bad_samples_count(struct bad_samples *f, enum bad_sample_kind kind);
/* Found here and not given by bad_samples_unshared yet, of all kinds. */
int64_t bad_samples_fresh(struct bad_samples *f);

/* What was found here and not told yet, by sample: at most MAX of them, which then count as told.
 * The first BAD_SAMPLES_TOLD_MAX of a kind alone. */
int bad_samples_take(struct bad_samples *f, struct bad_sample *ret, int max);

/* For other ranks: up to MAX of what was found here, as numbers that bad_samples_learn takes; each
 * is given once. Returns how many; *RET_LEFT says how many are left. */
int bad_samples_unshared(struct bad_samples *f, int64_t *ret, int max, int64_t *ret_left);
void bad_samples_learn(struct bad_samples *f, int64_t number);

/* The lowest sample from FROM on with this fault, -1 for none. */
int64_t bad_samples_next(struct bad_samples *f, enum bad_sample_kind kind, int64_t from);

#define cleanup_bad_samples __attribute__((cleanup(bad_samples_done)))

#endif
