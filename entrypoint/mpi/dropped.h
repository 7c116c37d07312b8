/* Parser of Open MPI's banner about an inbound connection that it dropped.
 *
 * A rank takes connections only from addresses that the peer has announced as its own. Where
 * something between the hosts translates addresses, it drops every one, says so once on mpirun's
 * standard error, and all ranks wait for ever. The words are the same in 4.1 and 5.0
 * (help-mpi-btl-tcp.txt, "dropped inbound connection"). */
#ifndef ENTRYPOINT_MPI_DROPPED_H
#define ENTRYPOINT_MPI_DROPPED_H

#include "common/net_address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dropped {
    bool open;                 /* within the banner */
    int64_t rank;              /* the peer */
    struct net_address source; /* where its connection came from */
};

/* LINE has no '\n'. True when it completes a banner: rank and source are set then. */
bool dropped_add(struct dropped *d, const char *line, size_t size);

/* Whether LINE says that mpirun could not read such a banner: that of 4.1 garbles the message of a
 * rank on its own host in every third case. What it was about is not known then. */
bool dropped_is_garbled(const char *line, size_t size);

#endif
