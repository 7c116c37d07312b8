/* Stall detector for ranks that report progress.
 *
 * The longest gap seen between two progress marks sets the threshold of the warning and, on
 * request, of the limit; the user's limit holds in any case. Pure: the caller passes times and
 * marks in. */
#ifndef ENTRYPOINT_HOST_MONITOR_STALL_H
#define ENTRYPOINT_HOST_MONITOR_STALL_H

#include "common/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct stall {
    uint64_t marks;    /* marks as last seen; 0: it has made none */
    int64_t marked_at; /* when they were seen to change */
    int64_t looked_at; /* the last time */
    int64_t longest;   /* silence before a mark, as far as it was seen */
    uint64_t patience; /* with the last mark; UINT64_MAX: it told none */
    uint64_t usual;    /* the least of those silences' */
    unsigned seen;     /* such silences */
    bool late;         /* it was called so in this silence */
    bool stalled;      /* likewise, and stays so */
};

enum stall_news { STALL_NOTHING, STALL_LATE, STALL_STALLED };

struct stall_rule {
    int64_t most; /* ns, where the rank's own patience is not less; 0: none */
    bool learned; /* a silence twice as long as one that makes it late is a stall, too */
};

/* To be called every now and then. LATE once a silence, before its limit: ten times as long as ever
 * before. */
enum stall_news stall_look(struct stall *v, const struct progress_state *state,
                           const struct stall_rule *rule, int64_t now);

/* How long its silence may last by RULE, ns: the patience that it has told, or what it has taught
 * where that is less; 0: for ever. A silence for which it has asked for more patience than for
 * those that taught is no such one. */
int64_t stall_limit(const struct stall *v, const struct progress_state *state,
                    const struct stall_rule *rule);

/* Time has passed in which nobody looked: it counts for nothing. */
void stall_skip(struct stall *v, int64_t now);

/* Whether it has made no mark, or enough of them to teach: until then looks should not become rare,
 * as only close ones see how long its silences are. */
bool stall_is_taught(const struct stall *v);

/* How long until the next look, where nothing else wakes this process: after PAUSE (0: the first,
 * or a rank is still to teach), and a part of LIMIT, ns. */
int64_t stall_pause(int64_t pause, int64_t limit);

#endif
