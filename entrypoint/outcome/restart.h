/* Whether a failed attempt is followed by another one, and after which pause: pure decisions, from
 * the verdict and the settings RINGMASTER_RESTARTS, _SHRINK and _MIN_HOSTS. */
#ifndef OUTCOME_RESTART_H
#define OUTCOME_RESTART_H

#include "job/settings.h"
#include "outcome/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESTART_WHY_SIZE = 320 };

struct restart_facts {
    const struct verdict *verdict; /* not success */
    unsigned attempt;              /* the one that it ended, from 1 */
    size_t hosts_left;             /* that are not lost */
    bool host_lost;                /* since that attempt began */
};

/* False with a WHY that is fit for people, "" where there is nothing to explain. */
bool restart_follows(const struct settings *settings, const struct restart_facts *facts,
                     char why[RESTART_WHY_SIZE]);

/* From the end of this attempt to the next launch, ns: a second, twice as long each time, five
 * minutes at most. */
int64_t restart_pause(unsigned attempt);

/* Adds to the text of the last attempt's verdict which attempt it was; nothing where no restarts
 * were asked for. */
void restart_tell(const struct settings *settings, unsigned attempt, const char *why,
                  struct verdict *verdict);

#endif
