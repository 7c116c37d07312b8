/* A host's part in showing that all share the folder of checkpoints (proving.h). */
#include "common/json.h"
#include "common/log.h"
#include "host/host.h"
#include "wire/frame.h"

static void proved(void *context, const struct error *fault) {
    struct host *h = context;
    json_t *message = frame_new("proved");
    (void)json_object_set_new(message, "step", json_integer(h->proving.step));
    (void)json_object_set_new(message, "word", json_string(h->word));
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string_any(fault->text));
    host_tell(h, message);
}

static void removed(void *context, const struct error *fault) {
    (void)context;
    if (fault != NULL)
        log_warning("%s", fault->text);
}

static void take_step(struct host *h, enum proving_step step, size_t of, const char *word) {
    struct error err = {0};
    struct proving_options options = {.loop = h->loop,
                                      .reaper = h->reaper,
                                      .base = h->job->settings.base_dir,
                                      .run = h->run,
                                      .host = of,
                                      .hosts = h->job->cluster.count,
                                      .step = step,
                                      .word = step == PROVING_WRITE ? h->word : word,
                                      .done = step == PROVING_REMOVE ? removed : proved,
                                      .context = h};
    if ((step == PROVING_WRITE && proving_word(h->word, &err) != 0) ||
        proving_start(&h->proving, &options, &err) != 0)
        options.done(h, &err);
}

void host_prove(struct host *h, const json_t *order) {
    const char *word = json_string_value(json_object_get(order, "word"));
    json_int_t step = json_integer_value(json_object_get(order, "step"));
    json_int_t of = json_integer_value(json_object_get(order, "of"));
    if (step >= PROVING_WRITE && step <= PROVING_REMOVE && of >= 0 && word != NULL)
        take_step(h, (enum proving_step)step, (size_t)of, word);
}

bool host_end_proof(struct host *h) {
    bool is_there = h->word[0] != '\0' && h->proving.step != PROVING_REMOVE;
    if (is_there)
        take_step(h, PROVING_REMOVE, h->job->cluster.self, "");
    return is_there;
}
