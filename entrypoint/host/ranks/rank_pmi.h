/* PMI-1 for the program of a shim (direct/pmi.h): the socket that the program inherits, and the
 * exchange with the supervisor.
 *
 *   shim to supervisor    pairs pairs    what this rank has put; before `barrier`
 *                         barrier        it waits for the others
 *   supervisor to shim    pairs pairs    what all ranks have put; before `passed`
 *                         passed         all have come
 *
 * A program that breaks the protocol loses its socket, and its MPI library ends it. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_PMI_H
#define ENTRYPOINT_HOST_RANKS_RANK_PMI_H

#include "entrypoint/direct/pmi.h"
#include "entrypoint/mpi/rank_environment.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/link.h"

struct rank_pmi {
    struct pmi pmi;
    struct loop *loop;
    struct link *link;  /* borrowed */
    struct watch watch; /* our end */
    int fd;             /* the program's end, until it has started; -1: none */
    struct buf in;
    bool open;
};

/* Opens it for a program with PLACE. MAPPING is the value of PMI_process_mapping, RUN and the
 * attempt name the key-value space. Sets the program's variables. */
int rank_pmi_open(struct rank_pmi *p, struct loop *loop, struct link *link,
                  const struct rank_place *place, const char *run, const char *mapping,
                  struct argv *environment, struct error *err);
/* The program has started, or has not: its end is closed here. */
void rank_pmi_started(struct rank_pmi *p);
/* Closes all. P may be zeroed; so it may for the rest. */
void rank_pmi_close(struct rank_pmi *p);

/* Messages of the supervisor. */
void rank_pmi_pairs(struct rank_pmi *p, const json_t *message);
void rank_pmi_passed(struct rank_pmi *p);

#endif
