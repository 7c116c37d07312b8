/* Counter of the job's metric definitions (outcome/metric_counts.h) on one host.
 *
 * It matches every line of the ranks as printed, prefix included, as a service would. The first
 * match of each metric is reported to the first host, which at the end names the metrics that
 * matched nowhere. */
#ifndef ENTRYPOINT_HOST_OBSERVE_METRIC_MATCHER_H
#define ENTRYPOINT_HOST_OBSERVE_METRIC_MATCHER_H

#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/job/job.h"
#include "entrypoint/outcome/metric_counts.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Opens the counter; does nothing if nobody would read the result. */
void metric_matcher_open(struct metric_counts *c, const struct job *job);

/* Matches a line. TELL is called for each metric with its first match, and for one that is no
 * longer counted: the first host cannot report either as unmatched. It is also called once, with an
 * empty name, if there is no time for a line. */
void metric_matcher_line(struct metric_counts *c, const char *line, size_t size,
                         void (*matched)(void *context, const char *name), void *context);

/* Records what another host reports. */
void metric_matcher_receive(struct metric_counts *c, const json_t *message);

/* Logs the result at the end of the job. */
void metric_matcher_conclude(const struct metric_counts *c, struct event_log *event_log,
                             bool is_first_host);

#endif
