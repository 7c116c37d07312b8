/* Throughput of a training, and where its time goes. Images a second are counted in the window
 * since the last report, as the average over the whole run would show a slowdown too late, and in
 * each epoch.
 *
 * Pure: the caller passes times in, of clock_now(). */
#ifndef TRAINER_TELEMETRY_SPEED_H
#define TRAINER_TELEMETRY_SPEED_H

#include <stdbool.h>
#include <stdint.h>

/* Time of an epoch that is not spent on training. */
enum epoch_part { EPOCH_CHECKPOINTS, EPOCH_EVALUATIONS, EPOCH_PARTS };

/* What a step waits for. */
enum speed_wait { WAIT_DATA, WAIT_RANKS, SPEED_WAITS };

struct epoch_times {
    bool whole;       /* the epoch has been seen from its beginning */
    int64_t begun_at; /* of the epoch; 0: none has begun */
    int64_t parts[EPOCH_PARTS];
    int64_t images; /* trained on */
};

struct speed {
    int64_t since;               /* start of the window */
    int64_t images;              /* of the window */
    int64_t waited[SPEED_WAITS]; /* in the window */
    struct epoch_times epoch;
};

/* Starts a window. */
void speed_start(struct speed *speed, int64_t now);
/* Adds images that were trained on, to the window and to the epoch. */
void speed_add(struct speed *speed, int64_t images);
/* Adds NANOSECONDS that were spent only waiting for WHAT. */
void speed_wait(struct speed *speed, enum speed_wait what, int64_t nanoseconds);
/* Returns the rate of the window up to NOW and the shares of it spent waiting, 0 for an empty
 * window; starts the next window. */
double speed_report(struct speed *speed, int64_t now, double ret_waited[SPEED_WAITS]);

/* An epoch begins. WHOLE is false if the run continues in the middle of one. */
void speed_begin_epoch(struct speed *speed, int64_t now, bool whole);
/* Adds time of the epoch that was not spent on training. */
void speed_add_part(struct speed *speed, enum epoch_part part, int64_t nanoseconds);

struct epoch_summary {
    double seconds;           /* in all */
    double images_per_second; /* while it trained */
    double checkpoint_seconds;
    double eval_seconds;
};

/* The epoch ends, and the next one begins. Returns false, and fills nothing, if it was not seen
 * from its beginning or has no images. */
bool speed_end_epoch(struct speed *speed, int64_t now, struct epoch_summary *ret);

#endif
