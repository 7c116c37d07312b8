#include "entrypoint/host/host_proof.h"

#include "common/json.h"
#include "common/log.h"
#include "entrypoint/wire/frame.h"

static void proved(void *context, const struct error *fault) {
    struct host_proof *p = context;
    json_t *message = frame_new("proved");
    (void)json_object_set_new(message, "step", json_integer(p->proving.step));
    (void)json_object_set_new(message, "word", json_string(p->word));
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string_any(fault->text));
    p->tell(p->context, message);
}

static void removed(void *context, const struct error *fault) {
    (void)context;
    if (fault != NULL)
        log_warning("%s", fault->text);
}

static void take_step(struct host_proof *p, enum proving_step step, size_t of, const char *word) {
    struct error err = {0};
    struct proving_options options = {.loop = p->loop,
                                      .reaper = p->reaper,
                                      .base = p->job->settings.base_dir,
                                      .run = p->run,
                                      .host = of,
                                      .hosts = p->job->cluster.count,
                                      .step = step,
                                      .word = step == PROVING_WRITE ? p->word : word,
                                      .done = step == PROVING_REMOVE ? removed : proved,
                                      .context = p};
    if ((step == PROVING_WRITE && proving_word(p->word, &err) != 0) ||
        proving_start(&p->proving, &options, &err) != 0)
        options.done(p, &err);
}

void host_proof_step(struct host_proof *p, const json_t *order) {
    const char *word = json_string_value(json_object_get(order, "word"));
    json_int_t step = json_integer_value(json_object_get(order, "step"));
    json_int_t of = json_integer_value(json_object_get(order, "of"));
    if (step >= PROVING_WRITE && step <= PROVING_REMOVE && of >= 0 && word != NULL)
        take_step(p, (enum proving_step)step, (size_t)of, word);
}

bool host_proof_end(struct host_proof *p) {
    bool is_there = p->word[0] != '\0' && p->proving.step != PROVING_REMOVE;
    if (is_there)
        take_step(p, PROVING_REMOVE, p->job->cluster.self, "");
    return is_there;
}

void host_proof_close(struct host_proof *p) {
    proving_close(&p->proving);
}
