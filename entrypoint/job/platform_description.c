#include "job/platform_description.h"

#include <stdlib.h>

void platform_description_done(struct platform_description *d) {
    free(d->hosts);
    json_decref(d->resource_config);
    *d = (struct platform_description){0};
}

int platform_description_add(struct platform_description *d, const struct host_name *name,
                             unsigned slots, struct error *err) {
    if (d->count == CLUSTER_HOSTS_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "more than %d hosts", CLUSTER_HOSTS_MAX);
    struct platform_host *hosts = realloc(d->hosts, (d->count + 1) * sizeof(*hosts));
    if (hosts == NULL)
        return error_no_memory(err, "the list of hosts");
    d->hosts = hosts;
    d->hosts[d->count++] = (struct platform_host){.name = *name, .slots = slots};
    return 0;
}
