/* Choice of UCX for messages between hosts.
 *
 * UCX is Open MPI's way over InfiniBand and RoCE. All ranks of
 * a job have to talk the same way, so that the first host decides for all, by what each has
 * reported (preflight/host_info.h). They are set to choose among all ways but "cm" then (of a list
 * of two, neither would be taken): UCX comes first where it finds a transport that suits it, else
 * TCP does. */
#ifndef ENTRYPOINT_MPI_UCX_H
#define ENTRYPOINT_MPI_UCX_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the Open MPI of this MPIRUN has the component: a file of its, where packages and plain
 * installations put them. NULL has none. */
bool ucx_is_built(const char *mpirun);

struct ucx_hosts {
    size_t all;
    size_t with_device; /* and may use it */
    size_t with_component;
};

enum { UCX_SAID_SIZE = 256 };
struct ucx_choice {
    bool taken;
    bool worse;               /* than it could be: for a warning */
    char said[UCX_SAID_SIZE]; /* "" if no host has a device */
};

/* OPTIONS: the user's own choose what ranks talk by. */
void ucx_choose(const struct ucx_hosts *hosts, bool options, struct ucx_choice *ret);

#endif
