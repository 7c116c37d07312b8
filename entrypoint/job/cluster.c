#include "job/cluster.h"

#include "job/cluster_env.h"
#include "job/interface.h"
#include "job/resource_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cluster_done(struct cluster *c) {
    free(c->hosts);
    json_decref(c->resource_config);
    *c = (struct cluster){0};
}

int cluster_add(struct cluster *c, const struct host_name *name, unsigned slots,
                struct error *err) {
    if (c->count == CLUSTER_HOSTS_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "more than %d hosts", CLUSTER_HOSTS_MAX);
    if (cluster_find(c, name) >= 0)
        return error_set(err, EXIT_CODE_CONFIG, "the host \"%s\" is listed twice", name->text);
    struct cluster_host *hosts = realloc(c->hosts, (c->count + 1) * sizeof(*hosts));
    if (hosts == NULL)
        return error_no_memory(err, "the list of hosts");
    c->hosts = hosts;
    c->hosts[c->count++] = (struct cluster_host){.name = *name, .slots = slots};
    return 0;
}

static int compare_hosts(const void *a, const void *b) {
    const struct cluster_host *first = a;
    const struct cluster_host *second = b;
    return host_name_compare(&first->name, &second->name);
}

int cluster_finish(struct cluster *c, const struct host_name *self, struct error *err) {
    if (c->count == 0)
        return error_set(err, EXIT_CODE_CONFIG, "the list of hosts is empty");
    qsort(c->hosts, c->count, sizeof(*c->hosts), compare_hosts);
    int index = cluster_find(c, self);
    if (index < 0)
        return error_set(err, EXIT_CODE_CONFIG, "this host, \"%s\", is not in the list of hosts",
                         self->text);
    c->self = (size_t)index;
    return 0;
}

int cluster_find(const struct cluster *c, const struct host_name *name) {
    for (size_t i = 0; i < c->count; i++)
        if (host_name_equal(&c->hosts[i].name, name))
            return (int)i;
    return -1;
}

size_t cluster_hosts_left(const struct cluster *c) {
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++)
        left += !c->hosts[i].gone;
    return left;
}

size_t cluster_ranks(const struct cluster *c) {
    size_t ranks = 0;
    for (size_t i = 0; i < c->count; i++)
        ranks += c->hosts[i].gone ? 0 : c->hosts[i].slots;
    return ranks;
}

size_t cluster_host_of_rank(const struct cluster *c, size_t rank) {
    size_t host = 0;
    for (; host + 1 < c->count && (c->hosts[host].gone || rank >= c->hosts[host].slots); host++)
        rank -= c->hosts[host].gone ? 0 : c->hosts[host].slots;
    return host;
}

void cluster_drop(struct cluster *c, size_t host) {
    c->hosts[host].gone = true;
}

unsigned cluster_most_slots(const struct cluster *c) {
    unsigned most = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->hosts[i].slots > most)
            most = c->hosts[i].slots;
    return most;
}

void cluster_fill_slots(struct cluster *c, unsigned slots) {
    for (size_t i = 0; i < c->count; i++)
        if (c->hosts[i].slots == 0)
            c->hosts[i].slots = slots;
}

/* A kernel name that is not a host name (an underscore in it, say) does not stop a host alone. */
static int read_alone(struct cluster *ret, struct error *err) {
    struct own_names own;
    if (own_names_read(&own, err) != 0)
        return -1;
    struct host_name name = {"localhost"};
    if (own.has_kernel_name)
        name = own.names[0];
    ret->source = CLUSTER_ALONE;
    return cluster_add(ret, &name, 0, err) == 0 ? cluster_finish(ret, &name, err) : -1;
}

static int read_variables(const struct settings *settings, struct cluster *ret, struct error *err) {
    struct own_names own;
    if (own_names_read(&own, err) != 0)
        return -1;
    return cluster_env_parse(settings->hosts, settings->host, &own, ret, err);
}

static int read_description(const struct settings *settings, struct cluster *ret,
                            struct error *err) {
    if (settings->hosts != NULL)
        return read_variables(settings, ret, err);
    if (settings->host != NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_HOST is set but RINGMASTER_HOSTS, the "
                         "list it belongs to, is not");
    char path[PATH_MAX];
    int length =
        snprintf(path, sizeof(path), "%s/input/config/resourceconfig.json", settings->base_dir);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error_set(err, EXIT_CODE_CONFIG, "SAGEMAKER_BASE_DIR is too long");
    int read = resource_config_read(path, ret, err);
    return read == 1 ? read_alone(ret, err) : read;
}

/* Job names end up in logs and file names of others. */
static int set_job(struct cluster *c, const char *job, struct error *err) {
    size_t good = strspn(job, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (job[0] == '\0' || job[good] != '\0' || good >= sizeof(c->job))
        return error_set(err, EXIT_CODE_CONFIG,
                         "the job's name \"%.64s\" is not 1 to %d letters, digits, '.', '_' or "
                         "'-'",
                         job, CLUSTER_JOB_SIZE - 1);
    memcpy(c->job, job, good + 1);
    return 0;
}

static int read_all(const struct settings *settings, const char *job, struct cluster *ret,
                    struct error *err) {
    if (read_description(settings, ret, err) != 0)
        return -1;
    if (settings->interface != NULL) {
        if (interface_check_name(settings->interface, err) != 0)
            return error_wrap(err, "RINGMASTER_INTERFACE");
        snprintf(ret->interface, sizeof(ret->interface), "%s", settings->interface);
    }
    if (settings->job != NULL)
        job = settings->job;
    return set_job(ret, job != NULL ? job : "ringmaster", err);
}

int cluster_read(const struct settings *settings, const char *job, struct cluster *ret,
                 struct error *err) {
    *ret = (struct cluster){0};
    if (read_all(settings, job, ret, err) == 0)
        return 0;
    cluster_done(ret);
    return -1;
}
