/* Server side of PMI-1 for one rank: how MPICH, MVAPICH and Intel MPI find the other ranks when no
 * launcher of theirs has started them.
 *
 * The program inherits a socket, whose number is in PMI_FD, and sends lines such as "cmd=init
 * pmi_version=1 pmi_subversion=1". Each gets one line as its answer, that of barrier_in when all
 * ranks have come. Pairs that a rank puts are seen by the others after the next barrier. What is
 * not offered (spawning, publishing names) is answered with an error. Pure: no socket.
 * Source: Flux RFC 13; MPICH 4.0, src/pmi/simple. */
#ifndef ENTRYPOINT_DIRECT_PMI_H
#define ENTRYPOINT_DIRECT_PMI_H

#include "common/argv.h"
#include "common/buf.h"
#include "entrypoint/direct/pmi_space.h"
#include "entrypoint/job/cluster/cluster.h"

#include <stdbool.h>

enum { PMI_LINE_MAX = 2048, PMI_MAPPING_SIZE = PMI_VALUE_MAX + 1, PMI_NAME_SIZE = 64 };

struct pmi {
    unsigned size;
    char name[PMI_NAME_SIZE];       /* of the key-value space; the same for all ranks */
    char mapping[PMI_MAPPING_SIZE]; /* value of PMI_process_mapping; "": not offered */
    struct pmi_space space;         /* what all ranks have put before the last barrier */
    struct pmi_space fresh;         /* what this rank has put since */
    bool waits;                     /* in a barrier */
};

void pmi_done(struct pmi *p);

enum pmi_next {
    PMI_ANSWERED,
    PMI_BARRIER, /* the rank waits for pmi_pass; what it put is in `fresh`, which the caller frees
                  */
    PMI_BROKEN,  /* no line of PMI-1, or one out of turn: the caller closes the socket */
};

/* Handles a LINE of SIZE bytes without its end and appends the answer, with its end. */
enum pmi_next pmi_line(struct pmi *p, const char *line, size_t size, struct buf *answer);

/* All ranks have come to the barrier; `space` holds what they have put. Appends the answer. */
void pmi_pass(struct pmi *p, struct buf *answer);

/* Writes which ranks share a host, as PMI_process_mapping says it; "" if that has no room. */
void pmi_mapping(const struct cluster *cluster, char ret[PMI_MAPPING_SIZE]);

/* Adds PMI_FD, PMI_RANK and PMI_SIZE. */
int pmi_environment(int fd, unsigned rank, unsigned size, struct argv *environment,
                    struct error *err);

#endif
