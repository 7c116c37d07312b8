#include "entrypoint/host/plugin_trial.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/preflight/net_plugin.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/job/job.h"

enum { TEXT_SIZE = 512 };

/* A child that was ended with the attempt has found nothing. */
static void plugin_tried(void *context, const json_t *found) {
    char text[TEXT_SIZE];
    (void)context;
    if (json_object_get(found, "lost") != NULL)
        return;
    net_plugin_text(found, text, sizeof(text));
    if (json_object_get(found, "fault") != NULL)
        log_warning("NCCL's network plugin: %s; NCCL uses TCP between hosts", text);
    else
        log_info("NCCL's network plugin: %s", text);
}

void plugin_trial_start(struct device_probe *probe, const struct services *services) {
    struct error err = {0};
    cleanup_argv struct argv environment = {0};
    const struct device_probe_options options = {.part = "plugin",
                                                 .environment = &environment,
                                                 .limit = (NET_PLUGIN_ALL_MS + NET_PLUGIN_LOAD_MS) *
                                                          CLOCK_MILLISECOND,
                                                 .done = plugin_tried};
    if (environment_host(services->job, services->environment, &environment, &err) != 0 ||
        !net_plugin_is_needed("", environment.items))
        return;
    if (device_probe_start(probe, services, &options, &err) != 0)
        log_warning("NCCL's network plugin cannot be tried: %s", err.text);
}
