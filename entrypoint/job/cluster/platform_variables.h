/* A cluster described by variables: RINGMASTER_HOSTS=a[:slots],b[:slots], with numbers in
 * brackets (host_list.h), or file:///PATH of a host file (host_list_formats.h), and
 * RINGMASTER_HOST, the name of this host in that list. Without RINGMASTER_HOST this host is the one
 * entry of the list that is its kernel name (whole or first label) or one of its own addresses;
 * localhost is that where nothing else is listed. Pure but for that file. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_VARIABLES_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_VARIABLES_H

#include "common/error.h"
#include "entrypoint/job/cluster/local_names.h"
#include "entrypoint/job/cluster/platform_description.h"

/* *RET must be zeroed, and done with also after an error. HOST may be NULL. */
int platform_variables_parse(const char *hosts, const char *host, const struct local_names *own,
                             struct platform_description *ret, struct error *err);

#endif
