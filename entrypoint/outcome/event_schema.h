/* Schema of the event log: one JSON object per line, described by one table, which
 * docs/reference/events.md shows.
 *
 * Readers ignore members that they do not know; a change of meaning is a new EVENT_SCHEMA_VERSION.
 * Texts come from anywhere: what becomes a member is valid UTF-8 of limited length, without control
 * characters and secrets. */
#ifndef ENTRYPOINT_OUTCOME_EVENT_SCHEMA_H
#define ENTRYPOINT_OUTCOME_EVENT_SCHEMA_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

enum { EVENT_SCHEMA_VERSION = 1, EVENT_SCHEMA_TEXT_MAX = 1024, EVENT_SCHEMA_LINE_MAX = 16 * 1024 };

enum event_log_kind {
    EVENT_LOG_STARTED,
    EVENT_LOG_SAID,
    EVENT_LOG_JOINED,
    EVENT_LOG_LAUNCHED,
    EVENT_LOG_RANKS_STARTED,
    EVENT_LOG_RANK_ENDED,
    EVENT_LOG_STALLED,
    EVENT_LOG_STUCK,
    EVENT_LOG_STRAGGLER,
    EVENT_LOG_HOST_LOST,
    EVENT_LOG_BACK,
    EVENT_LOG_FIRST_FAILURE,
    EVENT_LOG_RANK_LOST,
    EVENT_LOG_STOP,
    EVENT_LOG_ATTEMPT_OVER,
    EVENT_LOG_ATTEMPT,
    EVENT_LOG_METRICS,
    EVENT_LOG_GOODPUT,
    EVENT_LOG_VERDICT,
    EVENT_LOG_DROPPED,
    EVENT_LOG_KINDS,
};

enum { EVENT_SCHEMA_MEMBERS_MAX = 8 };

struct event_schema_row {
    const char *name;
    const char *what;
    const char *members[EVENT_SCHEMA_MEMBERS_MAX]; /* in addition to those of every record */
};

const struct event_schema_row *event_schema_row(enum event_log_kind kind);

/* Members of every record. */
struct event_schema_stamp {
    int64_t time; /* clock_wall() */
    int64_t boot; /* clock_boot(): never jumps, so that differences are true */
    const char *host;
    const char *job;
    const char *run;  /* "" until the hosts have connected */
    unsigned attempt; /* from 1 */
};

/* Returns TEXT (never NULL) as a member, owned by the caller. */
json_t *event_schema_text(const char *text);

/* Appends a record with its '\n'. MEMBERS is an object of the row's members, or NULL. */
int event_schema_line(enum event_log_kind kind, const struct event_schema_stamp *stamp,
                      const json_t *members, struct buf *ret, struct error *err);

/* Appends the table for the page. */
int event_schema_page(struct buf *ret, struct error *err);

#endif
