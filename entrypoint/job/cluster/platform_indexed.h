/* Platforms that tell a host how many there are, which of them it is and where the master is, but
 * not who the others are. Their hosts are called node-0, node-1 ... here, on all of them alike, so
 * that nobody has to know a list: the key is made of the job's name and the count, workers dial the
 * master's address, and the master learns all other addresses as they join. The key is not of that
 * address: AWS Batch does not tell it to the master itself, and others may call it localhost there.
 *
 * And those whose names follow a pattern: the pods of a Kubernetes Indexed Job, NAME-0 to NAME-N in
 * the domain of this one. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_INDEXED_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_INDEXED_H

#include "common/error.h"
#include "entrypoint/job/cluster/local_names.h"
#include "entrypoint/job/cluster/platform_description.h"

/* Variables; MAIN, with the index of the master, may be NULL: 0. */
struct platform_indexed {
    const char *count, *index, *main, *master;
};

/* Both append the hosts to *RET and say which is this one and which the master. 1 where there is
 * one host, which is alone; the pattern then adds none. A variable that is missing or makes no
 * sense is an error that names it; the master's address is not asked for on the master itself. */
int platform_indexed_read(const struct platform_indexed *p, char *const *environment,
                          struct platform_description *ret, struct error *err);
/* HOSTS_FILE, "/etc/hosts", knows the domain; without one names are short. */
int platform_indexed_pattern(const struct platform_indexed *p, char *const *environment,
                             const struct local_names *own, const char *hosts_file,
                             struct platform_description *ret, struct error *err);

#endif
