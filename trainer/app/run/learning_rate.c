#include "trainer/app/run/learning_rate.h"

#include "common/str.h"
#include "trainer/app/options/recipe.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Options give epochs, a peak and rules by batch; the schedule has steps and rates. This file is
 * the translation, with all checks that need both.
 *
 * It runs twice: learning_rate_check before the data is opened, with an epoch of a made-up length,
 * and learning_rate_settle in training_run.c once the real length is known. A mistake in the flags
 * then costs seconds instead of the scan of a data set.
 *
 * Messages come in two kinds. A combination of flags that has no meaning is an error; one that has
 * a meaning but no effect in this run is text for a warning. */

/* Epochs of a milestone at most, and bytes of one as text with its NUL. */
enum { EPOCHS_MAX = 1000000, WORD_SIZE = 32 };

/* Steps of an epoch that is long enough for every part of it. It keeps rounding from making two
 * milestones equal, or a run too short for a one-cycle schedule, before the true length is
 * known. */
enum { LONG_EPOCH = 1000000 };

/* Parses "8,11": epochs, fractions allowed, in increasing order. Milestones become steps by
 * rounding to the nearest one. Two that round to the same step are refused, as the rate would fall
 * twice at once. */
static int read_milestones(struct schedule *s, const char *text, int64_t steps_per_epoch,
                           struct error *err) {
    for (const char *at = text; *at != '\0';) {
        char word[WORD_SIZE] = "";
        size_t size = strcspn(at, ",");
        double epoch = 0;
        if (s->milestone_count == SCHEDULE_MILESTONES_MAX)
            return error_set(err, EXIT_CODE_USAGE, "--milestones: more than %d epochs",
                             SCHEDULE_MILESTONES_MAX);
        /* A longer word stays empty, and the next test refuses it with its own text. */
        if (size < sizeof(word))
            memcpy(word, at, size);
        if (size >= sizeof(word) || str_parse_double(word, 0, EPOCHS_MAX, &epoch, NULL) != 0)
            return error_set(err, EXIT_CODE_USAGE,
                             "--milestones: '%.*s' is not an epoch from 0 to %d", (int)size, at,
                             EPOCHS_MAX);
        int64_t step = llround(epoch * (double)steps_per_epoch);
        if (s->milestone_count > 0 && step <= s->milestones[s->milestone_count - 1])
            return error_set(err, EXIT_CODE_USAGE,
                             "--milestones: %s must be at least one step after the one before it",
                             word);
        s->milestones[s->milestone_count++] = step;
        at += size + (at[size] == ',');
    }
    return 0;
}

/* Returns true for the schedules that end at a rate of their own choice, --lr-end. */
static bool has_end(const struct schedule *s) {
    return s->kind == SCHEDULE_POLY2 || s->kind == SCHEDULE_COSINE;
}

/* A one-cycle schedule contains its own rise, so a warm-up before it would be a second one;
 * SCHEDULE_ONE_CYCLE_LEAST is the shortest run that schedule.c can compute. */
static int check_one_cycle(const struct schedule *s, struct error *err) {
    if (s->warmup_steps > 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--schedule one-cycle begins with a rise of its own; leave "
                         "--warmup-epochs and --warmup-steps out");
    if (s->total_steps < SCHEDULE_ONE_CYCLE_LEAST)
        return error_set(err, EXIT_CODE_USAGE,
                         "--schedule one-cycle needs at least %d steps; this run has %" PRId64,
                         SCHEDULE_ONE_CYCLE_LEAST, s->total_steps);
    return 0;
}

