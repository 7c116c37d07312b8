/* Counts of the job's metrics (outcome/metric_counts.h) in the life of a host: every line of its
 * ranks as it is printed, prefix and all, since that is what a service looks through. What has
 * matched for the first time is told to the first host, which says at the end what matched nowhere.
 */
#ifndef ENTRYPOINT_HOST_OBSERVE_METRIC_MATCHER_H
#define ENTRYPOINT_HOST_OBSERVE_METRIC_MATCHER_H

#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/job/job.h"
#include "entrypoint/outcome/metric_counts.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Where nobody would hear of it nothing is counted. */
void metric_matcher_open(struct metric_counts *c, const struct job *job);

/* TELL is called for each metric that has matched now and never before, and for one that is left
 * out from now on: of neither can the first host say that it matched nowhere. Once, too, with an
 * empty name, when there is no time for a line. */
void metric_matcher_line(struct metric_counts *c, const char *line, size_t size,
                         void (*tell)(void *context, const char *name), void *context);

/* What another host has told. */
void metric_matcher_told(struct metric_counts *c, const json_t *message);

/* The job has ended. */
void metric_matcher_conclude(const struct metric_counts *c, struct event_log *event_log,
                             bool is_first_host);

#endif
