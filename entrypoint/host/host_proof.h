/* A host's part in showing that all share the folder of checkpoints (proving.h): what it is told to
 * do there, and what is left of it. Tells `proved step word fault`. */
#ifndef HOST_HOST_PROOF_H
#define HOST_HOST_PROOF_H

#include "entrypoint/host/proving.h"
#include "entrypoint/job/job.h"

#include <jansson.h>
#include <stdbool.h>

struct host_proof {
    struct loop *loop; /* borrowed, as all that follows */
    struct reaper *reaper;
    const struct job *job;
    const char *run;                              /* its name, once there is one */
    void (*tell)(void *context, json_t *message); /* takes the reference */
    void *context;
    struct proving proving;
    char word[PROVING_WORD_SIZE]; /* that this host has written */
};

/* The master's order to take a step. What is none is left alone. */
void host_proof_step(struct host_proof *p, const json_t *order);
/* This life ends: starts to take away what this host has written into the folder of checkpoints.
 * False where there is nothing to do. */
bool host_proof_end(struct host_proof *p);
/* For a zeroed P, too. */
void host_proof_close(struct host_proof *p);

#endif
