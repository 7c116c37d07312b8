/* Item that `ringmaster check` looks at on each host.
 *
 * Hosts of which the same is found are one row of its result. Pure. */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_CHECK_ITEM_H
#define ENTRYPOINT_MASTER_PREFLIGHT_CHECK_ITEM_H

#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

enum check_status { CHECK_OK, CHECK_WARNING, CHECK_BAD, CHECK_STATUSES };

/* "ok", "warning", "bad" */
const char *check_status_name(enum check_status status);

enum { CHECK_VALUE_SIZE = 256, CHECK_ADVICE_SIZE = 256 };

/* Appends a row {status, item, value, hosts, advice, code} to ROWS. A bad row ends the check with
 * CODE. */
void check_add(json_t *rows, enum check_status status, const char *item, const char *value,
               json_t *hosts, const char *advice, enum exit_code code);

/* Read members of what a host sent, whatever their type: -1 and "" if there is none. */
int64_t check_number(const json_t *host, const char *part, const char *key);
const char *check_text(const json_t *host, const char *part, const char *key);

struct check_finding {
    enum check_status status;
    enum exit_code code;          /* of a bad one */
    char value[CHECK_VALUE_SIZE]; /* "": no row */
    char advice[CHECK_ADVICE_SIZE];
};

/* Sets the value; adds advice, which makes it a warning; adds advice that ends the check with CODE.
 */
void check_put(struct check_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void check_warn(struct check_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void check_fail(struct check_finding *f, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct check_item {
    const char *name;
    const char *wants[2]; /* parts of a host's report that it needs; NULL: none */
    void (*look)(const json_t *host, const json_t *master, struct check_finding *f);
};

/* Looks at all HOSTS, the master first, and adds the rows. */
void check_item_add(const struct check_item *item, const json_t *hosts, json_t *rows);

#endif
