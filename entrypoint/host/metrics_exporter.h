/* Exporter of a host's metrics (observe/openmetrics.h): to a file at an interval
 * (RINGMASTER_METRICS), and over HTTP at a port (RINGMASTER_METRICS_PORT). */
#ifndef ENTRYPOINT_HOST_METRICS_EXPORTER_H
#define ENTRYPOINT_HOST_METRICS_EXPORTER_H

#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/process_tree.h"
#include "entrypoint/wire/http_page.h"

#include <stdbool.h>

/* All pointers outlive it. */
struct metrics_exporter_options {
    const struct rank_set *rank_set;
    /* Appends further metrics of this host; NULL: none. */
    int (*measure)(void *context, struct buf *ret, struct error *err);
    void *context;
};

struct metrics_exporter {
    const struct services *services; /* NULL: never begun */
    struct metrics_exporter_options o;
    struct timer again;
    struct http_page page;
    bool over;
    int code; /* the job's exit code, once it is over */
};

/* The event log's child writes the file, and nothing is written while the process tree is swept. */
void metrics_exporter_begin(struct metrics_exporter *m, const struct services *services,
                            const struct metrics_exporter_options *options);
/* Opens the port if one is configured; the error names it. */
int metrics_exporter_listen(struct metrics_exporter *m, struct error *err);
/* Stops writing, except by metrics_exporter_conclude(). M may be zeroed. */
void metrics_exporter_stop(struct metrics_exporter *m);
/* Writes the last metrics: the job has ended with CODE. */
void metrics_exporter_conclude(struct metrics_exporter *m, int code);
void metrics_exporter_close(struct metrics_exporter *m);

#endif
