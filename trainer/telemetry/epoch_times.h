/* Where the time of an epoch goes: training, checkpoints, evaluations.
 *
 * Pure: the caller passes times in, of clock_now(). */
#ifndef TRAINER_TELEMETRY_EPOCH_TIMES_H
#define TRAINER_TELEMETRY_EPOCH_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum epoch_part { EPOCH_CHECKPOINTS, EPOCH_EVALUATIONS, EPOCH_PARTS };

struct epoch_times {
    bool whole;       /* the epoch has been seen from its beginning */
    int64_t begun_at; /* of the epoch; 0: none has begun */
    int64_t parts[EPOCH_PARTS];
    int64_t images; /* trained on */
};

/* An epoch begins. WHOLE is false if the run goes on in the middle of one. */
void epoch_times_begin(struct epoch_times *t, int64_t now, bool whole);
void epoch_times_images(struct epoch_times *t, int64_t images);
/* Adds time that was not spent on training. */
void epoch_times_add(struct epoch_times *t, enum epoch_part part, int64_t nanoseconds);

struct epoch_summary {
    double seconds;           /* in all */
    double images_per_second; /* while it trained */
    double checkpoint_seconds;
    double eval_seconds;
};

/* The epoch ends, and the next one begins. Returns false, and fills nothing, if it was not seen
 * from its beginning or has no images. */
bool epoch_times_end(struct epoch_times *t, int64_t now, struct epoch_summary *ret);

#endif