/* Rates that are given as they are, beside the peak, which depends on the images a step. */
static int check_rates(const struct schedule *s, const struct options *o, struct error *err) {
    if (o->warmup_lr > 0 && o->warmup_from > 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--warmup-from %g and --warmup-lr %g both say where the warm-up begins; "
                         "give one of them",
                         o->warmup_from, o->warmup_lr);
    if (o->lr_end > 0 && !has_end(s))
        return error_set(err, EXIT_CODE_USAGE,
                         "--lr-end needs --schedule poly2 or cosine; the others end where their "
                         "formula does");
    if (o->lr_end > s->peak)
        return error_set(err, EXIT_CODE_USAGE,
                         "--lr-end %g is above the peak, %g for the images of this job a step; "
                         "lower it, or raise --lr",
                         o->lr_end, s->peak);
    return s->kind == SCHEDULE_ONE_CYCLE ? check_one_cycle(s, err) : 0;
}

/* --steps takes precedence over --epochs, and --warmup-steps over --warmup-epochs. A recipe's rule
 * by batch size takes precedence over the flags it stands for, and is then not scaled unless
 * --lr-batch asks for it. */
int learning_rate_settle(struct schedule *ret, const struct options *o, int64_t steps_per_epoch,
                         int64_t global_batch, struct error *err) {
    const struct recipe_rate *by = recipe_rate_for(o->lr_by_batch, global_batch);
    const struct recipe_rate *warm = recipe_rate_for(o->warmup_by_batch, global_batch);
    const double warmup_epochs = warm != NULL ? warm->warmup_epochs : o->warmup_epochs;
    int64_t total = o->steps > 0 ? o->steps : o->epochs * steps_per_epoch;
    int64_t warmup =
        o->warmup_steps > 0 ? o->warmup_steps : llround(warmup_epochs * (double)steps_per_epoch);
    *ret = (struct schedule){
        .kind = (enum schedule_kind)o->schedule,
        .peak = schedule_scale(by != NULL ? by->lr : o->lr, o->lr_batch, global_batch),
        .warmup_steps = warmup,
        .total_steps = total,
        .warmup_from = o->warmup_from,
        .factor = o->milestone_factor,
        .end = o->lr_end,
    };
    if (check_rates(ret, o, err) != 0)
        return -1;
    /* The schedule takes the start of the warm-up as a fraction of the peak. A start above the peak
     * is clipped to it, and warm_up_text warns. */
    if (o->warmup_lr > 0)
        ret->warmup_from = o->warmup_lr < ret->peak ? o->warmup_lr / ret->peak : 1;
    if (o->milestones != NULL && o->schedule != SCHEDULE_MILESTONES)
        return error_set(err, EXIT_CODE_USAGE, "--milestones needs --schedule milestones");
    if (o->schedule != SCHEDULE_MILESTONES)
        return 0;
    if (o->milestones == NULL || o->milestones[0] == '\0')
        return error_set(
            err, EXIT_CODE_USAGE,
            "--schedule milestones needs --milestones, the epochs at which the rate falls");
    return read_milestones(ret, o->milestones, steps_per_epoch, err);
}

/* Only the return value matters; the schedule is thrown away. */
int learning_rate_check(const struct options *o, int64_t global_batch, struct error *err) {
    struct schedule unused;
    return learning_rate_settle(&unused, o, LONG_EPOCH, global_batch, err);
}

/* "--recipe mlperf-resnet for 16384 images a step: --lr 25 --warmup-epochs 5" Tells which numbers a
 * recipe's rule chose for the images a step, in the words of the flags that would give the same. */
static int rule_text(struct buf *out, const struct options *o, int64_t global_batch,
                     struct error *err) {
    const struct recipe_rate *by = recipe_rate_for(o->lr_by_batch, global_batch);
    const struct recipe_rate *warm = recipe_rate_for(o->warmup_by_batch, global_batch);
    if (buf_printf(out, err, "--recipe %s for %" PRId64 " images a step:", o->recipe,
                   global_batch) != 0 ||
        (by != NULL && buf_printf(out, err, " --lr %g", by->lr) != 0) ||
        (warm != NULL && buf_printf(out, err, " --warmup-epochs %g", warm->warmup_epochs) != 0))
        return -1;
    return buf_printf(out, err, "\n");
}

