/* Start and end of child processes: starting programs, and reaping every process that ends.
 *
 * A program is started without a shell, with exactly the environment that it is given. All signal
 * handlers are at their defaults, and only the signals that are to wait are blocked. stdin is
 * /dev/null, and no descriptor above 2 is open except those that it is to keep. When child_spawn()
 * returns, it is known whether exec worked.
 *
 * Each process has one reaper, which takes every dead child by waitpid: known children, and orphans
 * that were reparented to it. Until then the pid cannot be used again, so a known child's pid is
 * safe to signal. */
#ifndef ENTRYPOINT_OS_CHILD_H
#define ENTRYPOINT_OS_CHILD_H

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum child_group {
    CHILD_SAME_GROUP,
    CHILD_NEW_GROUP,
    CHILD_NEW_SESSION,
};

enum { CHILD_KEEP_MAX = 2, CHILD_HOLD_MAX = 2 };

struct child_options {
    const char *file; /* path of the program */
    char *const *argv;
    char *const *environment; /* NAME=VALUE, NULL at the end */
    int out;                  /* becomes stdout; -1: this process's own */
    int error_out;            /* becomes stderr; -1 likewise */
    enum child_group group;
    const char *directory;    /* where it runs; NULL: as this process */
    int keep[CHILD_KEEP_MAX]; /* descriptors that it inherits under their numbers; 0: none */
    int hold[CHILD_HOLD_MAX]; /* signals that wait until it lets them come; 0: none */
    bool hold_user_signals;   /* so do those that are for the job's programs (user_signals.h) */
    int death_signal;         /* sent to it when this process dies; 0: none */
    bool as_user;             /* user of the job's processes (run_as.h) */
    uint64_t open_files;      /* soft limit of descriptors (fd_limits.h); 0: as this process's */
};

/* Less than other hosts wait for a sign of life (heartbeats go out between two callbacks). */
enum { CHILD_EXEC_SECONDS = 5 };

/* Starts it. The error's code is 127 for a program that is not there and 126 for one that cannot be
 * executed, or not within CHILD_EXEC_SECONDS. */
int child_spawn(const struct child_options *options, pid_t *ret_pid, struct error *err);

/* A child with a callback at its end. Owned by the caller; it stays in place until `ended` was
 * called, or reaper_forget(). */
struct child {
    pid_t pid;
    void (*ended)(void *context, int status); /* wait status, as of waitpid */
    void *context;
    struct child *next;
};

struct reaper {
    struct child *children;
    uint64_t orphans; /* reaped without being known */
};

void reaper_add(struct reaper *r, struct child *c);
void reaper_forget(struct reaper *r, struct child *c);
/* Takes all that are dead now: for each SIGCHLD. Returns false when no child is left at all. */
bool reaper_run(struct reaper *r);

/* The exit code for a wait status: the program's own, or 128 + the signal. */
int child_exit_code(int status);

#endif
