#include "trainer/telemetry/epoch_times.h"

#include "common/clock.h"

static double seconds(int64_t nanoseconds) {
    return (double)nanoseconds / (double)CLOCK_SECOND;
}

void epoch_times_begin(struct epoch_times *t, int64_t now, bool whole) {
    *t = (struct epoch_times){.whole = whole, .begun_at = now};
}

void epoch_times_images(struct epoch_times *t, int64_t images) {
    t->images += images;
}

void epoch_times_add(struct epoch_times *t, enum epoch_part part, int64_t nanoseconds) {
    t->parts[part] += nanoseconds;
}

bool epoch_times_end(struct epoch_times *t, int64_t now, struct epoch_summary *ret) {
    const struct epoch_times ended = *t;
    epoch_times_begin(t, now, true);
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
