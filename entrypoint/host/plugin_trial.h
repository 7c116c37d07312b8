/* NCCL's network plugin, tried while a job begins (preflight/net_plugin.h). Nothing waits for it:
 * what came of it is a line of the log. */
#ifndef ENTRYPOINT_HOST_PLUGIN_TRIAL_H
#define ENTRYPOINT_HOST_PLUGIN_TRIAL_H

#include "entrypoint/host/preflight/device_probe.h"
#include "entrypoint/host/services/services.h"

/* Starts the trial if this job needs a plugin. PROBE may be zeroed; the caller closes it. */
void plugin_trial_start(struct device_probe *probe, const struct services *services);

#endif
