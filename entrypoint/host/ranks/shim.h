/* State of a shim (rank.h).
 *
 * Here, too, are the events of its link to the supervisor, with the shim as their context. */
#ifndef ENTRYPOINT_HOST_RANKS_SHIM_H
#define ENTRYPOINT_HOST_RANKS_SHIM_H

#include "entrypoint/host/ranks/rank_pmi.h"
#include "entrypoint/mpi/rank_environment.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/outcome/traceback_frame.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/link.h"

#include <stdbool.h>

struct shim {
    struct loop loop;
    struct reaper reaper;
    struct link *link;
    struct child program;
    struct timer leave;
    char *const *environment; /* that it was started in, with its place */
    struct rank_place place;
    enum rank_cause cause;
    int out[2]; /* pipes: [0] goes to the supervisor, [1] to the program */
    int error_out[2];
    int progress;        /* -1: none */
    struct rank_pmi pmi; /* of ranks that were started directly */
    char
        error_file[CONTROL_SOCKET_FILE_SIZE]; /* (outcome/error_file.h); "": the program has none */
    struct traceback_folders folders;         /* of the program's own code */
    int code;
    bool direct; /* started by the supervisor, which alone ends it, and not by mpirun */
    bool running;
    bool ended;
};

extern const struct link_events shim_events;

#endif
