/* Jobs that need plugins are tested in tests/system/test_devices.sh. */
#include "entrypoint/host/plugin_trial.h"

#include "entrypoint/job/job.h"
#include "tests/support/unit.h"

static void a_job_that_needs_no_plugin_starts_nothing(void) {
    struct cluster_host host = {.name = {"a"}, .slots = 1};
    struct job job = {.cluster = {.hosts = &host, .count = 1, .instance_type = ""},
                      .settings = {.base_dir = unit_temp_dir()}};
    char plugin[] = "NCCL_NET_PLUGIN=none";
    char *environment[] = {plugin, NULL};
    struct device_probe probe = {0};
    const struct services services = {.job = &job, .environment = environment};
    plugin_trial_start(&probe, &services);
    CU_ASSERT_PTR_NULL(probe.part);
    device_probe_close(&probe);
}

UNIT_SUITE("host.plugin_trial", UNIT(a_job_that_needs_no_plugin_starts_nothing))
