/* The ranks of this container, seen from its supervisor: one seat for each shim that has said
 * hello. Their lines go to the line sink, what becomes of them to the master:
 *
 *   seated  rank            its program has been told to start
 *   report  (rank_report)   it ended, or its shim vanished
 *   stalled rank seconds    it had shown progress and fell silent
 *
 * and the master's orders come back: stop, kill, release. */
#ifndef ENTRYPOINT_CREW_H
#define ENTRYPOINT_CREW_H

#include "entrypoint/interface.h"
#include "entrypoint/job.h"
#include "entrypoint/link.h"
#include "entrypoint/local.h"
#include "entrypoint/loop.h"

#include <jansson.h>
#include <stdbool.h>

struct seat;

struct crew_sinks {
    void (*tell)(void *context, json_t *message); /* takes the reference */
    void (*line)(void *context, const char *line, size_t size);
    void *context;
};

struct crew {
    struct loop *loop;
    const struct job *job;
    const struct local *local; /* whose folder holds progress files */
    struct crew_sinks sinks;
    int spec;                              /* what programs are started with (launch_spec.h) */
    char master_addr[INTERFACE_TEXT_SIZE]; /* to be set before the first shim comes */
    struct seat *seats;
    struct timer watch; /* over progress */
    unsigned attempt;   /* whose shims have a seat here */
    bool stopping;
    bool killed;
};

/* Makes what this host's shims start their programs with. */
int crew_open(struct crew *c, struct loop *loop, const struct job *job, const struct local *local,
              char *const *environment, const struct crew_sinks *sinks, struct error *err);
void crew_done(struct crew *c);

/* Between two attempts: takes all seats away, so that shims and programs end, and lets none of the
 * old attempt sit down again; then makes ready for the new one, whose hosts may be fewer. */
void crew_clear(struct crew *c, unsigned attempt);
int crew_begin(struct crew *c, char *const *environment, struct error *err);

/* A shim's hello; the link is the crew's from here. Of another attempt it is sent away. */
void crew_seat(struct crew *c, struct link *link, const json_t *hello);

/* SIGTERM to all programs, those still to come too. */
void crew_stop(struct crew *c);
/* SIGKILL to all programs. */
void crew_kill(struct crew *c);
/* Lets a shim that has reported leave. */
void crew_release(struct crew *c, unsigned rank);

#endif
