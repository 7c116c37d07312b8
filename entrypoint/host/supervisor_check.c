/* The supervisor's part in `ringmaster check`. It works on struct supervisor, which has parts of
 * host/preflight as members, and so lies above that room. */
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/wire/message.h"

uint16_t supervisor_examine_port(struct supervisor *s) {
    struct error err = {0};
    if (!s->check || s->fault.code != 0 || s->examine_port != 0)
        return s->examine_port;
    if (preflight_probe_listen(&s->preflight_probe, &s->host.interface.address, &s->job->ports,
                               &s->examine_port, &err) != 0)
        log_warning("other hosts cannot connect to this one: %s", err.text);
    return s->examine_port;
}

static json_t *warnings_json(const struct warnings *w) {
    json_t *list = json_array();
    for (size_t i = 0; i < w->count; i++)
        (void)json_array_append_new(list, json_string_any(w->text[i]));
    return list;
}

static void examined(void *context, const json_t *found) {
    struct supervisor *s = context;
    json_t *message = message_new(MESSAGE_EXAMINED);
    json_t *own = json_deep_copy(found);
    (void)json_object_set_new(own, "warnings", warnings_json(&s->job->warnings));
    (void)json_object_set_new(message, "found", own);
    s->role->send(s->state, message);
}

static void report_fault(struct supervisor *s, const char *text) {
    cleanup_json json_t *found = json_pack("{s:o}", "fault", json_string_any(text));
    examined(s, found);
}

void supervisor_examine(struct supervisor *s, const json_t *order) {
    struct error err = {0};
    cleanup_argv struct argv environment = {0};
    bool known = environment_host(s->job, s->environment, &environment, NULL) == 0;
    const struct preflight_probe_options options = {.interface = s->host.interface.name,
                                                    .order = order,
                                                    .environment = known ? &environment : NULL,
                                                    .done = examined,
                                                    .context = s};
    if (s->preflight_probe.services != NULL)
        return; /* a check is already running */
    if (!s->check)
        report_fault(s, "it was started for a job, not for a check");
    else if (preflight_probe_start(&s->preflight_probe, &s->services, &options, &err) != 0)
        report_fault(s, err.text);
}
