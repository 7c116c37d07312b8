/* The ringmaster-transfer program as a child.
 *
 * It lies beside this program or is part of it, and gets its order (transfer/download_order.h,
 * transfer/upload_order.h) with the AWS_* variables in sealed memory. */
#ifndef ENTRYPOINT_HOST_PROVISION_TRANSFER_PROCESS_H
#define ENTRYPOINT_HOST_PROVISION_TRANSFER_PROCESS_H

#include "common/argv.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/subprocess.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Appends the words that start the program: its path, or this program's and a command if both are
 * one file. An error if this build has none. */
int transfer_process_command(struct argv *ret, struct error *err);

/* Returns the environment part of an order, owned by the caller. */
json_t *transfer_process_environment(const struct job *job, char *const *environment);

struct transfer_process_options {
    const char *verb; /* prefix of its lines: "fetch" */
    json_t *order;    /* NULL: out of memory */
    int listener;     /* an inherited descriptor, named in the order; 0: none */
    void (*line)(void *context, const char *line, size_t size);
    /* Progress, as text with line end; NULL: not needed. */
    void (*mark)(void *context, const char *line, size_t size);
    void (*ended)(void *context, int code);
    void *context;
    int64_t limit;    /* ns; then it is killed; 0: none */
    bool ends_itself; /* SIGTERM, which all get at a job's end, does not end it */
};

int transfer_process_start(struct subprocess *t, const struct services *services,
                           const struct transfer_process_options *options, struct error *err);

/* Returns the last output line, without line end. Valid until the next call. */
const char *transfer_process_last_word(const struct subprocess *t);

#endif
