/* Where a host's numbers (observe/openmetrics.h) go: to a file every so many seconds
 * (RINGMASTER_METRICS), and to whoever asks at a port (RINGMASTER_METRICS_PORT). */
#ifndef ENTRYPOINT_HOST_METRICS_EXPORTER_H
#define ENTRYPOINT_HOST_METRICS_EXPORTER_H

#include "entrypoint/host/observe/event_log.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/process_tree.h"
#include "entrypoint/wire/http_page.h"

#include <stdbool.h>

/* All pointers outlive it. */
struct metrics_exporter_options {
    struct loop *loop;
    const struct job *job;
    const struct process_tree *sweep; /* while it runs nothing is written */
    const struct rank_set *rank_set;
    struct event_log *event_log; /* whose child writes */
    /* Appends what else this host knows; NULL: nothing. */
    int (*measure)(void *context, struct buf *ret, struct error *err);
    void *context;
};

struct metrics_exporter {
    struct metrics_exporter_options o;
    struct timer again;
    struct http_page page;
    bool over;
    int code; /* that the job has ended with, once it is over */
};

void metrics_exporter_begin(struct metrics_exporter *m,
                            const struct metrics_exporter_options *options);
/* Opens the port, where one is asked for; the error names it. */
int metrics_exporter_listen(struct metrics_exporter *m, struct error *err);
/* Nothing more is written, but for what metrics_exporter_conclude() does. For a zeroed M, too. */
void metrics_exporter_stop(struct metrics_exporter *m);
/* The job has ended with CODE: the last numbers. */
void metrics_exporter_conclude(struct metrics_exporter *m, int code);
void metrics_exporter_close(struct metrics_exporter *m);

#endif
