/* Description of a job's hosts as a platform gives it (platform_*.h): nothing is sorted, resolved
 * or judged yet, which cluster_make() does for all platforms alike. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_DESCRIPTION_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_DESCRIPTION_H

#include "common/error.h"
#include "entrypoint/job/cluster/host_name.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLUSTER_HOSTS_MAX = 1024,
    CLUSTER_SLOTS_MAX = 256,
    CLUSTER_JOB_SIZE = 256,
    CLUSTER_TYPE_SIZE = 256,     /* longer ones are cut, as they are only shown */
    CLUSTER_INTERFACE_SIZE = 16, /* IFNAMSIZ */
    CLUSTER_DESCRIBED_SIZE = 160,
    PLATFORM_WHERE_SIZE = 512,
    PLATFORM_GRACE_KUBERNETES = 30, /* s: the default of terminationGracePeriodSeconds */
};

enum cluster_source { CLUSTER_ALONE, CLUSTER_SAGEMAKER, CLUSTER_ENVIRONMENT, CLUSTER_PLATFORM };

struct platform_host {
    struct host_name name;
    unsigned slots; /* 0: not given */
};

struct platform_description {
    enum cluster_source source;
    struct platform_host *hosts; /* owned; as listed */
    size_t count, capacity;
    struct host_name self;
    unsigned alone_slots;    /* of a host that is the only one of its platform; 0: not given */
    struct host_name master; /* "": the first in natural order */
    bool counted; /* names are made up here and cannot be resolved (platform_indexed.h) */
    struct host_name
        master_at; /* if counted: where the master is; "" if the master itself is not named */
    char job[CLUSTER_JOB_SIZE];      /* the platform's name for the job; "" if not given */
    char where[PLATFORM_WHERE_SIZE]; /* the file, for errors; "" if there is none */
    const char *hosts_key;           /* named by errors about the list, and about SELF */
    const char *self_key;
    char interface[CLUSTER_INTERFACE_SIZE]; /* checked; "" if not given */
    char instance_type[CLUSTER_TYPE_SIZE];  /* "" if not given, as the next */
    char group[CLUSTER_TYPE_SIZE];
    unsigned grace; /* seconds from the platform's SIGTERM to its SIGKILL; 0: not given */
    unsigned
        before;   /* earlier attempts at the job, as the platform counts them; 0 if it does not */
    int64_t ends; /* when the platform ends the job, in seconds since 1970; 0: not given */
    const char *ends_with;   /* its name, if it ends a job with the master's host; else NULL */
    json_t *resource_config; /* owned; the file as read, for SM_*; else NULL */
};

void platform_description_done(struct platform_description *d);

/* Returns true if the name of VARIABLE (NAME=VALUE) matches PATTERN, in which one '*' stands for
 * any text, and the value is not empty. */
bool platform_variable_fits(const char *variable, const char *pattern);

/* Appends a host; more than CLUSTER_HOSTS_MAX are an error. */
int platform_description_add(struct platform_description *d, const struct host_name *name,
                             unsigned slots, struct error *err);

#endif
