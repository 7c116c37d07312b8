/* Reply of a program that is asked something and ends.
 *
 * Blocks, for a limit at most, in a loop of its own: for commands and for children that may wait,
 * not for a process with another loop. */
#ifndef ENTRYPOINT_OS_ANSWER_H
#define ENTRYPOINT_OS_ANSWER_H

#include "common/argv.h"
#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct program_reply {
    struct buf words; /* both streams, line by line; what is beyond its maximum is dropped */
    int code;         /* its exit code, or 128 + signal */
    int signal;       /* that it died of; 0: none */
    bool late;        /* it was killed at the limit */
};

/* Runs WORDS, of which the first is a path, with exactly ENVIRONMENT, for LIMIT (ns) at most. The
 * caller inits RET's words and owns them in every case. An error only if it cannot be started. */
int answer_ask(const char *const *words, const struct argv *environment, int64_t limit,
               struct program_reply *ret, struct error *err);

#endif
