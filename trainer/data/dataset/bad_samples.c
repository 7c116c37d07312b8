#include "trainer/data/dataset/bad_samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bad_sample_at_fault(const struct error *err) {
    return err->code == EXIT_CODE_DATA && err->os_errno != EMFILE && err->os_errno != ENFILE &&
           err->os_errno != ENOMEM;
}

const char *bad_sample_reason(const char *name, const char *text) {
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || text[length] != ':')
        return text;
    return text + length + strspn(text + length, ": ");
}

/* Each kind has two bits of `known`: the fault is known, and it is shared with the other ranks. */
static uint8_t known_bit(enum bad_sample_kind kind) {
    return (uint8_t)(1 << (2 * kind));
}

static uint8_t shared_bit(enum bad_sample_kind kind) {
    return (uint8_t)(2 << (2 * kind));
}

int bad_samples_init(struct bad_samples *f, size_t samples, struct error *err) {
    *f = (struct bad_samples){.samples = samples};
    f->known = calloc(samples + 1, 1);
    f->to_log = calloc((size_t)BAD_SAMPLE_KINDS * BAD_SAMPLES_TOLD_MAX, sizeof(*f->to_log));
    f->made = pthread_mutex_init(&f->lock, NULL) == 0;
    if (f->known != NULL && f->to_log != NULL && f->made)
        return 0;
    bad_samples_done(f);
    return error_no_memory(err, "faults of the data");
}

void bad_samples_done(struct bad_samples *f) {
    if (f->made)
        pthread_mutex_destroy(&f->lock);
    free(f->known);
    free(f->to_log);
    *f = (struct bad_samples){0};
}

/* Call with the lock held; returns false if it was known. */
static bool add(struct bad_samples *f, int64_t sample, enum bad_sample_kind kind) {
    if (sample < 0 || (size_t)sample >= f->samples || (f->known[sample] & known_bit(kind)) != 0)
        return false;
    f->known[sample] |= known_bit(kind);
    f->count[kind]++;
    return true;
}

int64_t bad_samples_note(struct bad_samples *f, int64_t sample, enum bad_sample_kind kind,
                         const char *why) {
    pthread_mutex_lock(&f->lock);
    if (add(f, sample, kind)) {
        f->fresh++;
        if (f->told[kind] < BAD_SAMPLES_TOLD_MAX) {
            struct bad_sample *fault = &f->to_log[f->waiting++];
            *fault = (struct bad_sample){.sample = sample, .kind = kind};
            snprintf(fault->why, sizeof(fault->why), "%s", why);
            f->told[kind]++;
        }
    }
    int64_t count = f->count[kind];
    pthread_mutex_unlock(&f->lock);
    return count;
}

int64_t bad_samples_count(struct bad_samples *f, enum bad_sample_kind kind) {
    pthread_mutex_lock(&f->lock);
    int64_t count = f->count[kind];
    pthread_mutex_unlock(&f->lock);
    return count;
}

int64_t bad_samples_fresh(struct bad_samples *f) {
    pthread_mutex_lock(&f->lock);
    int64_t fresh = f->fresh;
    pthread_mutex_unlock(&f->lock);
    return fresh;
}

static int compare_faults(const void *first, const void *second) {
    const struct bad_sample *a = first;
    const struct bad_sample *b = second;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

int bad_samples_take(struct bad_samples *f, struct bad_sample *ret, int max) {
    pthread_mutex_lock(&f->lock);
    int count = f->waiting < max ? f->waiting : max;
    if (count > 0) {
        qsort(f->to_log, (size_t)f->waiting, sizeof(*f->to_log), compare_faults);
        memcpy(ret, f->to_log, (size_t)count * sizeof(*ret));
        f->waiting -= count;
        memmove(f->to_log, f->to_log + count, (size_t)f->waiting * sizeof(*f->to_log));
    }
    pthread_mutex_unlock(&f->lock);
    return count;
}

/* A number is the sample times BAD_SAMPLE_KINDS, plus the kind. */
int bad_samples_unshared(struct bad_samples *f, int64_t *ret, int max, int64_t *ret_left) {
    int count = 0;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; f->fresh > 0 && count < max && i < f->samples; i++)
        for (int kind = 0; f->known[i] != 0 && kind < BAD_SAMPLE_KINDS && count < max; kind++) {
            enum bad_sample_kind k = (enum bad_sample_kind)kind;
            if ((f->known[i] & known_bit(k)) == 0 || (f->known[i] & shared_bit(k)) != 0)
                continue;
            f->known[i] |= shared_bit(k);
            f->fresh--;
            ret[count++] = (int64_t)i * BAD_SAMPLE_KINDS + kind;
        }
    *ret_left = f->fresh;
    pthread_mutex_unlock(&f->lock);
    return count;
}

void bad_samples_learn(struct bad_samples *f, int64_t number) {
    if (number < 0)
        return;
    int64_t sample = number / BAD_SAMPLE_KINDS;
    enum bad_sample_kind kind = (enum bad_sample_kind)(number % BAD_SAMPLE_KINDS);
    pthread_mutex_lock(&f->lock);
    if (add(f, sample, kind)) {
        f->known[sample] |= shared_bit(kind);
    } else if (sample >= 0 && (size_t)sample < f->samples &&
               (f->known[sample] & shared_bit(kind)) == 0) {
        f->known[sample] |= shared_bit(kind); /* found here as well, and not shared yet */
        f->fresh--;
    }
    pthread_mutex_unlock(&f->lock);
}

int64_t bad_samples_next(struct bad_samples *f, enum bad_sample_kind kind, int64_t from) {
    int64_t found = -1;
    pthread_mutex_lock(&f->lock);
    for (int64_t i = from; found < 0 && (size_t)i < f->samples; i++)
        if ((f->known[i] & known_bit(kind)) != 0)
            found = i;
    pthread_mutex_unlock(&f->lock);
    return found;
}
