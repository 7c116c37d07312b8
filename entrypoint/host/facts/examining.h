/* A host looks at itself for `ringmaster check`, by a child (examine.h): its supervisor waits for
 * no disk and for no other host. The listener is there before the host joins, so that whoever is
 * told of it finds it. */
#ifndef FACTS_EXAMINING_H
#define FACTS_EXAMINING_H

#include "common/net_address.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/task.h"

#include <jansson.h>
#include <stdint.h>

/* Then it is killed, and what it said by then counts. The whole check is to take less than 5 s. */
enum { EXAMINING_MS = 4000 };

struct examining {
    struct loop *loop; /* NULL: never started */
    struct task task;
    struct timer deadline;
    int listener; /* 0: none */
    json_t *found;
    /* FOUND is borrowed. */
    void (*done)(void *context, const json_t *found);
    void *context;
};

/* Listens at ADDRESS, on the first port for MPI's data that is free. */
int examining_listen(struct examining *e, const struct net_address *address,
                     const struct ports *ports, uint16_t *ret_port, struct error *err);

struct examining_options {
    struct loop *loop;
    struct reaper *reaper;
    const struct job *job;
    const char *interface;
    const json_t *order; /* the master's: peers, ask, answer */
    void (*done)(void *context, const json_t *found);
    void *context;
};
int examining_start(struct examining *e, const struct examining_options *options,
                    struct error *err);
void examining_close(struct examining *e);

#endif
