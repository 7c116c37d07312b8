/* Idle detector for programs that report no progress: a program is busy while it prints or its
 * processes use a processor.
 *
 * Without a limit set by the user the program's past decides: one that has never been busy is never
 * called quiet, and a pause that ended by itself raises the limit to four times its length. An
 * exact limit holds from the program's start. Pure: the caller passes times and processor times in.
 */
#ifndef ENTRYPOINT_HOST_MONITOR_IDLE_H
#define ENTRYPOINT_HOST_MONITOR_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct idle {
    uint64_t printed; /* bytes, as last seen */
    int64_t since;    /* since when it is neither heard nor seen busy; 0: not looked at yet */
    int64_t asked_at; /* when its processor time was read; 0: not in this pause */
    int64_t cpu;      /* its processor time then */
    int64_t idle_since;
    int64_t longest; /* longest pause that ended by itself */
    bool quiet;      /* it was reported as quiet */
};

enum idle_news { IDLE_NOTHING, IDLE_QUIET, IDLE_BUSY };

struct idle_facts {
    int64_t now;
    int64_t limit;    /* ns */
    bool exact;       /* the user's own limit, which observations do not change */
    uint64_t printed; /* bytes so far */
    /* Called only if needed, as reading it takes a while. */
    int64_t (*cpu)(void *context);
    void *context;
};

/* Call it every few seconds. QUIET and BUSY alternate. */
enum idle_news idle_look(struct idle *i, const struct idle_facts *facts);

/* Skips a time in which nothing was observed: it does not count. */
void idle_skip(struct idle *i, int64_t now);

/* Returns how long after a look or skip at NOW the next one can find anything, in ns: after an
 * eighth of LIMIT, then at its end. */
int64_t idle_pause(const struct idle *i, int64_t limit, bool exact, int64_t now);

#endif
