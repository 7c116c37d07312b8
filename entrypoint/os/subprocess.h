/* Program that the supervisor runs for the job (mpirun, orted, ringmaster-transfer).
 *
 * It runs in a session of its own, so that one signal reaches all of its processes, and its output
 * is split into lines. */
#ifndef ENTRYPOINT_OS_SUBPROCESS_H
#define ENTRYPOINT_OS_SUBPROCESS_H

#include "common/argv.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/pipe_reader.h"

#include <stdbool.h>

struct subprocess {
    struct loop *loop; /* NULL: never started */
    struct reaper *reaper;
    struct child child;
    struct timer deadline;
    struct pipe_reader out;
    struct pipe_reader error_out;
    struct tail tail; /* its last words */
    void (*ended)(void *context, int code);
    void *context;
    bool running;
    bool late;  /* it was killed at its limit */
    int signal; /* that it died of; 0: it left by itself, or runs */
};

struct subprocess_options {
    const char *prefix; /* of its lines */
    void (*line)(void *context, const char *line, size_t size);
    /* Of standard output alone, without prefix, where that is not for people; NULL: LINE. */
    void (*mark)(void *context, const char *line, size_t size);
    void (*ended)(void *context, int code); /* its exit code or 128 + signal; lines are complete */
    void *context;                          /* for all */
    int64_t limit;                          /* ns; then it is killed; 0: none */
    const char *directory;                  /* where it runs; NULL: as this process */
    bool as_user;                           /* user of the job's processes (run_as.h) */
    int keep[CHILD_KEEP_MAX];               /* descriptors that it inherits; 0: none */
    int hold[CHILD_HOLD_MAX];               /* signals that wait until it lets them come; 0: none */
    bool hold_user_signals; /* so do those for the job's programs (user_signals.h) */
};

/* ARGV's first word is the program's path. */
int subprocess_start(struct subprocess *t, struct loop *loop, struct reaper *reaper,
                     const struct argv *argv, const struct argv *environment,
                     const struct subprocess_options *options, struct error *err);
void subprocess_done(struct subprocess *t);

/* To its whole process group; not running is fine. */
void subprocess_signal(const struct subprocess *t, int number);

#endif
