/* The supervisor of the first host, which runs the job for all: gathers the hosts (join.h), keeps
 * watch over them (lease.h), starts mpirun (launch.h), passes stops on (stop.h), gathers how the
 * ranks ended (reports.h), judges, and tries again where that may help (relaunch.h). When it does
 * which of these is a table (phase.h). Its own host is member 0 and is told and heard like the
 * others, through a post instead of a link. */
#ifndef ENTRYPOINT_MASTER_MASTER_H
#define ENTRYPOINT_MASTER_MASTER_H

#include "common/error.h"
#include "entrypoint/host/supervisor.h"

/* Of the links of members; the context is the member (state.h). */
extern const struct link_events master_member_events;

int master_run(const struct supervisor_options *options, int *ret_code, struct error *err);

#endif
