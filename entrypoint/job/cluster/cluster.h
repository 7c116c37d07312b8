/* The set of hosts of one job, as every container of it sees it: the same hosts in the same
 * order everywhere, so that all agree on the master, which is host 0, without a word
 * between them. The order is the natural one, but for a master that the platform has chosen. Made
 * of a platform's description and valid from then on: between 1 and CLUSTER_HOSTS_MAX distinct
 * names, this host among them. */
#ifndef ENTRYPOINT_JOB_CLUSTER_CLUSTER_H
#define ENTRYPOINT_JOB_CLUSTER_CLUSTER_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/job/cluster/host_name.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct cluster_host {
    struct host_name name;
    unsigned slots; /* ranks to start there; 0 until cluster_fill_slots when nobody told */
    bool gone;      /* takes no part any more: see cluster_drop */
    size_t place;   /* in the list that all hosts had at the beginning (host/role_state.h) */
    struct net_address
        address; /* of its interface for the job, once it is known: see addresses.h */
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
    char described_by[CLUSTER_DESCRIBED_SIZE]; /* what lists the hosts, for people */
    bool master_named;          /* by the platform; else it is the first in natural order */
    bool counted;               /* host names are ours alone, and lead nowhere */
    struct host_name master_at; /* then: where a worker finds the master */
    unsigned grace;          /* seconds from the platform's SIGTERM to its SIGKILL; 0: not told */
    unsigned before;         /* attempts at the job that the platform made before this one */
    const char *ends_with;   /* the platform that ends a job with its first host; NULL: none */
    json_t *resource_config; /* owned; the file as read, for SM_*; else NULL */
};

void cluster_done(struct cluster *c);

/* Sorts and checks what D says; D stays the caller's. JOB is the job's name. */
int cluster_make(const struct platform_description *d, const char *job, struct cluster *ret,
                 struct error *err);

/* Leaves those hosts whose place in KEPT is true, this one among them; the first of them is the
 * master. */
void cluster_keep(struct cluster *c, const bool *kept);

/* Gives SLOTS to every host that has none of its own. */
void cluster_fill_slots(struct cluster *c, unsigned slots);

/* The same to every host, whatever it has. */
void cluster_set_slots(struct cluster *c, unsigned slots);

static inline bool cluster_is_master(const struct cluster *c) {
    return c->self == 0;
}
/* The index of the host called NAME, -1 if there is none. */
int cluster_find(const struct cluster *c, const struct host_name *name);
/* Takes slots away from the last hosts until there are RANKS in all. A host without any, or more
 * ranks than slots, is an error. */
int cluster_limit_ranks(struct cluster *c, size_t ranks, struct error *err);
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

#endif
