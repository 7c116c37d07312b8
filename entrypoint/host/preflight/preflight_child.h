/* `ringmaster examine ORDER LISTENER`: looks at one host for `ringmaster check`, as a child of its
 * supervisor (preflight_probe.h). ORDER is a descriptor of sealed memory with JSON, LISTENER one of
 * a listening socket, or 0 on a host without a network for the job. What is found goes to stdout,
 * one JSON object a line: the network, then what the host has, each with a member of its own, so
 * that what hangs takes nothing else with it. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_PREFLIGHT_CHILD_H
#define ENTRYPOINT_HOST_PREFLIGHT_PREFLIGHT_CHILD_H

#include "common/error.h"
#include "entrypoint/host/preflight/network_check.h"

#include <jansson.h>

/* What ORDER says of the other hosts, but for the listener, which is set by the caller. It frees
 * RET_PEERS, in every case. */
int preflight_child_read(const json_t *order, struct network_check_options *ret,
                         struct network_check_peer **ret_peers, struct error *err);

/* WORDS are those behind the command. */
int preflight_child_run(const char *const *words, struct error *err);

#endif
