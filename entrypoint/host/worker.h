/* The supervisor of every host but the first: dials the master, joins with its facts, carries out
 * orders and answers heartbeats until the master's verdict, or until the master is lost.
 *
 *   to the master        join host facts... [fault_code fault_text] [succession [back]],
 *                        alive echo time, stop again, heard, and what executor.h tells
 *   from the master      above address, welcome run, wait run, refuse code text, beat time,
 *                        verdict ..., and executor.h's orders
 *
 * Where the connection to the master is silent, its link goes on over another one (redial.h).
 *
 * To a host that comes while the job runs the master says `wait`, and `welcome` when the next
 * attempt counts on it: the next order that is for it begins that attempt. A refusal with
 * EXIT_CODE_NOT_READY means later, or elsewhere, also to one that is welcome, as long as no job has
 * begun. */
#ifndef ENTRYPOINT_HOST_WORKER_H
#define ENTRYPOINT_HOST_WORKER_H

#include "common/error.h"
#include "entrypoint/host/supervisor.h"

enum {
    WORKER_ANNOUNCE_SECONDS = 5, /* between two lines about what is waited for */
    /* A stop before the join tries so long to reach the master, or all would wait for this host. */
    WORKER_STOP_SECONDS = 5,
};

int worker_run(const struct supervisor_options *options, int *ret_code, struct error *err);

#endif
