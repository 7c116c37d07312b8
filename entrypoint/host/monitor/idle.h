/* Idle detector for programs that report no progress: a program is busy while it prints or its
 * processes use a processor. Without a limit of the user's, what it has done before decides: one
 * that has never been busy is never called quiet, and a rest that ended by itself raises the limit
 * to four times as long. An exact limit holds from the program's start. Pure: the caller passes
 * times and processor times in. */
#ifndef ENTRYPOINT_HOST_MONITOR_IDLE_H
#define ENTRYPOINT_HOST_MONITOR_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct idle {
    uint64_t printed; /* bytes, as last seen */
    int64_t since;    /* neither heard nor seen busy; 0: not looked at yet */
    int64_t asked_at; /* when its processor time was asked for; 0: not in this spell */
    int64_t cpu;      /* what it was then */
    int64_t idle_since;
    int64_t longest; /* rest that ended by itself */
    bool quiet;      /* it was called so */
};

enum idle_news { IDLE_NOTHING, IDLE_QUIET, IDLE_BUSY };

struct idle_facts {
    int64_t now;
    int64_t limit;    /* ns */
    bool exact;       /* the user's own limit, which nothing that was seen changes */
    uint64_t printed; /* bytes so far */
    /* Asked only where it may matter: reading it takes a while. */
    int64_t (*cpu)(void *context);
    void *context;
};

/* To be called every few seconds. QUIET and BUSY come in turns. */
enum idle_news idle_look(struct idle *i, const struct idle_facts *facts);

/* Time has passed in which nobody looked: it counts for nothing. */
void idle_skip(struct idle *i, int64_t now);

/* How long after a look, or a skip, at NOW, the next one can find anything, ns: when a silence has
 * lasted an eighth of LIMIT, then when all of it is over. */
int64_t idle_pause(const struct idle *i, int64_t limit, bool exact, int64_t now);

#endif
