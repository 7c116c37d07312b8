/* Supervisor in the role of worker: that of every host but the first.
 *
 * It connects to the master, joins with its host information, carries out orders and answers
 * heartbeats, until the master's verdict or the loss of the master.
 *
 *   to the master        join host facts... [fault_code fault_text] [pid1] [master_exit]
 *                      [succession [back]],
 *                      alive echo time, stop again, heard, and messages of executor.h
 *   from the master      parent address, welcome run [pid1], standby run [pid1], refuse code text,
 *                      beat time,
 *                      verdict ..., and orders of executor.h
 *
 * If the connection to the master falls silent, the link continues over a new one (redial.h).
 *
 * A host that connects while the job runs gets `standby`, and `welcome` once the next attempt
 * counts on it: the next order to it begins that attempt. A refusal with EXIT_CODE_NOT_READY means
 * later, or elsewhere, also to a host that was welcomed, as long as no job has begun. */
#ifndef ENTRYPOINT_HOST_WORKER_WORKER_H
#define ENTRYPOINT_HOST_WORKER_WORKER_H

#include "common/error.h"
#include "entrypoint/host/supervisor.h"

enum {
    WORKER_ANNOUNCE_SECONDS = 5, /* between two log lines about what it waits for */
    /* A stop before the join tries for this long to reach the master, or all hosts would wait for
     * this one. */
    WORKER_STOP_SECONDS = 5,
};

int worker_run(const struct supervisor_options *options, int *ret_code, struct error *err);

#endif
