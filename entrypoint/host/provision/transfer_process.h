/* The program ringmaster-transfer as a child: it lies beside this one and gets its order
 * (transfer/download_order.h, transfer/upload_order.h) with the AWS_* variables in sealed memory.
 */
#ifndef ENTRYPOINT_HOST_PROVISION_TRANSFER_PROCESS_H
#define ENTRYPOINT_HOST_PROVISION_TRANSFER_PROCESS_H

#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/subprocess.h"

#include <jansson.h>
#include <limits.h>

/* The program's path, beside this one's; an error where this build has none. */
int transfer_process_program(char path[PATH_MAX], struct error *err);

/* What the order says of the environment; the caller owns it. */
json_t *transfer_process_environment(const struct job *job, char *const *environment);

struct transfer_process_options {
    struct loop *loop;
    struct reaper *reaper;
    const struct job *job;
    const char *verb; /* in front of its lines: "fetch" */
    json_t *order;    /* may be NULL: there was no memory for it */
    int listener;     /* that it inherits, by the number that the order says; 0: none */
    void (*line)(void *context, const char *line, size_t size);
    /* It has got further, and how far it is, with line end; NULL: nobody asks. */
    void (*mark)(void *context, const char *line, size_t size);
    void (*ended)(void *context, int code);
    void *context;
};

int transfer_process_start(struct subprocess *t, const struct transfer_process_options *options,
                           struct error *err);

/* The last line that it said, without line end. Valid until the next call. */
const char *transfer_process_last_word(const struct subprocess *t);

#endif
