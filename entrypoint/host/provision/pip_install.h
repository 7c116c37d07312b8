/* What the program's code asks for (job/python_code.h), installed by the image's own pip as a
 * child, once a host, before hosts join. Each of its lines is a step forward, and so is that it
 * runs at all: a large package is built without a word. It is killed when its time is over. */
#ifndef ENTRYPOINT_HOST_PROVISION_PIP_INSTALL_H
#define ENTRYPOINT_HOST_PROVISION_PIP_INSTALL_H

#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/subprocess.h"

struct pip_install {
    struct loop *loop; /* NULL: never started */
    struct subprocess task;
    struct timer deadline;
    struct timer pulse;
    int64_t period; /* of the pulse */
    int64_t seconds;
    bool late;
    void (*line)(void *context, const char *line, size_t size);
    void (*runs)(void *context);
    void (*done)(void *context, const struct error *failure);
    void *context;
};

struct pip_install_options {
    struct loop *loop;
    struct reaper *reaper;
    const struct job *job;    /* its program is known */
    char *const *environment; /* this process's own */
    /* A line of its words, with prefix and line end. */
    void (*line)(void *context, const char *line, size_t size);
    /* It runs still: often enough that nobody who waits for a host gives this one up. */
    void (*runs)(void *context);
    /* All is there, or FAILURE, with pip's last words. */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

int pip_install_start(struct pip_install *i, const struct pip_install_options *options,
                      struct error *err);
void pip_install_close(struct pip_install *i);

static inline bool pip_install_is_needed(const struct job *job) {
    return job->program.code.package || job->program.code.requirements;
}

#endif
