/* Metric definitions of the job, as the service passes them.
 *
 * They are expressions that it matches against the containers' output.
 *
 * The format of the container's metric-definition-regex.json is not documented, so several are
 * read. They are CreateTrainingJob's list of {"Name", "Regex"} in any case, alone or below
 * "MetricDefinitions", and an object of names and expressions. Anything else is skipped: no job
 * depends on it. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_METRIC_DEFINITIONS_H
#define ENTRYPOINT_JOB_SAGEMAKER_METRIC_DEFINITIONS_H

#include "common/error.h"
#include "common/text/metric_line.h"

#include <stddef.h>

enum { METRIC_NAME_SIZE = 128, METRIC_REGEX_SIZE = 520 };

struct requested_metric {
    char name[METRIC_NAME_SIZE]; /* printable; a longer one is cut */
    char regex[METRIC_REGEX_SIZE];
};

struct metric_definitions {
    struct requested_metric *items;
    size_t count;
    size_t passed_over; /* skipped: invalid, too long, or too many */
};

int metric_definitions_parse(const char *text, size_t size, const char *source,
                             struct metric_definitions *ret, struct error *err);
/* A missing file is an empty list. RET is empty on failure, too. */
int metric_definitions_read(const char *path, struct metric_definitions *ret, struct error *err);
void metric_definitions_done(struct metric_definitions *l);

#endif
