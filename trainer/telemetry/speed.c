#include "trainer/telemetry/speed.h"

#include "common/clock.h"

static double seconds(int64_t nanoseconds) {
    return (double)nanoseconds / (double)CLOCK_SECOND;
}

void speed_start(struct speed *speed, int64_t now) {
    *speed = (struct speed){.since = now, .epoch = speed->epoch};
}

void speed_add(struct speed *speed, int64_t images) {
    speed->images += images;
    speed->epoch.images += images;
}

void speed_wait(struct speed *speed, enum speed_wait what, int64_t nanoseconds) {
    speed->waited[what] += nanoseconds;
}

double speed_report(struct speed *speed, int64_t now, double ret_waited[SPEED_WAITS]) {
    int64_t passed = now - speed->since;
    for (int i = 0; i < SPEED_WAITS; i++)
        ret_waited[i] = passed > 0 ? (double)speed->waited[i] / (double)passed : 0;
    double rate = passed > 0 ? (double)speed->images * CLOCK_SECOND / (double)passed : 0;
    speed_start(speed, now);
    return rate;
}

void speed_begin_epoch(struct speed *speed, int64_t now, bool whole) {
    speed->epoch = (struct epoch_times){.whole = whole, .begun_at = now};
}

void speed_add_part(struct speed *speed, enum epoch_part part, int64_t nanoseconds) {
    speed->epoch.parts[part] += nanoseconds;
}

bool speed_end_epoch(struct speed *speed, int64_t now, struct epoch_summary *ret) {
    const struct epoch_times ended = speed->epoch;
    speed_begin_epoch(speed, now, true);
    if (!ended.whole || ended.images == 0)
        return false;
    const int64_t all = now - ended.begun_at;
    const int64_t training = all - ended.parts[EPOCH_CHECKPOINTS] - ended.parts[EPOCH_EVALUATIONS];
    *ret = (struct epoch_summary){
        .seconds = seconds(all),
        .images_per_second = training > 0 ? (double)ended.images / seconds(training) : 0,
        .checkpoint_seconds = seconds(ended.parts[EPOCH_CHECKPOINTS]),
        .eval_seconds = seconds(ended.parts[EPOCH_EVALUATIONS]),
    };
    return true;
}
