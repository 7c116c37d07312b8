/* Platforms that number hosts instead of naming them.
 *
 * They give a host the number of hosts, its own index and the master's address, but not the other
 * names.
 *
 * Hosts are called node-0, node-1 ... on all of them, so that no list is needed. The key is derived
 * from the job's name and the count, workers connect to the master's address, and the master learns
 * the other addresses as they join. The key is not derived from that address: AWS Batch does not
 * give it to the master itself, and other platforms may call it localhost there.
 *
 * Also platforms with names that follow a pattern: the pods of a Kubernetes Indexed Job, NAME-0 to
 * NAME-N in the domain of this one. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_INDEXED_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_INDEXED_H

#include "common/error.h"
#include "entrypoint/job/cluster/local_names.h"
#include "entrypoint/job/cluster/platform_description.h"

/* Variables; MAIN, with the index of the master, may be NULL: 0. */
struct platform_indexed {
    const char *count, *index, *main, *master;
};

/* Both append the hosts to *RET and say which is this one and which the master. They return 1 for a
 * single host; the pattern then adds none. A missing or invalid variable is an error that names it;
 * the master itself does not need the master's address. */
int platform_indexed_read(const struct platform_indexed *p, char *const *environment,
                          struct platform_description *ret, struct error *err);
/* HOSTS_FILE, "/etc/hosts", has the domain; without it names are short. */
int platform_indexed_pattern(const struct platform_indexed *p, char *const *environment,
                             const struct local_names *own, const char *hosts_file,
                             struct platform_description *ret, struct error *err);

#endif
