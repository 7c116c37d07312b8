/* Rule that says when a job stands still: nothing printed and no progress on any rank, for longer
 * than the job's own past explains.
 *
 * Ranks that use no processor are suspected after STANDSTILL_SECONDS. Ranks that do may compute, or
 * wait actively for each other: those are suspected only when they have shown a rhythm before, and
 * the silence is ten times the longest pause in it. A pause that ended by itself raises the limit;
 * an attempt has at most STANDSTILL_ASKED_MAX suspicions. Pure: the caller passes times in, in
 * ns. */
#ifndef ENTRYPOINT_EVIDENCE_STANDSTILL_H
#define ENTRYPOINT_EVIDENCE_STANDSTILL_H

#include <stdbool.h>
#include <stdint.h>

enum { STANDSTILL_SECONDS = 10, STANDSTILL_ASKED_MAX = 4 };

/* Zeroed at the start of an attempt. */
struct standstill {
    int64_t looked_at; /* 0: not yet */
    int64_t still;     /* at the last look */
    bool idle;         /* they used no processor in this pause */
    bool asked;        /* this pause is a suspicion already */
    unsigned suspicions;
    unsigned moved;       /* looks between which something happened */
    int64_t longest;      /* longest pause that ended by itself */
    int64_t longest_idle; /* of those without use of a processor */
};

/* Records that all ranks have stood still for STILL; BUSY: they use a processor. Returns true if
 * this is a suspicion, once per pause. *RET_MOVED: something has happened since the last look. */
bool standstill_look(struct standstill *s, int64_t now, int64_t still, bool busy, bool *ret_moved);

#endif
