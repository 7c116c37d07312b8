/* What `ringmaster check` makes of what all hosts have told: rows, each a verdict on one thing for
 * the hosts that are alike in it. Pure: JSON in, JSON out, and what hosts told is not trusted to
 * be of the right type. */
#ifndef ENTRYPOINT_MASTER_CHECK_ROWS_H
#define ENTRYPOINT_MASTER_CHECK_ROWS_H

#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum check_status { CHECK_OK, CHECK_WARNING, CHECK_BAD, CHECK_STATUSES };

/* "ok", "warning", "bad" */
const char *check_status_name(enum check_status status);

enum { CHECK_VALUE_SIZE = 256, CHECK_ADVICE_SIZE = 256 };

/* HOSTS is an array, the master first, of objects as check.c makes them: name, slots, joined,
 * fault, fault_code, clock_offset (ns), facts (host_info_json), means, network, warnings. */

/* Appends a row {status, item, value, hosts, advice, code} to ROWS; CODE is what a bad one ends the
 * check with. */
void check_add(json_t *rows, enum check_status status, const char *item, const char *value,
               json_t *hosts, const char *advice, enum exit_code code);

/* Each thing on each host. */
void check_add_hosts(const json_t *hosts, json_t *rows);
/* Between them: reach, bandwidth, packets. */
void check_add_network(const json_t *hosts, json_t *rows);

/* Members of what a host told, whatever it told: -1 and "" where there is none. */
int64_t check_number(const json_t *host, const char *part, const char *key);
const char *check_text(const json_t *host, const char *part, const char *key);

#endif
