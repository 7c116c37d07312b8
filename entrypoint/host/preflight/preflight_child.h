/* The `ringmaster examine` command: examines one host as a child of its supervisor.
 *
 *   examine ORDER LISTENER   for `ringmaster check` (preflight_probe.h)
 *   examine plugin           NCCL's network plugin (net_plugin.h), with the environment of ranks
 *                            (device_probe.h)
 *   examine gpus             what the driver says of the GPUs (gpu/gpu_child.h)
 *   examine memory           waits for their memory to be free
 *   examine xids             prints a line for each Xid until it is ended
 *
 * ORDER is a descriptor of sealed memory with JSON, LISTENER a listening socket, or 0 on a host
 * without a network for the job. Findings go to stdout, one JSON object per line: the network, then
 * the resources, then the data (data_look.h), each with a member of its own, so that a hanging part
 * does not lose the others. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_PREFLIGHT_CHILD_H
#define ENTRYPOINT_HOST_PREFLIGHT_PREFLIGHT_CHILD_H

#include "common/error.h"
#include "entrypoint/host/preflight/network_check.h"

#include <jansson.h>

/* Reads what ORDER says about the other hosts, except the listener, which the caller sets. The
 * caller frees RET_PEERS in every case. */
int preflight_child_read(const json_t *order, struct network_check_options *ret,
                         struct network_check_peer **ret_peers, struct error *err);

/* Runs the command. WORDS are its arguments. */
int preflight_child_run(const char *const *words, char *const *environment, struct error *err);

#endif
