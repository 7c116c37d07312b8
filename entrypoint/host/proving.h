/* Whether the folder of checkpoints is one for all hosts: each writes a word of its own into a file
 * there, the next one reads it, and then each removes its own and that which it has read, whose
 * host may be lost. A child does so, with a deadline: its supervisor waits for no disk. */
#ifndef HOST_PROVING_H
#define HOST_PROVING_H

#include "common/error.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"

#include <limits.h>
#include <stddef.h>

enum { PROVING_WORD_SIZE = 33, PROVING_SECONDS = 10 };

enum proving_step { PROVING_WRITE, PROVING_READ, PROVING_REMOVE };

struct proving {
    struct loop *loop; /* NULL: never started */
    struct reaper *reaper;
    struct child child;
    struct timer deadline;
    enum proving_step step;
    int answer; /* what the child says; closed where it has no pid */
    char folder[PATH_MAX];
    void (*done)(void *context, const struct error *fault); /* NULL: good */
    void *context;
};

struct proving_options {
    struct loop *loop;
    struct reaper *reaper;
    const char *base; /* BASE/checkpoints is the folder */
    const char *run;
    size_t host;  /* whose file */
    size_t hosts; /* of the job */
    enum proving_step step;
    const char *word; /* to write, or that is to be read */
    void (*done)(void *context, const struct error *fault);
    void *context;
};

/* 32 hexadecimal digits that no other run has. */
int proving_word(char ret[PROVING_WORD_SIZE], struct error *err);

/* DONE is called from the loop. One that runs is given up. */
int proving_start(struct proving *p, const struct proving_options *options, struct error *err);
void proving_close(struct proving *p);

#endif
