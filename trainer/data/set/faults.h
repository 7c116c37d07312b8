/* What was found wrong with the files of a data set: which samples cannot be used and which were
 * damaged and decoded over. A file counts once, however often and by whichever rank it is read:
 * ranks tell each other what they found (faults_unshared, faults_learn) when it suits them.
 *
 * Any thread may note; the rest is for one thread at a time, while others note. */
#ifndef TRAINER_DATA_SET_FAULTS_H
#define TRAINER_DATA_SET_FAULTS_H

#include "common/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind { FAULT_DAMAGED, FAULT_BAD, FAULT_KINDS };

enum {
    FAULTS_TOLD_MAX = 20, /* of each kind, by one rank: the others are counted alone */
    FAULT_WHY_MAX = 200,
};

struct fault {
    int64_t sample;
    enum fault_kind kind;
    char why[FAULT_WHY_MAX]; /* without the file's name */
};

struct faults {
    pthread_mutex_t lock;
    bool made;
    size_t samples;
    uint8_t *known;             /* owned; [samples], bits */
    int64_t count[FAULT_KINDS]; /* distinct, found here or learned */
    int64_t fresh;              /* found here and not shared */
    int told[FAULT_KINDS];      /* found here and put into `to_tell` so far */
    struct fault *to_tell;      /* owned; room for FAULTS_TOLD_MAX of each kind */
    int waiting;                /* in to_tell */
};

int faults_init(struct faults *f, size_t samples, struct error *err);
void faults_done(struct faults *f);

/* Returns how many samples have this fault now. */
int64_t faults_note(struct faults *f, int64_t sample, enum fault_kind kind, const char *why);
int64_t faults_count(struct faults *f, enum fault_kind kind);
/* Found here and not given by faults_unshared yet, of all kinds. */
int64_t faults_fresh(struct faults *f);

/* What was found here and not told yet, by sample: at most MAX of them, which then count as told.
 * The first FAULTS_TOLD_MAX of a kind alone. */
int faults_take(struct faults *f, struct fault *ret, int max);

/* For other ranks: up to MAX of what was found here, as numbers that faults_learn takes; each is
 * given once. Returns how many; *RET_LEFT says how many are left. */
int faults_unshared(struct faults *f, int64_t *ret, int max, int64_t *ret_left);
void faults_learn(struct faults *f, int64_t number);

/* The lowest sample from FROM on with this fault, -1 for none. */
int64_t faults_next(struct faults *f, enum fault_kind kind, int64_t from);

#define cleanup_faults __attribute__((cleanup(faults_done)))

#endif
