#include "entrypoint/job/platform.h"

#include "common/argv.h"
#include "entrypoint/job/cluster/local_names.h"
#include "entrypoint/job/cluster/platform_sagemaker.h"
#include "entrypoint/job/cluster/platform_table.h"
#include "entrypoint/job/cluster/platform_variables.h"
#include "entrypoint/job/machine/interface.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static int read_variables(const struct settings *settings, char *const *environment,
                          struct platform_description *ret, struct error *err) {
    (void)environment;
    struct local_names own;
    if (settings->hosts == NULL && settings->host != NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_HOST is set but RINGMASTER_HOSTS, the "
                         "list it belongs to, is not");
    if (settings->hosts == NULL)
        return 1;
    if (local_names_read(&own, err) != 0)
        return -1;
    return platform_variables_parse(settings->hosts, settings->host, &own, ret, err);
}

static int read_sagemaker(const struct settings *settings, char *const *environment,
                          struct platform_description *ret, struct error *err) {
    (void)environment;
    char path[PATH_MAX];
    int length =
        snprintf(path, sizeof(path), "%s/input/config/resourceconfig.json", settings->base_dir);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error_set(
            err, EXIT_CODE_CONFIG,
            "SAGEMAKER_BASE_DIR, %.64s..., is too long: a path below it has more than %d bytes",
            settings->base_dir, PATH_MAX - 1);
    return platform_sagemaker_read(path, ret, err);
}

static int read_table(const struct settings *settings, char *const *environment,
                      struct platform_description *ret, struct error *err) {
    struct local_names own;
    if (settings->platform != NULL && strcmp(settings->platform, "none") == 0)
        return 1;
    if (local_names_read(&own, err) != 0)
        return -1;
    return platform_table_read(environment, settings->platform, &own, ret, err);
}

/* If the kernel name is not a valid host name (because of an underscore, say), a single host runs
 * all the same. */
static int read_alone(const struct settings *settings, char *const *environment,
                      struct platform_description *ret, struct error *err) {
    (void)environment;
    struct local_names own;
    (void)settings;
    if (local_names_read(&own, err) != 0)
        return -1;
    ret->source = CLUSTER_ALONE;
    ret->hosts_key = ret->self_key = "this host";
    ret->self = own.has_kernel_name ? own.names[0] : (struct host_name){"localhost"};
    return platform_description_add(ret, &ret->self, ret->alone_slots, err);
}

/* Reads one platform's description. Returns 1 if there is none. */
typedef int reader(const struct settings *settings, char *const *environment,
                   struct platform_description *ret, struct error *err);
static reader *const readers[] = {read_variables, read_sagemaker, read_table, read_alone};

/* Keeps what a platform tells about a host that has no others. The host then uses its own name. */
static void keep_alone(struct platform_description *d) {
    struct platform_description kept = {.alone_slots = d->count == 1 ? d->hosts[0].slots : 0,
                                        .grace = d->grace,
                                        .ends = d->ends,
                                        .before = d->before};
    memcpy(kept.job, d->job, sizeof(kept.job));
    platform_description_done(d);
    *d = kept;
}

static int read_first(const struct settings *settings, char *const *environment,
                      struct platform_description *ret, struct error *err) {
    int read = 1;
    for (size_t i = 0; read == 1 && i < sizeof(readers) / sizeof(readers[0]); i++) {
        keep_alone(ret);
        read = readers[i](settings, environment, ret, err);
    }
    return read;
}

/* Kubernetes stops a pod in this time, whichever platform describes its hosts. */
static void take_grace(char *const *environment, struct platform_description *ret) {
    if (ret->grace == 0 && env_get(environment, "KUBERNETES_SERVICE_HOST") != NULL)
        ret->grace = PLATFORM_GRACE_KUBERNETES;
}

static int take_interface(const char *name, struct platform_description *ret, struct error *err) {
    if (name == NULL)
        return 0;
    if (interface_check_name(name, err) != 0)
        return error_wrap(err, "RINGMASTER_INTERFACE");
    (void)snprintf(ret->interface, sizeof(ret->interface), "%s", name);
    return 0;
}

static const char *job_name(const struct settings *settings, const char *given,
                            const struct platform_description *d) {
    if (settings->job != NULL)
        return settings->job;
    if (given != NULL)
        return given;
    return d->job[0] != '\0' ? d->job : "ringmaster";
}

int platform_read(const struct settings *settings, char *const *environment, const char *job,
                  struct cluster *ret, struct error *err) {
    struct platform_description d = {0};
    *ret = (struct cluster){0};
    int result = -1;
    if (read_first(settings, environment, &d, err) == 0 &&
        take_interface(settings->interface, &d, err) == 0) {
        take_grace(environment, &d);
        result = cluster_make(&d, job_name(settings, job, &d), ret, err);
    }
    platform_description_done(&d);
    return result;
}
