/* What a platform says of a job's hosts, as its reader (platform_*.h) found it: nothing is sorted,
 * looked up or judged yet. cluster_make() does that, for all platforms alike. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_DESCRIPTION_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_DESCRIPTION_H

#include "common/error.h"
#include "entrypoint/job/cluster/host_name.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    CLUSTER_HOSTS_MAX = 1024,
    CLUSTER_SLOTS_MAX = 256,
    CLUSTER_JOB_SIZE = 256,
    CLUSTER_TYPE_SIZE = 256,     /* what is longer is cut: it is shown, not used */
    CLUSTER_INTERFACE_SIZE = 16, /* IFNAMSIZ */
    CLUSTER_DESCRIBED_SIZE = 160,
    PLATFORM_WHERE_SIZE = 512,
    PLATFORM_GRACE_KUBERNETES = 30, /* s: terminationGracePeriodSeconds, as it comes */
};

enum cluster_source { CLUSTER_ALONE, CLUSTER_SAGEMAKER, CLUSTER_ENVIRONMENT, CLUSTER_PLATFORM };

struct platform_host {
    struct host_name name;
    unsigned slots; /* 0: not told */
};

struct platform_description {
    enum cluster_source source;
    struct platform_host *hosts; /* owned; as they are listed */
    size_t count;
    struct host_name self;
    unsigned alone_slots;            /* of a host that its platform has alone; 0: not told */
    struct host_name master;         /* "": the first in natural order */
    bool counted;                    /* names are ours, and lead nowhere (platform_indexed.h) */
    struct host_name master_at;      /* then: where the master is; "" if not told to itself */
    char job[CLUSTER_JOB_SIZE];      /* the platform's name for the job; "" if not told */
    char where[PLATFORM_WHERE_SIZE]; /* the file, for errors; "" if there is none */
    const char *hosts_key;           /* what an error about the list names, and one about SELF */
    const char *self_key;
    char interface[CLUSTER_INTERFACE_SIZE]; /* checked; "" if not told */
    char instance_type[CLUSTER_TYPE_SIZE];  /* "" if not told, as the next */
    char group[CLUSTER_TYPE_SIZE];
    unsigned grace;          /* seconds from the platform's SIGTERM to its SIGKILL; 0: not told */
    unsigned before;         /* attempts at the job before this one, as the platform counts; 0 too
                                where it does not */
    const char *ends_with;   /* its name, where it ends a job with the master's host; else NULL */
    json_t *resource_config; /* owned; the file as read, for SM_*; else NULL */
};

void platform_description_done(struct platform_description *d);

/* Whether VARIABLE (NAME=VALUE) is called PATTERN, in which one '*' stands for any text, and has a
 * value. */
bool platform_variable_fits(const char *variable, const char *pattern);

/* Appends a host; more than CLUSTER_HOSTS_MAX are an error. */
int platform_description_add(struct platform_description *d, const struct host_name *name,
                             unsigned slots, struct error *err);

#endif
