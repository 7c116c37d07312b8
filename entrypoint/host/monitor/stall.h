/* Stall detector for ranks that report progress.
 *
 * The longest gap seen between two progress marks sets the threshold of the warning and, on
 * request, of the limit; the user's limit holds in any case. Pure: the caller passes times and
 * marks in. */
#ifndef ENTRYPOINT_HOST_MONITOR_STALL_H
#define ENTRYPOINT_HOST_MONITOR_STALL_H

#include "common/system/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct stall {
    uint64_t marks;    /* marks as last seen; 0: it has made none */
    int64_t marked_at; /* when they were seen to change */
    int64_t looked_at; /* the last time */
    int64_t longest;   /* longest gap before a mark, as far as it was observed */
    uint64_t patience; /* as given with the last mark; UINT64_MAX: none */
    uint64_t usual;    /* the smallest patience of these gaps */
    unsigned seen;     /* number of gaps */
    bool late;         /* it was reported as late in this silence */
    bool stalled;      /* it was reported as stalled; stays set */
};

enum stall_news { STALL_NOTHING, STALL_LATE, STALL_STALLED };

struct stall_rule {
    int64_t most; /* ns, unless the rank's own patience is longer; 0: no limit */
    bool learned; /* a silence twice as long as one that makes it late is a stall, too */
};

/* Call it now and then. Returns LATE once per silence, before its limit: when it is ten times as
 * long as any before. */
enum stall_news stall_look(struct stall *v, const struct progress_state *state,
                           const struct stall_rule *rule, int64_t now);

/* Returns how long its silence may last by RULE, in ns: its own patience, or what was learned if
 * that is less; 0: forever. A silence for which it has asked for more patience than for the gaps
 * learned from does not count as one. */
int64_t stall_limit(const struct stall *v, const struct progress_state *state,
                    const struct stall_rule *rule);

/* Skips a time in which nothing was observed: it does not count. */
void stall_skip(struct stall *v, int64_t now);

/* Returns true if it has made no mark, or enough to learn from: until then looks should stay
 * frequent, as only frequent looks measure its gaps. */
bool stall_is_taught(const struct stall *v);

/* Returns how long until the next look if nothing else wakes this process: longer than PAUSE (0:
 * the first one, or a rank is still being learned), and at most a part of LIMIT, in ns. */
int64_t stall_pause(int64_t pause, int64_t limit);

#endif
