/* Findings of `ringmaster check` as rows.
 *
 * Each row is a verdict on one thing for the hosts that are alike in it.
 *
 * Pure: JSON in, JSON out. What hosts sent is not trusted to have the right types. */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_CHECK_ROWS_H
#define ENTRYPOINT_MASTER_PREFLIGHT_CHECK_ROWS_H

#include "entrypoint/master/preflight/check_item.h"

#include <jansson.h>

/* HOSTS is an array, the master first, of objects that check.c makes: name, slots, joined, fault,
 * fault_code, clock_offset (ns), facts (host_info_json), means, network, warnings. */

/* Adds the rows about single hosts. */
void check_add_hosts(const json_t *hosts, json_t *rows);
/* Adds the rows about the state of GPUs. */
void check_add_gpus(const json_t *hosts, json_t *rows);
/* Adds the rows about the network: connections, bandwidth, packet sizes. */
void check_add_network(const json_t *hosts, json_t *rows);

#endif
