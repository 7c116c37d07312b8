/* What follows a failed attempt: another one, after which pause, or the job's end, in which words.
 * Pure decisions, from the verdict and the settings RINGMASTER_RESTARTS, _RESTART_CODES, _SHRINK
 * and _MIN_HOSTS. */
#ifndef ENTRYPOINT_OUTCOME_RESTART_H
#define ENTRYPOINT_OUTCOME_RESTART_H

#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/settings.h"
#include "entrypoint/outcome/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESTART_WHY_SIZE = 320 };

/* So many attempts in a row that get no further than one before them end the job. */
enum { RESTART_FRUITLESS_MAX = 3 };

/* How far the job's attempts have come so far: what the next one is held against. */
struct restart_progress {
    uint64_t best_step; /* of all of them; 0: no rank has told one */
    unsigned fruitless; /* of them, in a row, that did not get beyond best_step */
};

struct restart_facts {
    const struct cluster *cluster;  /* for names */
    const struct verdict *verdict;  /* of the attempt */
    unsigned attempt;               /* which it was, from 1; 0: none had begun */
    size_t hosts_left;              /* that are not lost */
    bool host_lost;                 /* since that attempt began */
    uint64_t step;                  /* the furthest that a rank of the attempt told; 0: none did */
    struct restart_progress before; /* of the attempts before it */
    int stop_host;                  /* who asked for a stop that did not end it; -1: nobody */
};

struct restart_decision {
    bool again;
    int64_t pause;          /* until the next launch, ns: a second, twice as long each time, five
                               minutes at most */
    struct verdict verdict; /* else: the job's, in words that say which attempt it was */
    char why[RESTART_WHY_SIZE]; /* else: for people; "" where there is nothing to explain */
};

/* Adds an attempt whose ranks have told STEP at most, 0: none has. Where no rank of any attempt has
 * told a step nothing is known of fruits, and no attempt is without. */
void restart_progress_add(struct restart_progress *c, uint64_t step);

void restart_decide(const struct settings *settings, const struct restart_facts *facts,
                    struct restart_decision *ret);

/* The end of the job between two attempts, by ERROR of HOST; what the attempt in FACTS came to is
 * its story. WHY is of a decision, or "". */
void restart_end_between(const struct settings *settings, const struct restart_facts *facts,
                         const struct error *error, int host, const char *why, struct verdict *ret);

#endif
