/* Installation of the program's Python requirements (job/python_code.h).
 *
 * The image's own pip does it, as a child, once per host, before hosts join.
 *
 * Each output line counts as progress, and so does the fact that it runs: a large package is built
 * silently. It is killed when its time is over. */
#ifndef ENTRYPOINT_HOST_PROVISION_PIP_INSTALL_H
#define ENTRYPOINT_HOST_PROVISION_PIP_INSTALL_H

#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/subprocess.h"

struct pip_install {
    const struct services *services; /* NULL: never started */
    struct subprocess task;
    struct timer pulse;
    int64_t period; /* of the pulse */
    int64_t seconds;
    void (*line)(void *context, const char *line, size_t size);
    void (*runs)(void *context);
    void (*done)(void *context, const struct error *failure);
    void *context;
};

struct pip_install_options {
    /* An output line, with prefix and line end. */
    void (*line)(void *context, const char *line, size_t size);
    /* Called regularly while it runs, so that this host is not given up. */
    void (*runs)(void *context);
    /* The end: success, or FAILURE with pip's last lines. */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

/* The job's program is known. */
int pip_install_start(struct pip_install *i, const struct services *services,
                      const struct pip_install_options *options, struct error *err);
void pip_install_close(struct pip_install *i);

static inline bool pip_install_is_needed(const struct job *job) {
    return job->program.code.package || job->program.code.requirements;
}

#endif
