/* What this host uploads (job/targets.h), by a child (transfer_task.h) that lives as long as the
 * job: checkpoints while it runs, all the rest when its programs have ended. A child that dies
 * before is started again then. */
#ifndef SUPPLY_UPLOADING_H
#define SUPPLY_UPLOADING_H

#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/sweep.h"
#include "entrypoint/os/task.h"

#include <jansson.h>

struct uploading_options {
    struct loop *loop;
    struct reaper *reaper;
    struct sweep *sweep; /* spares the child */
    const struct job *job;
    char *const *environment; /* this process's own */
    /* A line of its words, with prefix and line end. */
    void (*line)(void *context, const char *line, size_t size);
    void *context;
};

struct uploading {
    struct uploading_options options;
    struct task task;
    struct timer hurry; /* what is under way is given up */
    struct timer kill;
    bool open;
    bool finishing;
    void (*done)(void *context, const struct error *failure);
    void *context;
};

int uploading_open(struct uploading *u, const struct uploading_options *options, struct error *err);
void uploading_close(struct uploading *u);

/* The job's programs have ended: uploads all within SECONDS and calls DONE, from the loop. */
void uploading_finish(struct uploading *u, int64_t seconds,
                      void (*done)(void *context, const struct error *failure), void *context);
/* There are SECONDS left at most; 0: none. */
void uploading_hurry(struct uploading *u, int64_t seconds);
/* Nobody waits for it any more. */
void uploading_drop(struct uploading *u);

/* The order as JSON (transfer/outgoing.h); the caller owns it. */
json_t *uploading_order(const struct job *job, char *const *environment);

#endif
