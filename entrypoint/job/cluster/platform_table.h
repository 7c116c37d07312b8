/* Platforms that describe a job's hosts in variables, as data. Some name all hosts: Slurm, Vertex
 * AI, Azure Batch, SkyPilot, dstack, Volcano, LSF, PBS, the MPI operator, TensorFlow's TF_CONFIG
 * (host_list_formats.h).
 * Others only say how many there are, which one this is and where the master is: AWS Batch, Azure
 * ML, Kubeflow, RunPod, or let names follow a pattern, as Kubernetes does (platform_indexed.h). A
 * row says where that is, in which form, and how a host knows itself. */
#ifndef ENTRYPOINT_JOB_CLUSTER_PLATFORM_TABLE_H
#define ENTRYPOINT_JOB_CLUSTER_PLATFORM_TABLE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/text/nearest.h"
#include "entrypoint/job/cluster/local_names.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <stdbool.h>
#include <stddef.h>

/* Takes the one platform that has its list in ENVIRONMENT, or the one called ONLY (NULL: any).
 * Returns 1 where there is none, or where it lists one host, which is alone: what it says of that
 * one, its slots, the job and attempts at it, is in *RET all the same. Two that list hosts, a list
 * that cannot be read, and a host that is not in it are errors that name the variable.
 *
 * *RET must be zeroed, and done with in any case. */
int platform_table_read(char *const *environment, const char *only, const struct local_names *own,
                        struct platform_description *ret, struct error *err);

/* Returns true if there is a row of that name, for RINGMASTER_PLATFORM. */
bool platform_table_has(const char *name);

/* Writes "; did you mean ROW?" to TEXT where a row's name, or "none", is near NAME; else "". */
const char *platform_table_near(const char *name, char text[NEAREST_WORDS_MAX]);

/* The name of the row with this number, from 0; NULL after the last. */
const char *platform_table_name(size_t number);

/* Appends the table of all platforms as Markdown (docs/reference/platforms.md). */
int platform_table_page(struct buf *ret, struct error *err);

#endif
