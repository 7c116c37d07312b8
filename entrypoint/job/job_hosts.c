#include "entrypoint/job/job_hosts.h"

#include "common/argv.h"
#include "common/clock.h"
#include "entrypoint/job/cluster/platform_unsupported.h"
#include "entrypoint/job/cluster/seats.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/job/platform.h"
#include "entrypoint/job/sagemaker/instance_groups.h"

#include <limits.h>
#include <stdio.h>

static unsigned first_of(unsigned a, unsigned b, unsigned c) {
    return a > 0 ? a : b > 0 ? b : c;
}

static unsigned at_most(unsigned a, unsigned most) {
    return a < most ? a : most;
}

unsigned job_hosts_slots(const struct mpi_options *w, size_t hosts, const char *root) {
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

static const char *job_name(const char *asked, char *const *environment) {
    const char *name = env_get(environment, "TRAINING_JOB_NAME");
    return name != NULL && name[0] != '\0' ? name : asked;
}

/* Finds all hosts that the platform lists. */
static int find_hosts(const struct settings *s, const char *job, char *const *environment,
                      struct job_hosts *ret, struct error *err) {
    if (platform_read(s, environment, job, &ret->cluster, err) != 0)
        return -1;
    bool described = ret->cluster.source != CLUSTER_ALONE || s->platform != NULL;
    return described ? 0 : platform_unsupported_check(environment, &ret->warnings, err);
}

/* Sets each host's slots: 1 if the program is to run once a host, else PER_HOST if that is not 0,
 * else the number in RINGMASTER_HOSTS, else job_hosts_slots(). */
static int fill_slots(const struct mpi_options *mpi_options, bool once_per_host, unsigned per_host,
                      bool plain, struct cluster *ret, struct error *err) {
    if (once_per_host)
        cluster_set_slots(ret, 1);
    else if (per_host > 0 && !plain)
        cluster_set_slots(ret, per_host);
    if (plain) {
        cluster_fill_slots(ret, 1);
        return 0;
    }
    cluster_fill_slots(ret, job_hosts_slots(mpi_options, ret->count, ""));
    if (mpi_options->ranks > 0 && cluster_limit_ranks(ret, mpi_options->ranks, err) != 0)
        return error_wrap(err, "the hyperparameter sagemaker_mpi_num_processes");
    return 0;
}

/* Keeps the hosts of this host's job and sets their slots; 1 each if that fails. */
static int choose_hosts(const struct mpi_options *mpi_options, bool once_per_host,
                        unsigned per_host, struct job_hosts *ret, struct error *err) {
    bool plain = false;
    size_t listed = ret->cluster.count;
    int chosen = instance_groups_choose(mpi_options, &ret->cluster, &plain, err);
    if (ret->cluster.count < listed)
        (void)snprintf(ret->part, sizeof(ret->part), "%s", ret->cluster.hosts[0].name.text);
    if (chosen == 0)
        chosen = fill_slots(mpi_options, once_per_host, per_host, plain, &ret->cluster, err);
    if (chosen != 0)
        cluster_fill_slots(&ret->cluster, 1);
    return chosen;
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

/* TF_CONFIG names hosts (host/ranks/tf_environment.h). */
static int check_tf_config(const struct settings *s, const struct cluster *c, struct error *err) {
    if (!s->tf_config || !c->counted)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "RINGMASTER_TF_CONFIG=1 needs the names of all hosts, which %s does not list; "
                     "list them in RINGMASTER_HOSTS",
                     c->described_by);
}

static int suit_settings(const struct settings *s, struct cluster *c, struct error *err) {
    return check_failover(s, c, err) != 0 || choose_spares(s, c, err) != 0
               ? -1
               : check_tf_config(s, c, err);
}

int job_hosts_read(const struct settings *settings, const struct sagemaker_request *request,
                   bool once_per_host, char *const *environment, struct job_hosts *ret,
                   struct error *err) {
    struct error slots;
    *ret = (struct job_hosts){0};
    if (find_hosts(settings, job_name(request->job_name, environment), environment, ret, err) != 0)
        return -1;
    if (settings->time_limit > 0)
        ret->cluster.ends = clock_wall() / CLOCK_SECOND + settings->time_limit;
    int chosen = choose_hosts(&request->mpi_options, once_per_host,
                              (unsigned)settings->ranks_per_host, ret, &slots);
    if (ports_plan(settings->port, cluster_most_slots(&ret->cluster), &ret->ports, err) != 0)
        return -1;
    if (chosen == 0)
        return suit_settings(settings, &ret->cluster, err);
    if (err != NULL)
        *err = slots;
    return -1;
}
