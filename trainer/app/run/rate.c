#include "run/rate.h"

#include "common/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EPOCHS_MAX = 1000000, WORD_SIZE = 32 };

/* "8,11": epochs, fractions allowed, each later than the one before. */
static int read_milestones(struct schedule *s, const char *text, int64_t steps_per_epoch,
                           struct error *err) {
    for (const char *at = text; *at != '\0';) {
        char word[WORD_SIZE] = "";
        size_t size = strcspn(at, ",");
        double epoch = 0;
        if (s->milestone_count == SCHEDULE_MILESTONES_MAX)
            return error_set(err, EXIT_CODE_USAGE, "--milestones: more than %d",
                             SCHEDULE_MILESTONES_MAX);
        if (size < sizeof(word))
            memcpy(word, at, size);
        if (size >= sizeof(word) || str_parse_double(word, 0, EPOCHS_MAX, &epoch, NULL) != 0)
            return error_set(err, EXIT_CODE_USAGE, "--milestones: '%.*s' is no epoch from 0 to %d",
                             (int)size, at, EPOCHS_MAX);
        int64_t step = llround(epoch * (double)steps_per_epoch);
        if (s->milestone_count > 0 && step <= s->milestones[s->milestone_count - 1])
            return error_set(err, EXIT_CODE_USAGE,
                             "--milestones: %s comes no step behind the one before", word);
        s->milestones[s->milestone_count++] = step;
        at += size + (at[size] == ',');
    }
    return 0;
}

int rate_settle(struct schedule *ret, const struct options *o, int64_t steps_per_epoch,
                int64_t global_batch, struct error *err) {
    int64_t total = o->steps > 0 ? o->steps : o->epochs * steps_per_epoch;
    int64_t warmup =
        o->warmup_steps > 0 ? o->warmup_steps : llround(o->warmup_epochs * (double)steps_per_epoch);
    *ret = (struct schedule){
        .kind = (enum schedule_kind)o->schedule,
        .peak = schedule_scale(o->lr, o->lr_batch, global_batch),
        .warmup_steps = warmup < total ? warmup : total,
        .total_steps = total,
        .warmup_from = o->warmup_from,
        .factor = o->milestone_factor,
    };
    if (o->milestones != NULL && o->schedule != SCHEDULE_MILESTONES)
        return error_set(err, EXIT_CODE_USAGE,
                         "--milestones is of no use without --schedule milestones");
    if (o->schedule != SCHEDULE_MILESTONES)
        return 0;
    if (o->milestones == NULL || o->milestones[0] == '\0')
        return error_set(err, EXIT_CODE_USAGE,
                         "--schedule milestones: --milestones says at which epochs the rate falls");
    return read_milestones(ret, o->milestones, steps_per_epoch, err);
}
