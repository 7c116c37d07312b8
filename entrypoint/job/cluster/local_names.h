/* Names of this machine: its kernel name, if that is a host name, then its IPv4 addresses as text.
 */
#ifndef ENTRYPOINT_JOB_CLUSTER_LOCAL_NAMES_H
#define ENTRYPOINT_JOB_CLUSTER_LOCAL_NAMES_H

#include "common/error.h"
#include "entrypoint/job/cluster/host_name.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOCAL_NAMES_MAX = 64 };

struct local_names {
    struct host_name names[LOCAL_NAMES_MAX];
    size_t count;
    bool has_kernel_name; /* names[0] */
};

int local_names_read(struct local_names *ret, struct error *err);

/* Returns true if NAME is one of them: whole, or by first labels if one of both has no more (node1
 * is node1.example.com). */
bool local_names_has(const struct local_names *own, const struct host_name *name);

/* Writes them to RET, separated by commas, as many as there is room for. Returns RET. */
const char *local_names_text(const struct local_names *own, char ret[static HOST_NAME_LIST_SIZE]);

#endif
