/* A host's part in the probe of the shared checkpoint directory (shared_dir_probe.h): carries out
 * the master's orders and cleans up. Sends `proved step word fault`. */
#ifndef ENTRYPOINT_HOST_SHARED_DIR_CHECK_H
#define ENTRYPOINT_HOST_SHARED_DIR_CHECK_H

#include "entrypoint/host/shared_dir_probe.h"
#include "entrypoint/job/job.h"

#include <jansson.h>
#include <stdbool.h>

struct shared_dir_check {
    struct loop *loop; /* borrowed, like everything below */
    struct reaper *reaper;
    const struct job *job;
    const char *run;                              /* the run ID, once there is one */
    void (*tell)(void *context, json_t *message); /* takes the reference */
    void *context;
    struct shared_dir_probe proving;
    char word[SHARED_DIR_PROBE_WORD_SIZE]; /* that this host has written */
};

/* The master's order to take a step. What is none is left alone. */
void shared_dir_check_step(struct shared_dir_check *p, const json_t *order);
/* This life ends: starts to take away what this host has written into the folder of checkpoints.
 * False where there is nothing to do. */
bool shared_dir_check_end(struct shared_dir_check *p);
/* For a zeroed P, too. */
void shared_dir_check_close(struct shared_dir_check *p);

#endif
