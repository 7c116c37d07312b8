#include "entrypoint/job/job.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/redact.h"
#include "common/run_id.h"
#include "common/str.h"
#include "entrypoint/job/cluster/platform_unsupported.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/job/machine/efa.h"
#include "entrypoint/job/platform.h"
#include "entrypoint/job/sagemaker/instance_groups.h"
#include "entrypoint/job/upload_targets.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void job_done(struct job *j) {
    cluster_done(&j->cluster);
    mpi_options_done(&j->mpi_options);
    hyperparameters_done(&j->hyperparameters);
    channels_done(&j->channels);
    metric_definitions_done(&j->metrics);
    program_done(&j->program);
}

/* BASE/input/config/NAME. */
static int config_path(const struct job *j, const char *name, char path[PATH_MAX],
                       struct error *err) {
    int size = snprintf(path, PATH_MAX, "%s/input/config/%s", j->settings.base_dir, name);
    if (size < 0 || size >= PATH_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "SAGEMAKER_BASE_DIR is too long");
    return 0;
}

static unsigned first_of(unsigned a, unsigned b, unsigned c) {
    return a > 0 ? a : b > 0 ? b : c;
}

static unsigned at_most(unsigned a, unsigned most) {
    return a < most ? a : most;
}

unsigned job_slots(const struct mpi_options *w, size_t hosts, const char *root) {
    char dev[PATH_MAX];
    char sysfs[PATH_MAX];
    (void)snprintf(dev, sizeof(dev), "%s/dev", root);
    (void)snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
    unsigned slots = first_of(w->slots, accelerators_gpus(dev), accelerators_neurons(sysfs));
    unsigned needed = (w->ranks + (unsigned)hosts - 1) / (unsigned)hosts;
    if (w->slots == 0 && needed > slots)
        slots = needed;
    return at_most(slots > 0 ? slots : 1, CLUSTER_SLOTS_MAX);
}

/* A host's slots: one where the program is to run once a host, else RINGMASTER_HOSTS, else what
 * job_slots() says. */
static int fill_slots(struct job *j, bool plain, struct error *err) {
    const struct mpi_options *w = &j->mpi_options;
    if (j->once_per_host)
        cluster_set_slots(&j->cluster, 1);
    if (plain) {
        cluster_fill_slots(&j->cluster, 1);
        return 0;
    }
    cluster_fill_slots(&j->cluster, job_slots(w, j->cluster.count, ""));
    if (w->ranks > 0 && cluster_limit_ranks(&j->cluster, w->ranks, err) != 0)
        return error_wrap(err, "the hyperparameter sagemaker_mpi_num_processes");
    return 0;
}

/* Hyperparameters that are secrets by their names stay out of logs and failure file. */
static int redact_secrets(const struct hyperparameters *h, struct error *err) {
    for (size_t i = 0; i < h->count; i++)
        if (redact_is_secret_name(h->items[i].name) &&
            (redact_add(h->items[i].text, err) != 0 ||
             (h->items[i].flag != NULL && redact_add(h->items[i].flag, err) != 0)))
            return -1;
    return 0;
}

/* What goes wrong in front of the cluster is kept, the first of it, and the cluster is read all the
 * same: a host that cannot run joins the others and tells them why, where they would otherwise wait
 * for it in vain. */
static int read_wishes(struct job *j, char *const *environment, struct error *err) {
    char path[PATH_MAX];
    struct error later;
    int result = settings_parse(environment, &j->settings, &j->warnings, err);
    if (config_path(j, "hyperparameters.json", path, result == 0 ? err : &later) != 0 ||
        hyperparameters_read(path, &j->hyperparameters, result == 0 ? err : &later) != 0 ||
        redact_secrets(&j->hyperparameters, result == 0 ? err : &later) != 0 ||
        mpi_options_read(&j->hyperparameters, &j->mpi_options, result == 0 ? err : &later) != 0)
        result = -1;
    return result;
}

/* What goes on without its first host needs somebody who lets it. */
static int check_failover(const struct settings *s, const struct cluster *c, struct error *err) {
    if (!s->failover)
        return 0;
    if (!s->shrink || s->restarts == 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_FAILOVER=1 needs %s: going on without the first host is a "
                         "restart without a lost host",
                         s->shrink ? "RINGMASTER_RESTARTS" : "RINGMASTER_SHRINK=1");
    if (c->ends_with != NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "RINGMASTER_FAILOVER=1: the platform, %s, ends a job with its first "
                         "host's container, so that no other host can go on",
                         c->ends_with);
    return 0;
}

static const char *job_name(const struct job *j, char *const *environment) {
    const char *name = env_get(environment, "TRAINING_JOB_NAME");
    return name != NULL && name[0] != '\0'
               ? name
               : hyperparameters_get(&j->hyperparameters, "sagemaker_job_name");
}

