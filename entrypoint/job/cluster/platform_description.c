#include "entrypoint/job/cluster/platform_description.h"

#include "common/grow.h"

#include <stdlib.h>
#include <string.h>

void platform_description_done(struct platform_description *d) {
    free(d->hosts);
    json_decref(d->resource_config);
    *d = (struct platform_description){0};
}

int platform_description_add(struct platform_description *d, const struct host_name *name,
                             unsigned slots, struct error *err) {
    if (d->count == CLUSTER_HOSTS_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "more than %d hosts", CLUSTER_HOSTS_MAX);
    if (grow_array(&d->hosts, &d->capacity, d->count + 1, sizeof(*d->hosts), "the list of hosts",
                   err) != 0)
        return -1;
    d->hosts[d->count++] = (struct platform_host){.name = *name, .slots = slots};
    return 0;
}

bool platform_variable_fits(const char *variable, const char *pattern) {
    size_t size = strcspn(variable, "=");
    size_t head = strcspn(pattern, "*");
    if (variable[size] != '=' || variable[size + 1] == '\0')
        return false;
    if (pattern[head] == '\0')
        return size == head && memcmp(variable, pattern, size) == 0;
    size_t tail = strlen(pattern) - head - 1;
    return size > head + tail && memcmp(variable, pattern, head) == 0 &&
           memcmp(variable + size - tail, pattern + head + 1, tail) == 0;
}
