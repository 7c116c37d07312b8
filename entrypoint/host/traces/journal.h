/* What happened on this host and to the job, for machines and for who asks later: one JSON line an
 * event (outcome/record.h) in BASE/output/data/events-HOST.jsonl, and, where that is asked for,
 * each rank's lines in a file of its own there. A child writes both (os/scribe.h): nothing here
 * waits. */
#ifndef TRACES_JOURNAL_H
#define TRACES_JOURNAL_H

#include "common/attempt.h"
#include "entrypoint/host/traces/gauges.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/scribe.h"
#include "entrypoint/outcome/record.h"
#include "entrypoint/outcome/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes of a host's events, both files together. */
enum { JOURNAL_EVENTS_MAX = 8 * 1024 * 1024, JOURNAL_FOLDER_SIZE = 4096 };

/* Zeroed it is closed: what is put is forgotten. So it is in place of NULL. */
struct journal {
    struct scribe scribe;
    struct gauges gauges;
    const struct job *job;
    char folder[JOURNAL_FOLDER_SIZE];
    char run[ATTEMPT_RUN_SIZE];
    unsigned attempt;
    uint64_t told; /* of what was dropped */
    bool open;
    bool concluded;
};

/* JOB outlives it. */
void journal_open(struct journal *j, struct loop *loop, struct reaper *reaper,
                  const struct job *job);
void journal_close(struct journal *j);

void journal_set_run(struct journal *j, const char *run);
/* The next records are about this attempt, from 1. */
void journal_set_attempt(struct journal *j, unsigned attempt);

/* Takes over MEMBERS, which may be NULL. */
void journal_put(struct journal *j, enum record_kind kind, json_t *members);
/* The last record of a job. */
void journal_conclude(struct journal *j, const struct verdict *verdict);

/* A line of a rank's, without prefix, with '\n'; where ranks have no files it goes nowhere. */
void journal_rank_line(struct journal *j, unsigned rank, const char *line, size_t size);

/* The newest values of ranks' metric lines, and the file that all values go to; where no metrics
 * were asked for, nothing happens. */
void journal_metric_line(struct journal *j, const char *line, size_t size);
void journal_put_metrics(struct journal *j, const struct buf *text);

/* Before all children are swept away; the next record wakes it. */
void journal_rest(struct journal *j);
/* The child that writes; 0: none. */
pid_t journal_child(const struct journal *j);

#endif
