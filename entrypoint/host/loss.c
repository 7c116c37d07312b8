#include "entrypoint/host/loss.h"

/* A host that has looked for the master in vain, or waits for an attempt, has nobody to follow;
 * nobody goes on with a job that has not begun, or without all that it needs, which a later life
 * does not fetch. Nor does one wait for its first host to be started anew: whoever starts that one
 * again starts this one again, too, and where nobody does it would wait for nothing; and a host
 * that has had no order cannot know that the others have had none. */
bool loss_lives_on(const struct loss *l, struct succession *s, const struct job *job,
                   const char **why) {
    bool in_vain = succession_is_back(s) && !l->joined;
    bool begun = l->begun && (l->ordered || l->waits || succession_is_again(s));
    bool follows = succession_may_follow(s, job, why) && !in_vain && !l->waits;
    bool returns = succession_may_return(s, job) && begun && !in_vain;
    if (l->joined && !l->ordered && !l->waits && !succession_is_again(s))
        *why = "; the job had not begun here";
    if (l->stopping || !(follows || returns))
        return false;
    s->back = !follows;
    return true;
}

void loss_error(const struct loss *l, const struct succession *s, const struct job *job,
                const char *last, const char *why, struct error *ret) {
    if (l->absent)
        (void)error_set(ret, EXIT_CODE_HOST_LOST,
                        "the master is lost, and nobody listens at its address any more: %s", last);
    else if (succession_is_back(s) && !l->joined)
        (void)error_set(ret, EXIT_CODE_HOST_LOST,
                        "this host was lost, and no master was there within %lld s: %s",
                        (long long)succession_seek_seconds(&job->settings), last);
    else
        (void)error_set(ret, EXIT_CODE_HOST_LOST, "the master is lost: %s%s", last, why);
}
