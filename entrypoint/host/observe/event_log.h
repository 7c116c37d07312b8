/* What happened on this host and to the job, for machines and for who asks later: one JSON line an
 * event (outcome/record.h) in BASE/output/data/events-HOST.jsonl, and, where that is asked for,
 * each rank's lines in a file of its own there. A child writes both (os/file_writer.h): nothing
 * here waits. */
#ifndef ENTRYPOINT_HOST_OBSERVE_EVENT_LOG_H
#define ENTRYPOINT_HOST_OBSERVE_EVENT_LOG_H

#include "common/run_id.h"
#include "entrypoint/host/observe/openmetrics.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/file_writer.h"
#include "entrypoint/outcome/record.h"
#include "entrypoint/outcome/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes of a host's events, both files together. */
enum { EVENT_LOG_EVENTS_MAX = 8 * 1024 * 1024, EVENT_LOG_FOLDER_SIZE = 4096 };

/* Zeroed it is closed: what is put is forgotten. So it is in place of NULL. */
struct event_log {
    struct file_writer writer;
    struct openmetrics gauges;
    const struct job *job;
    char folder[EVENT_LOG_FOLDER_SIZE];
    char run[ATTEMPT_RUN_SIZE];
    unsigned attempt;
    uint64_t told; /* of what was dropped */
    bool open;
    bool concluded;
};

/* JOB outlives it. */
void event_log_open(struct event_log *j, struct loop *loop, struct reaper *reaper,
                    const struct job *job);
void event_log_close(struct event_log *j);

void event_log_set_run(struct event_log *j, const char *run);
/* The next records are about this attempt, from 1. */
void event_log_set_attempt(struct event_log *j, unsigned attempt);

/* Takes over MEMBERS, which may be NULL. */
void event_log_put(struct event_log *j, enum record_kind kind, json_t *members);
/* The last record of a job. */
void event_log_conclude(struct event_log *j, const struct verdict *verdict);

/* A line of a rank's, without prefix, with '\n'; where ranks have no files it goes nowhere. */
void event_log_rank_line(struct event_log *j, unsigned rank, const char *line, size_t size);

/* The newest values of ranks' metric lines, and the file that all values go to; where no metrics
 * were asked for, nothing happens. */
void event_log_metric_line(struct event_log *j, const char *line, size_t size);
void event_log_put_metrics(struct event_log *j, const struct buf *text);

/* Before all children are swept away; the next record wakes it. */
void event_log_rest(struct event_log *j);
/* The child that writes; 0: none. */
pid_t event_log_child(const struct event_log *j);

#endif
