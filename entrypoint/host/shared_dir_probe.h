/* Whether the folder of checkpoints is one for all hosts: each writes a word of its own into a file
 * there, the next one reads it, and then each removes its own and that which it has read, whose
 * host may be lost. A child does so, with a deadline: its supervisor waits for no disk. */
#ifndef ENTRYPOINT_HOST_SHARED_DIR_PROBE_H
#define ENTRYPOINT_HOST_SHARED_DIR_PROBE_H

#include "common/error.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"

#include <limits.h>
#include <stddef.h>

enum { SHARED_DIR_PROBE_WORD_SIZE = 33, SHARED_DIR_PROBE_SECONDS = 10 };

enum shared_dir_probe_step {
    SHARED_DIR_PROBE_WRITE,
    SHARED_DIR_PROBE_READ,
    SHARED_DIR_PROBE_REMOVE
};

struct shared_dir_probe {
    struct loop *loop; /* NULL: never started */
    struct reaper *reaper;
    struct child child;
    struct timer deadline;
    enum shared_dir_probe_step step;
    int answer; /* what the child says; closed where it has no pid */
    char folder[PATH_MAX];
    void (*done)(void *context, const struct error *fault); /* NULL: good */
    void *context;
};

struct shared_dir_probe_options {
    struct loop *loop;
    struct reaper *reaper;
    const char *base; /* BASE/checkpoints is the folder */
    const char *run;
    size_t host;  /* whose file */
    size_t hosts; /* of the job */
    enum shared_dir_probe_step step;
    const char *word; /* to write, or that is to be read */
    void (*done)(void *context, const struct error *fault);
    void *context;
};

/* 32 hexadecimal digits that no other run has. */
int shared_dir_probe_word(char ret[SHARED_DIR_PROBE_WORD_SIZE], struct error *err);

/* DONE is called from the loop. One that runs is given up. */
int shared_dir_probe_start(struct shared_dir_probe *p,
                           const struct shared_dir_probe_options *options, struct error *err);
void shared_dir_probe_close(struct shared_dir_probe *p);

#endif
