/* A worker that has lost its master: whether it lives on, and as what, or what it leaves with. */
#ifndef ENTRYPOINT_HOST_MASTER_LOSS_H
#define ENTRYPOINT_HOST_MASTER_LOSS_H

#include "common/error.h"
#include "entrypoint/host/role_state.h"

/* What it was until then. */
struct master_loss {
    bool begun;    /* all that the job needs was here */
    bool joined;   /* the master had taken it in */
    bool ordered;  /* the job had begun */
    bool waits;    /* for an attempt that would take it back */
    bool stopping; /* a stop was asked for */
    bool absent;   /* it asked to be taken back, and nobody is there */
};

/* Whether a next life begins, and in S whether that is one in which it asks to be taken back. WHY:
 * why it follows nobody, for people. */
bool master_loss_lives_on(const struct master_loss *l, struct role_state *s, const struct job *job,
                          const char **why);
/* What it leaves with where none does: LAST is the last that was known of the master, WHY that of
 * master_loss_lives_on(). */
void master_loss_error(const struct master_loss *l, const struct role_state *s,
                       const struct job *job, const char *last, const char *why, struct error *ret);

#endif
