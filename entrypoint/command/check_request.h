/* Request of `ringmaster check`, as its words have it.
 *
 * With --mpi or --nccl the check is a job of its own: all hosts run `ringtrain check-comm`, which
 * sums numbers among them. */
#ifndef ENTRYPOINT_COMMAND_CHECK_REQUEST_H
#define ENTRYPOINT_COMMAND_CHECK_REQUEST_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/job/job.h"

#include <stdbool.h>

struct check_request {
    const char *comm; /* "mpi", "nccl"; NULL: the table of hosts */
    bool json;
    const char *const *words; /* those after the options: the job's */
};

/* WORDS are those after `check`, NULL at the end, and outlive *RET. A check with a comm has its own
 * program and takes no more words. */
int check_request_read(const char *const *words, struct check_request *ret, struct error *err);
/* Appends the words after `train` of the job that checks; the request has a comm. */
int check_request_program(const struct check_request *request, struct argv *ret, struct error *err);
/* Makes J a check: it downloads and uploads nothing, and is not started anew. */
void check_request_adapt(struct job *j);

#endif