static int read_cluster(struct job *j, char *const *environment, struct error *err) {
    if (platform_read(&j->settings, environment, job_name(j, environment), &j->cluster, err) != 0)
        return -1;
    bool told = j->cluster.source != CLUSTER_ALONE || j->settings.platform != NULL;
    if (!told && platform_unsupported_check(environment, &j->warnings, err) != 0)
        return -1;
    struct error slots;
    bool plain = false;
    size_t listed = j->cluster.count;
    int filled = instance_groups_choose(&j->mpi_options, &j->cluster, &plain, &slots);
    if (j->cluster.count < listed)
        (void)snprintf(j->part, sizeof(j->part), "%s", j->cluster.hosts[0].name.text);
    if (filled == 0)
        filled = fill_slots(j, plain, &slots);
    if (filled != 0)
        cluster_fill_slots(&j->cluster, 1);
    if (ports_plan(j->settings.port, cluster_most_slots(&j->cluster), &j->ports, err) != 0)
        return -1;
    if (filled != 0)
        *err = slots;
    return filled == 0 ? check_failover(&j->settings, &j->cluster, err) : -1;
}

/* The trainer that was installed beside this program, NULL if there is none. */
static char *trainer_beside_us(void) {
    char self[PATH_MAX];
    struct error ignored;
    if (file_self(self, sizeof(self), &ignored) != 0)
        return NULL;
    const char *slash = strrchr(self, '/');
    char *path = NULL;
    if (slash == NULL || asprintf(&path, "%.*s/ringtrain", (int)(slash - self), self) < 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static void note_ignored(struct job *j) {
    const struct hyperparameters *h = &j->hyperparameters;
    if (h->ignored > 0)
        warnings_add(&j->warnings,
                     "%zu hyperparameters have names that are no flag's and are "
                     "not passed as such, the first "
                     "is \"%.64s\" (names are letters, digits, '_', and inside '.', ':', '-')",
                     h->ignored, h->first_ignored);
}

/* Their ranks and ports would be those of the job around them. */
static void note_nested(struct job *j, char *const *environment) {
    if (env_get(environment, ATTEMPT_RUN_VARIABLE) != NULL)
        warnings_add(&j->warnings,
                     "this ringmaster runs inside a program that another ringmaster started; one "
                     "is enough: let the outer one start the program itself");
}

int job_resolve(struct job *j, const char *const *arguments, char *const *environment,
                struct error *err) {
    cleanup_free char *ringtrain = trainer_beside_us();
    struct program_inputs in = {
        .arguments = arguments,
        .hyperparameters = &j->hyperparameters,
        .base_dir = j->settings.base_dir,
        .environment = environment,
        .ringtrain = ringtrain,
    };
    if (program_resolve(&in, &j->program, err) != 0)
        return -1;
    if (j->program.is_trainer && j->channels.piped != NULL)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "inputdataconfig.json: channel \"%s\" is in Pipe mode, which ringtrain does "
            "not read; use File or FastFile",
            j->channels.piped);
    return 0;
}

/* Nothing of a job hangs on them. */
static void read_metrics(struct job *j) {
    char path[PATH_MAX];
    struct error err = {0};
    if (config_path(j, "metric-definition-regex.json", path, &err) != 0 ||
        metric_definitions_read(path, &j->metrics, &err) != 0)
        warnings_add(&j->warnings, "metrics are not counted: %s", err.text);
    else if (j->metrics.passed_over > 0)
        warnings_add(&j->warnings,
                     "%s: %zu entries are no metric definitions, longer than 500 characters or "
                     "more than %d",
                     path, j->metrics.passed_over, METRIC_DEFINITIONS_MAX);
}

static int read_program(const char *const *arguments, char *const *environment, struct job *j,
                        struct error *err) {
    char path[PATH_MAX];
    bool exact = arguments[0] != NULL && strcmp(arguments[0], "--") == 0;
    if (upload_targets_check(&j->settings, err) != 0 ||
        config_path(j, "inputdataconfig.json", path, err) != 0 ||
        channels_read(path, &j->channels, err) != 0 ||
        download_sources_read(&j->settings, &j->hyperparameters, environment, !exact, &j->channels,
                              &j->sources, err) != 0)
        return -1;
    note_ignored(j);
    note_nested(j, environment);
    read_metrics(j);
    efa_warn("", environment, &j->warnings);
    return j->sources.code != NULL ? 0 : job_resolve(j, arguments, environment, err);
}

int job_read(const char *const *arguments, char *const *environment, struct job *ret,
             struct error *err) {
    struct error first = {0};
    struct error later = {0};
    *ret = (struct job){.once_per_host =
                            arguments[0] != NULL && strcmp(arguments[0], JOB_ONCE_PER_HOST) == 0};
    arguments += ret->once_per_host;
    bool wished = read_wishes(ret, environment, &first) == 0;
    bool known = read_cluster(ret, environment, &later) == 0;
    if (wished && known)
        return read_program(arguments, environment, ret, err);
    if (err != NULL)
        *err = wished ? later : first;
    return -1;
}
