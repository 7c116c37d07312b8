/* Where a host's numbers (traces/gauges.h) go: to a file every so many seconds
 * (RINGMASTER_METRICS), and to whoever asks at a port (RINGMASTER_METRICS_PORT). */
#ifndef HOST_METER_H
#define HOST_METER_H

#include "entrypoint/host/ranks/crew.h"
#include "entrypoint/host/traces/journal.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/sweep.h"
#include "entrypoint/wire/page.h"

#include <stdbool.h>

/* All pointers outlive it. */
struct meter_options {
    struct loop *loop;
    const struct job *job;
    const struct sweep *sweep; /* while it runs nothing is written */
    const struct crew *crew;
    struct journal *journal; /* whose child writes */
    /* Appends what else this host knows; NULL: nothing. */
    int (*measure)(void *context, struct buf *ret, struct error *err);
    void *context;
};

struct meter {
    struct meter_options o;
    struct timer again;
    struct page page;
    bool over;
    int code; /* that the job has ended with, once it is over */
};

void meter_begin(struct meter *m, const struct meter_options *options);
/* Opens the port, where one is asked for; the error names it. */
int meter_listen(struct meter *m, struct error *err);
/* Nothing more is written, but for what meter_conclude() does. For a zeroed M, too. */
void meter_stop(struct meter *m);
/* The job has ended with CODE: the last numbers. */
void meter_conclude(struct meter *m, int code);
void meter_close(struct meter *m);

#endif
