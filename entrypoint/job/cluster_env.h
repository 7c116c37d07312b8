/* A cluster described by variables: RINGMASTER_HOSTS=a[:slots],b[:slots] and RINGMASTER_HOST, the
 * name of this host in that list. Without RINGMASTER_HOST this host is the one entry of the list
 * that is its kernel name (whole or first label) or one of its own addresses. */
#ifndef JOB_CLUSTER_ENV_H
#define JOB_CLUSTER_ENV_H

#include "common/error.h"
#include "job/cluster.h"

#include <stddef.h>

/* What this machine answers to: its kernel name, if that is a host name, then its IPv4 addresses
 * as text. */
enum { CLUSTER_ENV_NAMES_MAX = 64 };
struct own_names {
    struct host_name names[CLUSTER_ENV_NAMES_MAX];
    size_t count;
    bool has_kernel_name; /* names[0] */
};
int own_names_read(struct own_names *ret, struct error *err);

/* *RET must be zeroed. HOST may be NULL. */
int cluster_env_parse(const char *hosts, const char *host, const struct own_names *own,
                      struct cluster *ret, struct error *err);

#endif
