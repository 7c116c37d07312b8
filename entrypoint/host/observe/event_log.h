/* Event log of this host and job, for programs and later analysis: one JSON line per event
 * (outcome/event_schema.h) in BASE/output/data/events-HOST.jsonl.
 *
 * On request each rank's lines also go to a file of their own there. A child writes both
 * (os/file_writer.h): nothing here waits. */
#ifndef ENTRYPOINT_HOST_OBSERVE_EVENT_LOG_H
#define ENTRYPOINT_HOST_OBSERVE_EVENT_LOG_H

#include "common/run_id.h"
#include "entrypoint/host/observe/openmetrics.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/file_writer.h"
#include "entrypoint/outcome/event_schema.h"
#include "entrypoint/outcome/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Maximum size of a host's events, both files together. */
enum { EVENT_LOG_EVENTS_MAX = 8 * 1024 * 1024, EVENT_LOG_FOLDER_SIZE = 4096 };

/* Zeroed, it is closed, and events are discarded. NULL behaves the same. */
struct event_log {
    struct file_writer writer;
    struct openmetrics gauges;
    const struct job *job;
    char folder[EVENT_LOG_FOLDER_SIZE];
    char run[ATTEMPT_RUN_SIZE];
    unsigned attempt;
    uint64_t reported; /* dropped records that were reported */
    bool open;
    bool concluded;
};

/* JOB outlives it. */
void event_log_open(struct event_log *j, struct loop *loop, struct reaper *reaper,
                    const struct job *job);
void event_log_close(struct event_log *j);

void event_log_set_run(struct event_log *j, const char *run);
/* Sets the attempt of the next records, from 1. */
void event_log_set_attempt(struct event_log *j, unsigned attempt);

/* Adds a record. Takes over MEMBERS, which may be NULL. */
void event_log_put(struct event_log *j, enum event_log_kind kind, json_t *members);
/* Adds that host WHICH is lost; WHY is for people. */
void event_log_host_lost(struct event_log *j, const char *which, const char *why);
/* Adds the last record of a job. */
void event_log_conclude(struct event_log *j, const struct verdict *verdict);

/* Adds a line of a rank, without prefix, with '\n'; ignored if ranks have no files. */
void event_log_rank_line(struct event_log *j, unsigned rank, const char *line, size_t size);

/* Keeps the newest values of a rank's metric line and adds them to the file of all values; ignored
 * unless metrics are requested. */
void event_log_metric_line(struct event_log *j, const char *line, size_t size);
void event_log_put_metrics(struct event_log *j, const struct buf *text);

/* Call it before all children are killed; the next record starts the child again. */
void event_log_rest(struct event_log *j);
/* Returns the child that writes; 0: none. */
pid_t event_log_child(const struct event_log *j);

#endif
