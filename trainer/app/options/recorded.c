/* What a run's state says of options, and what another value means for a resume. */
#include "trainer/app/options/flag.h"
#include "trainer/app/options/flag_print.h"
#include "trainer/app/options/options.h"

#include <string.h>

struct setting {
    const char *name;
    enum setting_kind kind;
};

/* Options that change the bits of a training: those for which a run's state has a member of its own
 * (run/run_state.c), and those that it records as text. */
static const struct setting APART[] = {
    {"accumulate", SETTING_WAY},    {"batch-size", SETTING_WAY}, {"dtype", SETTING_WAY},
    {"image-size", SETTING_RECIPE}, {"seed", SETTING_RECIPE},
};
static const struct setting RECORDED[] = {
    {"lr", SETTING_RECIPE},
    {"lr-batch", SETTING_RECIPE},
    {"schedule", SETTING_RECIPE},
    {"warmup-epochs", SETTING_RECIPE},
    {"momentum", SETTING_RECIPE},
    {"nesterov", SETTING_RECIPE},
    {"decay-all", SETTING_RECIPE},
    {"augment", SETTING_RECIPE},
    {"weight-decay", SETTING_RECIPE},
    {"label-smoothing", SETTING_RECIPE},
    {"dropout", SETTING_RECIPE},
    {"progressive", SETTING_RECIPE},
    {"flip", SETTING_RECIPE},
    {"min-area", SETTING_RECIPE},
    {"color", SETTING_RECIPE},
    {"blur", SETTING_RECIPE},
    {"loss-scale", SETTING_WAY},
    {"loss-scale-growth", SETTING_WAY},
    {"comm", SETTING_MACHINE},
    {"reduce-dtype", SETTING_WAY},
    {"strategy", SETTING_WAY},
    {"sync-every", SETTING_WAY},
    {"staleness", SETTING_WAY},
    {"milestones", SETTING_RECIPE},
    {"milestone-factor", SETTING_RECIPE},
    {"warmup-steps", SETTING_RECIPE},
    {"warmup-from", SETTING_RECIPE},
    {"optimizer", SETTING_RECIPE},
    {"trust", SETTING_RECIPE},
    {"beta2", SETTING_RECIPE},
    {"epsilon", SETTING_RECIPE},
    {"ema", SETTING_RECIPE},
    {"warmup-lr", SETTING_RECIPE},
    {"lr-end", SETTING_RECIPE},
    {"decay-biases", SETTING_RECIPE},
    {"bias-rate", SETTING_RECIPE},
    {"clip-norm", SETTING_RECIPE},
    {"preset", SETTING_RECIPE},
    {"canvases", SETTING_WAY},
    {"gt-slots", SETTING_RECIPE},
    {"anchor-samples", SETTING_RECIPE},
    {"region-samples", SETTING_RECIPE},
    {"norm-epsilon", SETTING_RECIPE},
    {"short-side", SETTING_RECIPE},
    {"long-side", SETTING_RECIPE},
    {"short-low", SETTING_RECIPE},
    {"short-step", SETTING_RECIPE},
    {"order", SETTING_WAY},
    {"cache-side", SETTING_RECIPE},
    {"lanes", SETTING_WAY},
    {"shuffle-window", SETTING_WAY},
    {"bad-samples", SETTING_WAY},
    {"val-split", SETTING_RECIPE},
    {"mean", SETTING_RECIPE},
    {"std", SETTING_RECIPE},
    {"tf32", SETTING_MACHINE},
    {"convs", SETTING_MACHINE},
    {"own-backward", SETTING_MACHINE},
    {"row-choice", SETTING_MACHINE},
    {"tune", SETTING_MACHINE},
    {"deterministic", SETTING_MACHINE},
};

enum setting_kind options_kind(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof(APART) / sizeof(APART[0]); i++)
        if (strncmp(APART[i].name, name, size) == 0 && APART[i].name[size] == '\0')
            return APART[i].kind;
    for (size_t i = 0; i < sizeof(RECORDED) / sizeof(RECORDED[0]); i++)
        if (strncmp(RECORDED[i].name, name, size) == 0 && RECORDED[i].name[size] == '\0')
            return RECORDED[i].kind;
    return SETTING_MACHINE;
}

static int add_option(struct buf *out, const char *name, const struct options *o,
                      struct error *err) {
    size_t count = 0;
    const struct flag *flags = options_flags(&count);
    if (out->size > 0 && buf_add_text(out, " ", err) != 0)
        return -1;
    return flags_print_value(out, flags, count, name, o, err);
}

int options_record(struct buf *out, const struct options *o, struct error *err) {
    for (size_t i = 0; i < sizeof(RECORDED) / sizeof(RECORDED[0]); i++)
        if (add_option(out, RECORDED[i].name, o, err) != 0)
            return -1;
    return 0;
}

int options_learning(struct buf *out, const struct options *o, struct error *err) {
    if (add_option(out, "epochs", o, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(APART) / sizeof(APART[0]); i++)
        if (add_option(out, APART[i].name, o, err) != 0)
            return -1;
    for (size_t i = 0; i < sizeof(RECORDED) / sizeof(RECORDED[0]); i++)
        if (RECORDED[i].kind == SETTING_RECIPE && add_option(out, RECORDED[i].name, o, err) != 0)
            return -1;
    return 0;
}
