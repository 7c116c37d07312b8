/* Decision after a failed attempt: another one and the pause before it, or the end of the job and
 * its text.
 *
 * A host that failed because of a GPU which cannot be used before it is reset or the machine is
 * restarted (xid.h) leaves the job: another attempt follows only if the job can continue without
 * it.
 *
 * Pure, from the verdict, the number of spares and the settings RINGMASTER_RESTARTS,
 * _RESTART_CODES, _SHRINK and _MIN_HOSTS. */
#ifndef ENTRYPOINT_OUTCOME_RESTART_H
#define ENTRYPOINT_OUTCOME_RESTART_H

#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/settings.h"
#include "entrypoint/outcome/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESTART_WHY_SIZE = 320 };

/* This many attempts in a row without progress beyond earlier ones end the job. */
enum { RESTART_FRUITLESS_MAX = 3 };

/* Progress of the attempts so far, with which the next one is compared. */
struct restart_progress {
    uint64_t best_step; /* of all attempts; 0: no rank has reported one */
    unsigned fruitless; /* number of attempts in a row that did not get beyond best_step */
};

struct restart_facts {
    const struct cluster *cluster; /* for names */
    const struct verdict *verdict; /* of the attempt */
    unsigned attempt;              /* its number, from 1; 0: none had begun */
    size_t hosts_left;             /* that are not lost, spares included */
    bool host_lost;                /* since that attempt began */
    bool followed;                 /* another host may lead the job in place of the first one */
    bool between;  /* the attempt has been judged: a host with a GPU that cannot be used has said so
                      itself, and is lost */
    uint64_t step; /* the furthest that a rank of the attempt reported; 0: none did */
    struct restart_progress before; /* of the attempts before it */
    int stop_host;                  /* the host of a stop that did not end it; -1: none */
};

struct restart_decision {
    bool again;
    int64_t
        pause; /* until the next launch, ns: a second, doubled each time, at most five minutes */
    struct verdict verdict;     /* else: the job's, with a text that names the attempt */
    char why[RESTART_WHY_SIZE]; /* else: for people; "" if there is nothing to explain */
};

/* Adds an attempt that got to STEP at most, 0: none did. As long as no rank of any attempt
 * has reported a step, no attempt counts as without progress. */
void restart_progress_add(struct restart_progress *c, uint64_t step);

void restart_decide(const struct settings *settings, const struct restart_facts *facts,
                    struct restart_decision *ret);

/* Ends the job between two attempts with ERROR of HOST; the verdict on the attempt in FACTS goes
 * into the log tail. WHY is that of a decision, or "". */
void restart_end_between(const struct settings *settings, const struct restart_facts *facts,
                         const struct error *error, int host, const char *why, struct verdict *ret);

#endif
