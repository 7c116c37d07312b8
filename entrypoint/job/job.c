#include "entrypoint/job/job.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/run_id.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "entrypoint/job/cluster/platform_unsupported.h"
#include "entrypoint/job/cluster/seats.h"
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
    user_program_done(&j->program);
}

/* Writes BASE_DIR/input/config/NAME to PATH. */
static int config_path(const char *base_dir, const char *name, char path[PATH_MAX],
                       struct error *err) {
    int size = snprintf(path, PATH_MAX, "%s/input/config/%s", base_dir, name);
    if (size < 0 || size >= PATH_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "SAGEMAKER_BASE_DIR is too long");
    return 0;
}

/* --- request ---------------------------------------------------------------------------------- */

struct job_request {
    struct hyperparameters hyperparameters;
    struct mpi_options options;
    bool once_per_host;
};

/* Keeps hyperparameters with names that say "secret" out of logs and failure file. */
static int redact_secrets(const struct hyperparameters *h, struct error *err) {
    for (size_t i = 0; i < h->count; i++)
        if (redact_is_secret_name(h->items[i].name) &&
            (redact_add(h->items[i].text, err) != 0 ||
             (h->items[i].flag != NULL && redact_add(h->items[i].flag, err) != 0)))
            return -1;
    return 0;
}

static int read_request(const char *base_dir, struct job_request *ret, struct error *err) {
    char path[PATH_MAX];
    if (config_path(base_dir, "hyperparameters.json", path, err) != 0 ||
        hyperparameters_read(path, &ret->hyperparameters, err) != 0 ||
        redact_secrets(&ret->hyperparameters, err) != 0)
        return -1;
    return mpi_options_read(&ret->hyperparameters, &ret->options, err);
}

/* --- hosts, slots and ports ------------------------------------------------------------------- */

struct hosts {
    struct cluster cluster;
    char part[HOST_NAME_SIZE]; /* same as in struct job */
    struct ports ports;
};

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

/* Sets each host's slots: 1 if the program is to run once a host, else PER_HOST if that is not 0,
 * else the number in RINGMASTER_HOSTS, else job_slots(). */
static int fill_slots(const struct job_request *r, unsigned per_host, bool plain,
                      struct cluster *ret, struct error *err) {
    if (r->once_per_host)
        cluster_set_slots(ret, 1);
    else if (per_host > 0 && !plain)
        cluster_set_slots(ret, per_host);
    if (plain) {
        cluster_fill_slots(ret, 1);
        return 0;
    }
    cluster_fill_slots(ret, job_slots(&r->options, ret->count, ""));
    if (r->options.ranks > 0 && cluster_limit_ranks(ret, r->options.ranks, err) != 0)
        return error_wrap(err, "the hyperparameter sagemaker_mpi_num_processes");
    return 0;
}

/* Going on without the first host requires settings and a platform that permit it. */
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

/* TF_CONFIG names hosts (host/ranks/tf_environment.h). */
static int check_tf_config(const struct settings *s, const struct cluster *c, struct error *err) {
    if (!s->tf_config || !c->counted)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "RINGMASTER_TF_CONFIG=1 needs the names of all hosts, which %s does not list; "
                     "list them in RINGMASTER_HOSTS",
                     c->described_by);
}

static const char *job_name(const struct hyperparameters *h, char *const *environment) {
    const char *name = env_get(environment, "TRAINING_JOB_NAME");
    return name != NULL && name[0] != '\0' ? name : hyperparameters_get(h, "sagemaker_job_name");
}

/* Finds all hosts that the platform lists. */
static int find_hosts(const struct settings *s, const char *job, char *const *environment,
                      struct warnings *warnings, struct cluster *ret, struct error *err) {
    if (platform_read(s, environment, job, ret, err) != 0)
        return -1;
    bool told = ret->source != CLUSTER_ALONE || s->platform != NULL;
    return told ? 0 : platform_unsupported_check(environment, warnings, err);
}

/* Keeps the hosts of this host's job and sets their slots; 1 each if that fails. */
static int choose_hosts(const struct settings *s, const struct job_request *r, struct hosts *ret,
                        struct error *err) {
    bool plain = false;
    size_t listed = ret->cluster.count;
    int chosen = instance_groups_choose(&r->options, &ret->cluster, &plain, err);
    if (ret->cluster.count < listed)
        (void)snprintf(ret->part, sizeof(ret->part), "%s", ret->cluster.hosts[0].name.text);
    if (chosen == 0)
        chosen = fill_slots(r, (unsigned)s->ranks_per_host, plain, &ret->cluster, err);
    if (chosen != 0)
        cluster_fill_slots(&ret->cluster, 1);
    return chosen;
}

/* A spare takes part in another attempt alone. */
static int choose_spares(const struct settings *s, struct cluster *c, struct error *err) {
    if (s->spares == 0)
        return 0;
    if (s->restarts == 0)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "RINGMASTER_SPARES=%lld needs RINGMASTER_RESTARTS: a spare takes the place "
            "of a lost host when the job is launched again",
            (long long)s->spares);
    return seats_open(c, (size_t)s->spares, err);
}

static int read_hosts(const struct settings *s, const struct job_request *r,
                      char *const *environment, struct warnings *warnings, struct hosts *ret,
                      struct error *err) {
    struct error slots;
    if (find_hosts(s, job_name(&r->hyperparameters, environment), environment, warnings,
                   &ret->cluster, err) != 0)
        return -1;
    if (s->time_limit > 0)
        ret->cluster.ends = clock_wall() / CLOCK_SECOND + s->time_limit;
    int chosen = choose_hosts(s, r, ret, &slots);
    if (ports_plan(s->port, cluster_most_slots(&ret->cluster), &ret->ports, err) != 0)
        return -1;
    if (chosen == 0)
        return check_failover(s, &ret->cluster, err) != 0 ||
                       choose_spares(s, &ret->cluster, err) != 0
                   ? -1
                   : check_tf_config(s, &ret->cluster, err);
    *err = slots;
    return -1;
}

