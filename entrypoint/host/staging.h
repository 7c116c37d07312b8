/* What has to be fetched before the job begins (job/sources.h), fetched by a child
 * (transfer_task.h), which also brings checkpoints back and asks whether targets (job/targets.h)
 * take files. It is killed when its time is over. */
#ifndef HOST_STAGING_H
#define HOST_STAGING_H

#include "job/job.h"
#include "job/targets.h"
#include "os/loop.h"
#include "os/task.h"

struct staging {
    struct loop *loop; /* NULL: never started */
    struct task task;
    struct timer deadline;
    int64_t seconds;
    bool late;
    void (*line)(void *context, const char *line, size_t size);
    void (*mark)(void *context, const char *line, size_t size);
    void (*done)(void *context, const struct error *failure);
    void *context;
};

struct staging_options {
    struct loop *loop;
    struct reaper *reaper;
    const struct job *job;
    char *const *environment; /* this process's own */
    /* A line of its words, with prefix and line end. */
    void (*line)(void *context, const char *line, size_t size);
    /* It has got further, and how far it is, with line end. */
    void (*mark)(void *context, const char *line, size_t size);
    /* All is there, or FAILURE says what is not. */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

int staging_start(struct staging *s, const struct staging_options *options, struct error *err);
void staging_close(struct staging *s);

static inline bool staging_is_needed(const struct job *job) {
    return sources_any(&job->sources) || targets_any(&job->settings);
}

/* The address of a target, with '/' at its end; the caller owns it. */
enum staging_target { STAGING_CHECKPOINTS, STAGING_MODEL, STAGING_OUTPUT, STAGING_DATA };
json_t *staging_target(const struct job *job, enum staging_target which);

/* The order as JSON (transfer/work.h); the caller owns it. */
json_t *staging_order(const struct job *job, char *const *environment);

#endif
