#include "entrypoint/host/failover/shared_dir_check.h"

#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/wire/message.h"

static void proved(void *context, const struct error *fault) {
    struct shared_dir_check *p = context;
    json_t *message = message_new(MESSAGE_DIR_PROBED);
    (void)json_object_set_new(message, "step", json_integer(p->probe.step));
    (void)json_object_set_new(message, "word", json_string(p->word));
    if (fault != NULL)
        (void)json_object_set_new(message, "fault", json_string_any(fault->text));
    p->send(p->context, message);
}

static void removed(void *context, const struct error *fault) {
    (void)context;
    if (fault != NULL)
        log_warning("%s", fault->text);
}

static void take_step(struct shared_dir_check *p, enum shared_dir_probe_step step, size_t of,
                      const char *word) {
    struct error err = {0};
    struct shared_dir_probe_options options = {
        .run = p->run,
        .host = of,
        .step = step,
        .word = step == SHARED_DIR_PROBE_WRITE ? p->word : word,
        .done = step == SHARED_DIR_PROBE_REMOVE ? removed : proved,
        .context = p};
    if ((step == SHARED_DIR_PROBE_WRITE && shared_dir_probe_word(p->word, &err) != 0) ||
        shared_dir_probe_start(&p->probe, p->services, &options, &err) != 0)
        options.done(p, &err);
}

void shared_dir_check_step(struct shared_dir_check *p, const json_t *order) {
    const char *word = json_string_value(json_object_get(order, "word"));
    json_int_t step = json_integer_value(json_object_get(order, "step"));
    json_int_t of = json_integer_value(json_object_get(order, "of"));
    if (step >= SHARED_DIR_PROBE_WRITE && step <= SHARED_DIR_PROBE_REMOVE && of >= 0 &&
        word != NULL)
        take_step(p, (enum shared_dir_probe_step)step, (size_t)of, word);
}

bool shared_dir_check_end(struct shared_dir_check *p) {
    bool is_there = p->word[0] != '\0' && p->probe.step != SHARED_DIR_PROBE_REMOVE;
    if (is_there)
        take_step(p, SHARED_DIR_PROBE_REMOVE, p->services->job->cluster.self, "");
    return is_there;
}

void shared_dir_check_close(struct shared_dir_check *p) {
    shared_dir_probe_close(&p->probe);
}