/* --- data, metrics and program ---------------------------------------------------------------- */

struct job_inputs {
    struct channels channels;
    struct download_sources sources;
};

static int read_inputs(const struct settings *s, const struct hyperparameters *h,
                       char *const *environment, bool needs_code, struct job_inputs *ret,
                       struct error *err) {
    char path[PATH_MAX];
    if (upload_targets_check(s, err) != 0 ||
        config_path(s->base_dir, "inputdataconfig.json", path, err) != 0 ||
        channels_read(path, &ret->channels, err) != 0)
        return -1;
    return download_sources_read(s, h, environment, needs_code, &ret->channels, &ret->sources, err);
}

char *job_trainer(void) {
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

static void note_ignored(const struct hyperparameters *h, struct warnings *warnings) {
    if (h->ignored > 0)
        warnings_add(warnings,
                     "%zu hyperparameters have names that are no flag's and are "
                     "not passed as such, the first "
                     "is \"%.64s\" (names are letters, digits, '_', and inside '.', ':', '-')",
                     h->ignored, h->first_ignored);
}

/* Warns if another ringmaster started this one: both would use the same ranks and ports. */
static void note_nested(char *const *environment, struct warnings *warnings) {
    if (env_get(environment, ATTEMPT_RUN_VARIABLE) != NULL)
        warnings_add(warnings,
                     "this ringmaster runs inside a program that another ringmaster started; one "
                     "is enough: let the outer one start the program itself");
}

int job_resolve(struct job *j, const char *const *arguments, char *const *environment,
                struct error *err) {
    cleanup_free char *ringtrain = job_trainer();
    struct user_program_inputs in = {
        .arguments = arguments,
        .hyperparameters = &j->hyperparameters,
        .base_dir = j->settings.base_dir,
        .environment = environment,
        .ringtrain = ringtrain,
    };
    if (user_program_resolve(&in, &j->program, err) != 0)
        return -1;
    if (j->program.is_trainer && j->channels.piped != NULL)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "inputdataconfig.json: channel \"%s\" is in Pipe mode, which ringtrain does "
            "not read; use File or FastFile",
            j->channels.piped);
    return 0;
}

/* The job does not depend on the metrics, so errors are only warnings. */
static void read_metrics(const char *base_dir, struct warnings *warnings,
                         struct metric_definitions *ret) {
    char path[PATH_MAX];
    struct error err = {0};
    if (config_path(base_dir, "metric-definition-regex.json", path, &err) != 0 ||
        metric_definitions_read(path, ret, &err) != 0)
        warnings_add(warnings, "metrics are not counted: %s", err.text);
    else if (ret->passed_over > 0)
        warnings_add(warnings,
                     "%s: %zu entries are ignored: not metric definitions, longer than 500 "
                     "characters, or beyond the first %d",
                     path, ret->passed_over, METRIC_DEFINITIONS_MAX);
}

/* --- whole job -------------------------------------------------------------------------------- */

struct reading {
    struct settings settings;
    struct job_request request;
    struct hosts hosts;
    struct job_inputs inputs;
    struct metric_definitions metrics;
    struct warnings warnings;
};

/* Reads all parts of the job. The first error is kept, but the hosts are read all the same: a host
 * that cannot run joins the others and reports why, so that they do not wait for it in vain. */
static int read_parts(char *const *environment, bool needs_code, struct reading *r,
                      struct error *err) {
    struct error later;
    int read = settings_parse(environment, &r->settings, &r->warnings, err);
    if (read_request(r->settings.base_dir, &r->request, read == 0 ? err : &later) != 0)
        read = -1;
    if (read_hosts(&r->settings, &r->request, environment, &r->warnings, &r->hosts,
                   read == 0 ? err : &later) != 0)
        read = -1;
    if (read != 0 || read_inputs(&r->settings, &r->request.hyperparameters, environment, needs_code,
                                 &r->inputs, err) != 0)
        return -1;
    note_ignored(&r->request.hyperparameters, &r->warnings);
    note_nested(environment, &r->warnings);
    read_metrics(r->settings.base_dir, &r->warnings, &r->metrics);
    efa_warn("", &r->warnings);
    return 0;
}

/* Makes the job, which takes ownership of all that R owns. */
static void assemble(const struct reading *r, struct job *ret) {
    *ret = (struct job){.settings = r->settings,
                        .cluster = r->hosts.cluster,
                        .hyperparameters = r->request.hyperparameters,
                        .mpi_options = r->request.options,
                        .channels = r->inputs.channels,
                        .sources = r->inputs.sources,
                        .metrics = r->metrics,
                        .ports = r->hosts.ports,
                        .once_per_host = r->request.once_per_host,
                        .warnings = r->warnings};
    memcpy(ret->part, r->hosts.part, sizeof(ret->part));
}

int job_read(const char *const *arguments, char *const *environment, struct job *ret,
             struct error *err) {
    struct error first = {0};
    bool once = arguments[0] != NULL && strcmp(arguments[0], JOB_ONCE_PER_HOST) == 0;
    struct reading r = {.request = {.once_per_host = once}};
    arguments += once;
    bool exact = arguments[0] != NULL && strcmp(arguments[0], "--") == 0;
    int read = read_parts(environment, !exact, &r, &first);
    assemble(&r, ret);
    if (read == 0)
        return ret->sources.code != NULL ? 0 : job_resolve(ret, arguments, environment, err);
    if (err != NULL)
        *err = first;
    return -1;
}
