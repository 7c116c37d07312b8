/* A host's part in the probe of the shared checkpoint directory (shared_dir_probe.h): carries out
 * the master's orders and cleans up. Sends `dir_probed step word fault`. */
#ifndef ENTRYPOINT_HOST_FAILOVER_SHARED_DIR_CHECK_H
#define ENTRYPOINT_HOST_FAILOVER_SHARED_DIR_CHECK_H

#include "entrypoint/host/failover/shared_dir_probe.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"

#include <jansson.h>
#include <stdbool.h>

struct shared_dir_check {
    const struct services *services;              /* borrowed, like everything below */
    const char *run;                              /* the run ID, once there is one */
    void (*send)(void *context, json_t *message); /* takes the reference */
    void *context;
    struct shared_dir_probe probe;
    char word[SHARED_DIR_PROBE_WORD_SIZE]; /* in the file that this host has written */
};

/* Carries out the master's order of a step. Invalid orders are ignored. */
void shared_dir_check_step(struct shared_dir_check *p, const json_t *order);
/* The role ends: starts to remove what this host has written into the checkpoint directory. Returns
 * false if there is nothing to do. */
bool shared_dir_check_end(struct shared_dir_check *p);
/* P may be zeroed. */
void shared_dir_check_close(struct shared_dir_check *p);

#endif
