/* The metric definitions of the job, as far as the service hands them to the container: expressions
 * that it looks for in what containers print. What form they have in the container's
 * metric-definition-regex.json is documented nowhere, so several are read: CreateTrainingJob's own
 * list of {"Name", "Regex"} in any case, alone or below "MetricDefinitions", and an object of names
 * and expressions. What looks otherwise is passed over: nothing of a job hangs on it. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_METRIC_DEFINITIONS_H
#define ENTRYPOINT_JOB_SAGEMAKER_METRIC_DEFINITIONS_H

#include "common/error.h"
#include "common/metric_line.h"

#include <stddef.h>

enum { METRIC_NAME_SIZE = 128, METRIC_REGEX_SIZE = 520 };

struct requested_metric {
    char name[METRIC_NAME_SIZE]; /* printable; a longer one is cut */
    char regex[METRIC_REGEX_SIZE];
};

struct metric_definitions {
    struct requested_metric *items;
    size_t count;
    size_t passed_over; /* that are no definitions, too long, or too many */
};

int metric_definitions_parse(const char *text, size_t size, const char *source,
                             struct metric_definitions *ret, struct error *err);
/* No file is an empty list. RET is empty on failure, too. */
int metric_definitions_read(const char *path, struct metric_definitions *ret, struct error *err);
void metric_definitions_done(struct metric_definitions *l);

#endif
