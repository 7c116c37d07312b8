/* Comparison of where all ranks of a job are: which of them wait in a collective operation, and
 * which have not come to it; or which one waits elsewhere than all others (odd_wait.h). Pure. */
#ifndef ENTRYPOINT_EVIDENCE_STUCK_H
#define ENTRYPOINT_EVIDENCE_STUCK_H

#include "entrypoint/evidence/stack_reading.h"

#include <stdbool.h>
#include <stddef.h>

enum { STUCK_EXCEPTION_SIZE = 320 };

struct stuck_rank {
    const char *host; /* borrowed */
    bool known;       /* its host has answered */
    bool ended;       /* its program has */
    struct stack_reading at;
    char exception[STUCK_EXCEPTION_SIZE]; /* after which it has not ended; "": none */
    const char *waits; /* borrowed; what its threads wait in (thread_states.h); NULL: unknown */
};

enum { STUCK_TEXT_SIZE = 448 };

struct stuck_finding {
    int rank;  /* the first that has not come; -1: none in particular */
    int other; /* one of the others, where RANK alone waits elsewhere than them; else -1 */
    char text[STUCK_TEXT_SIZE];
};

/* Compares COUNT ranks. Returns false if nothing sets some of them apart. */
bool stuck_find(const struct stuck_rank *ranks, size_t count, struct stuck_finding *ret);

/* Appends the numbers of the ranks for which CHOSEN is true to TEXT, "ranks 1, 4 and 6 on a, b", at
 * most a few of them. HOSTS are by rank. */
void stuck_list(const bool *chosen, const struct stuck_rank *ranks, size_t count, char *ret,
                size_t size);

#endif