int learning_rate_scale_text(struct buf *out, const struct options *o, const struct schedule *s,
                             int64_t global_batch, struct error *err) {
    if (o->lr_by_batch != NULL || o->warmup_by_batch != NULL)
        return rule_text(out, o, global_batch, err);
    /* Nothing was scaled. */
    if (o->lr_batch == 0 || o->lr_batch == global_batch)
        return 0;
    return buf_printf(out, err, "lr %g for %" PRId64 " images a step: %g for %" PRId64 "\n", o->lr,
                      o->lr_batch, s->peak, global_batch);
}

/* The advice depends on the number: a --batch-size is suggested only if the recipe's images divide
 * evenly among ranks and accumulated micro-batches, and if that makes batches smaller. */
int learning_rate_images_text(struct buf *out, const struct options *o, int64_t global_batch,
                              struct error *err) {
    const int64_t shares = global_batch / o->batch_size; /* ranks and --accumulate */
    if (o->lr_images == 0 || o->lr_images == global_batch)
        return 0;
    if (buf_printf(out, err,
                   "--recipe %s: its --lr %g is for %" PRId64 " images a step and does not follow "
                   "them; this job takes %" PRId64 ": give ",
                   o->recipe, o->lr, o->lr_images, global_batch) != 0)
        return -1;
    if (o->lr_images < global_batch && o->lr_images % shares == 0 &&
        buf_printf(out, err, "--batch-size %" PRId64 ", ", o->lr_images / shares) != 0)
        return -1;
    return buf_printf(out, err, "a --lr of your own, or --lr-batch %" PRId64 " to scale it\n",
                      o->lr_images);
}

/* At most one remark on the warm-up, the first that applies. The last one is for a run that ends
 * before its warm-up does. */
static int warm_up_text(struct buf *out, const struct options *o, const struct schedule *s,
                        struct error *err) {
    if (s->warmup_steps == 0 && o->warmup_epochs > 0)
        return buf_printf(out, err,
                          "--warmup-epochs %g is less than half a step: there is no warm-up\n",
                          o->warmup_epochs);
    if (s->warmup_steps == 0 && o->warmup_lr > 0)
        return buf_printf(out, err,
                          "--warmup-lr %g has no effect: neither --warmup-steps nor "
                          "--warmup-epochs asks for a warm-up\n",
                          o->warmup_lr);
    if (o->warmup_lr > s->peak)
        return buf_printf(out, err,
                          "--warmup-lr %g is above the peak, %g for the images of this job a step: "
                          "the warm-up stays at the peak\n",
                          o->warmup_lr, s->peak);
    if (s->warmup_steps == 0 && o->warmup_from > 0)
        return buf_printf(out, err,
                          "--warmup-from %g has no effect: neither --warmup-steps nor "
                          "--warmup-epochs asks for a warm-up\n",
                          o->warmup_from);
    if (s->warmup_steps <= s->total_steps)
        return 0;
    return buf_printf(out, err,
                      "the run ends within its warm-up, after %" PRId64 " of %" PRId64
                      " steps: its last rate is %g, the peak would be %g\n",
                      s->total_steps, s->warmup_steps, schedule_rate(s, s->total_steps - 1),
                      s->peak);
}

/* Milestones beyond the end are no error: a short trial run of a long recipe has them. */
int learning_rate_unreached_text(struct buf *out, const struct options *o, const struct schedule *s,
                                 struct error *err) {
    int late = 0;
    if (warm_up_text(out, o, s, err) != 0)
        return -1;
    for (int i = 0; i < s->milestone_count; i++)
        late += s->milestones[i] >= s->total_steps;
    if (late == 0)
        return 0;
    return buf_printf(out, err,
                      "%d of %d milestones are after the last step, %" PRId64
                      ": the rate does not fall there (--milestones)\n",
                      late, s->milestone_count, s->total_steps);
}
