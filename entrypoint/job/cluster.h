/* The set of hosts of one job, as every container of it sees it: the same hosts in the same
 * (natural) order everywhere, so that all agree on the master, which is host 0, without a word
 * between them. Built by cluster_read from the platform's description and valid from then on:
 * between 1 and CLUSTER_HOSTS_MAX distinct names, this host among them.
 *
 * Where the description comes from, first that applies:
 *   1. RINGMASTER_HOSTS, with RINGMASTER_HOST (cluster_env.h). It wins over SageMaker's file, whose
 *      interface, instance type and groups are then not used either.
 *   2. BASE/input/config/resourceconfig.json (resource_config.h).
 *   3. none: this host alone, named by the kernel.
 * RINGMASTER_INTERFACE and RINGMASTER_JOB win over the platform's values in all three. */
#ifndef JOB_CLUSTER_H
#define JOB_CLUSTER_H

#include "common/error.h"
#include "job/host_name.h"
#include "job/settings.h"

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    CLUSTER_HOSTS_MAX = 1024,
    CLUSTER_SLOTS_MAX = 256,
    CLUSTER_JOB_SIZE = 256,
    CLUSTER_TYPE_SIZE = 256,     /* what is longer is cut: it is shown, not used */
    CLUSTER_INTERFACE_SIZE = 16, /* IFNAMSIZ */
};

enum cluster_source { CLUSTER_ALONE, CLUSTER_SAGEMAKER, CLUSTER_ENVIRONMENT };

struct cluster_host {
    struct host_name name;
    unsigned slots;         /* ranks to start there; 0 until cluster_fill_slots when nobody told */
    bool gone;              /* takes no part any more: see cluster_drop */
    struct in_addr address; /* of its interface for the job, once it is known: see addresses.h */
};

struct cluster {
    enum cluster_source source;
    struct cluster_host *hosts; /* owned; natural order */
    size_t count;
    size_t self;                            /* index of this host; the master is index 0 */
    char job[CLUSTER_JOB_SIZE];             /* never empty; equal on all hosts of a job */
    char interface[CLUSTER_INTERFACE_SIZE]; /* as configured, perhaps not there; "" if not told */
    char instance_type[CLUSTER_TYPE_SIZE];  /* "" if not told */
    char group[CLUSTER_TYPE_SIZE];          /* current_group_name, "" if not told */
    bool local_mode;                        /* SageMaker's local mode: 10 s to stop, not 120 */
    json_t *resource_config;                /* owned; the file as read, for SM_*; else NULL */
};

void cluster_done(struct cluster *c);

/* Reads the description that applies. JOB is the name that the platform gave the job, NULL if
 * none: "ringmaster" then. */
int cluster_read(const struct settings *settings, const char *job, struct cluster *ret,
                 struct error *err);

/* Gives SLOTS to every host that has none of its own. */
void cluster_fill_slots(struct cluster *c, unsigned slots);

static inline bool cluster_is_master(const struct cluster *c) {
    return c->self == 0;
}
/* The index of the host called NAME, -1 if there is none. */
int cluster_find(const struct cluster *c, const struct host_name *name);
/* Of the hosts that are not gone: how many they are, and the sum of their slots. */
size_t cluster_hosts_left(const struct cluster *c);
size_t cluster_ranks(const struct cluster *c);
/* Ranks are dealt out host by host, as many as a host has slots: whose RANK is, below
 * cluster_ranks. */
size_t cluster_host_of_rank(const struct cluster *c, size_t rank);
/* The most slots of any host. */
unsigned cluster_most_slots(const struct cluster *c);

/* From now on the job runs without that host. Indices stay as they are, so that all hosts go on to
 * mean the same by them. */
void cluster_drop(struct cluster *c, size_t host);

/* For the readers: appends a host; duplicates and hosts beyond the ceiling are errors. */
int cluster_add(struct cluster *c, const struct host_name *name, unsigned slots, struct error *err);
/* For the readers: puts the hosts in natural order and finds SELF among them. */
int cluster_finish(struct cluster *c, const struct host_name *self, struct error *err);

#endif
