#include "trainer/app/task/detect_rules_io.h"

#include "trainer/models/detect_preset.h"

#include <stdio.h>

_Static_assert((int)DETECT_RULES <= (int)MODEL_RULES_MAX, "the model's description");

int detect_settle_rules(struct detect_rules *ret, const char *preset,
                        const struct task_request *request, struct error *err) {
    const struct model_config *trained = request->trained;
    *ret = detect_preset_find(preset)->rules;
    if (trained == NULL && request->options->norm_epsilon >= 0)
        ret->value[RULE_NORM_EPSILON] = request->options->norm_epsilon;
    else if (trained != NULL || request->options->init == NULL)
        ret->value[RULE_NORM_EPSILON] = DETECT_NORM_EPSILON;
    for (size_t i = 0; trained != NULL && i < trained->rule_count; i++)
        if (detect_rules_set(ret, trained->rules[i].name, trained->rules[i].value, err) != 0)
            return error_wrap(err, "%s/config.json: \"rules\"", request->inputs->model);
    return 0;
}

void detect_describe_rules(const struct detect_rules *rules, struct model_config *ret) {
    ret->rule_count = DETECT_RULES;
    for (int r = 0; r < DETECT_RULES; r++) {
        const char *name = detect_rule_name((enum detect_rule)r);
        (void)snprintf(ret->rules[r].name, sizeof(ret->rules[r].name), "%s", name);
        ret->rules[r].value = rules->value[r];
    }
}

void detect_complete_rules(struct model_config *config) {
    const struct detect_preset *preset =
        config->preset != NULL ? detect_preset_find(config->preset) : NULL;
    if (preset == NULL || config->rule_count > 0)
        return;
    struct detect_rules rules = preset->rules;
    rules.value[RULE_NORM_EPSILON] = DETECT_NORM_EPSILON;
    detect_describe_rules(&rules, config);
}

/* The canvas plan determines the order of an epoch, and also depends on the validation set. */
int detect_record(const struct task_data *data, struct buf *out, struct error *err) {
    const struct model_objects *objects = &data->objects;
    const struct sample_health *samples = &data->training;
    if (buf_printf(out, err, " norms=%s frozen=%d canvas-plan=",
                   objects->frozen_norms ? "constant" : "trained", objects->frozen_stages) != 0)
        return -1;
    for (int i = 0; i < samples->canvas_count; i++)
        if (buf_printf(out, err, "%s%dx%d", i > 0 ? "," : "", samples->canvases[i].height,
                       samples->canvases[i].width) != 0)
            return -1;
    return 0;
}

/* Weights of one preset are useless with another, which uses other pixel values; and frozen
 * parameters have no momentum to resume with. */
const struct task_fixed DETECT_FIXED[] = {{"preset", "of --preset", false},
                                          {"norms", "of a network with norms that are", true},
                                          {"frozen", "of a training with --frozen-stages", true},
                                          {NULL, NULL, false}};
