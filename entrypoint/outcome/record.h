/* The records of a host's event log: one JSON object a line. Which there are and what they hold is
 * one table, which docs/reference/events.md shows; readers leave members alone that they do not
 * know, and a change of meaning is a new RECORD_VERSION.
 *
 * Texts come from anywhere: what becomes a member is valid UTF-8, without control characters and
 * secrets, and has a length. */
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
    RECORD_STRAGGLER,
    RECORD_HOST_LOST,
    RECORD_BACK,
    RECORD_FIRST_FAILURE,
    RECORD_STOP,
    RECORD_ATTEMPT_OVER,
    RECORD_ATTEMPT,
    RECORD_METRICS,
    RECORD_VERDICT,
    RECORD_DROPPED,
    RECORD_KINDS,
};

enum { RECORD_MEMBERS_MAX = 8 };

struct record_row {
    const char *name;
    const char *what;
    const char *members[RECORD_MEMBERS_MAX]; /* beside those of every record */
};

const struct record_row *record_row(enum record_kind kind);

/* What every record has. */
struct record_stamp {
    int64_t time; /* clock_wall() */
    int64_t boot; /* clock_boot(): never steps, so that differences are true */
    const char *host;
    const char *job;
    const char *run;  /* "" until the hosts have met */
    unsigned attempt; /* from 1 */
};

/* TEXT (never NULL) as a member; the caller owns it. */
json_t *record_text(const char *text);

/* Appends the line, '\n' included. MEMBERS is an object of the row's members, or NULL. */
int record_line(enum record_kind kind, const struct record_stamp *stamp, const json_t *members,
                struct buf *ret, struct error *err);

/* The page's table. */
int record_page(struct buf *ret, struct error *err);

#endif
