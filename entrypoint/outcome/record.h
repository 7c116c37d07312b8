/* Schema of the event log: one JSON object per line, described by one table, which
 * docs/reference/events.md shows.
 *
 * Readers ignore members that they do not know; a change of meaning is a new RECORD_VERSION. Texts
 * come from anywhere: what becomes a member is valid UTF-8 of limited length, without control
 * characters and secrets. */
#ifndef ENTRYPOINT_OUTCOME_RECORD_H
#define ENTRYPOINT_OUTCOME_RECORD_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

enum { RECORD_VERSION = 1, RECORD_TEXT_MAX = 1024, RECORD_LINE_MAX = 16 * 1024 };

enum record_kind {
    RECORD_STARTED,
    RECORD_SAID,
    RECORD_JOINED,
    RECORD_LAUNCHED,
    RECORD_SEATED,
    RECORD_RANK_ENDED,
    RECORD_STALLED,
    RECORD_STUCK,
    RECORD_STRAGGLER,
    RECORD_HOST_LOST,
    RECORD_BACK,
    RECORD_FIRST_FAILURE,
    RECORD_RANK_LOST,
    RECORD_STOP,
    RECORD_ATTEMPT_OVER,
    RECORD_ATTEMPT,
    RECORD_METRICS,
    RECORD_GOODPUT,
    RECORD_VERDICT,
    RECORD_DROPPED,
    RECORD_KINDS,
};

enum { RECORD_MEMBERS_MAX = 8 };

struct record_row {
    const char *name;
    const char *what;
    const char *members[RECORD_MEMBERS_MAX]; /* in addition to those of every record */
};

const struct record_row *record_row(enum record_kind kind);

/* Members of every record. */
struct record_stamp {
    int64_t time; /* clock_wall() */
    int64_t boot; /* clock_boot(): never jumps, so that differences are true */
    const char *host;
    const char *job;
    const char *run;  /* "" until the hosts have connected */
    unsigned attempt; /* from 1 */
};

/* Returns TEXT (never NULL) as a member, owned by the caller. */
json_t *record_text(const char *text);

/* Appends a record with its '\n'. MEMBERS is an object of the row's members, or NULL. */
int record_line(enum record_kind kind, const struct record_stamp *stamp, const json_t *members,
                struct buf *ret, struct error *err);

/* Appends the table for the page. */
int record_page(struct buf *ret, struct error *err);

#endif
