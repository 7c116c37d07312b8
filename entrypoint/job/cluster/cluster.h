/* Hosts of one job, as every container of it sees them: the same hosts in the same order, so that
 * all agree on the master, host 0, without communication.
 *
 * The order is natural, unless the platform names a master. Made from a platform's description and
 * valid from then on: 1 to CLUSTER_HOSTS_MAX distinct names, this host among them. */
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
    unsigned slots; /* ranks to start there; 0 until cluster_fill_slots if not configured */
    bool gone;      /* lost to the job: see cluster_drop */
    bool spare;     /* it runs no ranks: see seats.h */
    unsigned seat;  /* if it is no spare: its turn in the order of ranks, where there are spares */
    size_t place;   /* in the list that all hosts had at the start (host/failover/role_state.h) */
    struct net_address address; /* of its interface for the job, once known: see addresses.h */
};

struct cluster {
    enum cluster_source source;
    struct cluster_host *hosts; /* owned; natural order */
    size_t count;
    size_t spares;              /* hosts that the job began with beyond those that run ranks */
    size_t self;                /* index of this host; the master is index 0 */
    char job[CLUSTER_JOB_SIZE]; /* never empty; equal on all hosts of a job */
    char interface[CLUSTER_INTERFACE_SIZE];    /* as configured, may not exist; "" if not given */
    char instance_type[CLUSTER_TYPE_SIZE];     /* "" if not given */
    char group[CLUSTER_TYPE_SIZE];             /* current_group_name, "" if not given */
    char described_by[CLUSTER_DESCRIBED_SIZE]; /* what lists the hosts, for messages */
    bool master_named; /* the platform names the master; else it is the first in natural order */
    bool counted;      /* host names are made up here and cannot be resolved */
    struct host_name master_at; /* if counted: where a worker finds the master */
    int64_t ends;          /* when the platform ends the job, in seconds since 1970; 0: not given */
    unsigned grace;        /* seconds from the platform's SIGTERM to its SIGKILL; 0: not given */
    unsigned before;       /* attempts at the job that the platform made before this one */
    const char *ends_with; /* the platform that ends a job with its first host; NULL: none */
    json_t *resource_config; /* owned; the file as read, for SM_*; else NULL */
};

void cluster_done(struct cluster *c);

/* Makes a cluster from D, which stays the caller's: sorts and checks it. JOB is the job's name. */
int cluster_make(const struct platform_description *d, const char *job, struct cluster *ret,
                 struct error *err);

/* Keeps the hosts with true in their place of KEPT, this one among them; the first of them is the
 * master. */
void cluster_keep(struct cluster *c, const bool *kept);

/* Gives SLOTS to every host that has none of its own. */
void cluster_fill_slots(struct cluster *c, unsigned slots);

/* Gives SLOTS to every host, whatever it has. */
void cluster_set_slots(struct cluster *c, unsigned slots);

static inline bool cluster_is_master(const struct cluster *c) {
    return c->self == 0;
}
/* The index of the host called NAME, -1 if there is none. */
int cluster_find(const struct cluster *c, const struct host_name *name);
/* Takes slots away from the last hosts until there are RANKS in all. A host without any, or more
 * ranks than slots, is an error. */
int cluster_limit_ranks(struct cluster *c, size_t ranks, struct error *err);
/* Returns true for a host that runs ranks: it is neither lost nor a spare. */
static inline bool cluster_has_ranks(const struct cluster_host *h) {
    return !h->gone && !h->spare;
}
/* Return the number of hosts that run ranks, and the sum of their slots. */
size_t cluster_hosts_left(const struct cluster *c);
size_t cluster_ranks(const struct cluster *c);
/* Writes the indices of these hosts in the order of their ranks to RET. Returns how many. */
size_t cluster_order(const struct cluster *c, size_t ret[CLUSTER_HOSTS_MAX]);
/* Returns the number of HOST in that order, and the first of its ranks, also if it is a spare: then
 * those behind all others. */
size_t cluster_number(const struct cluster *c, size_t host);
size_t cluster_first_rank(const struct cluster *c, size_t host);
/* Returns the host of RANK, which must be below cluster_ranks(): ranks are assigned host by host,
 * as many as a host has slots. */
size_t cluster_host_of_rank(const struct cluster *c, size_t rank);
/* Returns the largest number of slots of any host. */
unsigned cluster_most_slots(const struct cluster *c);

/* Marks a host as lost. Indices stay as they are, so that they mean the same on all hosts. */
void cluster_drop(struct cluster *c, size_t host);

#endif
