/* Lists of hosts with numbers in brackets.
 *
 * Slurm writes them, and RINGMASTER_HOSTS takes them: "n[1-3,07],m1" is n1 n2 n3 n07 m1,
 * "r[1-2]n[1-2]" is r1n1 r1n2 r2n1 r2n2. A number keeps the zeroes in front that the first of its
 * range has. (Slurm's manual: scontrol show hostnames.) */
#ifndef ENTRYPOINT_JOB_CLUSTER_HOST_LIST_H
#define ENTRYPOINT_JOB_CLUSTER_HOST_LIST_H

#include "common/error.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <stddef.h>

/* The size of the first item of TEXT: up to a comma outside of brackets, or the end. */
size_t host_list_item(const char *text);

/* Appends the hosts of one item of SIZE bytes to *RET, each with SLOTS. A range that is none, a
 * bracket that is not closed, a name that is none, or more hosts than a job may have are errors. */
int host_list_expand(const char *item, size_t size, unsigned slots,
                     struct platform_description *ret, struct error *err);

#endif
