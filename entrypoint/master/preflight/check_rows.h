/* Findings of `ringmaster check` as rows, each a verdict on one thing for the hosts that are alike
 * in it.
 *
 * Pure: JSON in, JSON out. What hosts sent is not trusted to have the right types. */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_CHECK_ROWS_H
#define ENTRYPOINT_MASTER_PREFLIGHT_CHECK_ROWS_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum check_status { CHECK_OK, CHECK_WARNING, CHECK_BAD, CHECK_STATUSES };

/* "ok", "warning", "bad" */
const char *check_status_name(enum check_status status);

enum { CHECK_VALUE_SIZE = 256, CHECK_ADVICE_SIZE = 256 };

/* HOSTS is an array, the master first, of objects that check.c makes: name, slots, joined, fault,
 * fault_code, clock_offset (ns), facts (host_info_json), means, network, warnings. */

/* Appends a row {status, item, value, hosts, advice, code} to ROWS. A bad row ends the check with
 * CODE. */
void check_add(json_t *rows, enum check_status status, const char *item, const char *value,
               json_t *hosts, const char *advice, enum exit_code code);

/* Adds the rows about single hosts. */
void check_add_hosts(const json_t *hosts, json_t *rows);
/* Adds the rows about the state of GPUs. */
void check_add_gpus(const json_t *hosts, json_t *rows);
/* Adds the rows about the network: connections, bandwidth, packet sizes. */
void check_add_network(const json_t *hosts, json_t *rows);

/* Read members of what a host sent, whatever their type: -1 and "" if there is none. */
int64_t check_number(const json_t *host, const char *part, const char *key);
const char *check_text(const json_t *host, const char *part, const char *key);

#endif
