#include "entrypoint/host/failover/master_loss.h"

/* Decides whether this host outlives the loss of its master. It follows no other host if its own
 * search for the master failed or if it waits for an attempt. It does not go on if the job has not
 * begun, or if inputs are missing, because a later life does not fetch them. Nor does it wait for a
 * first host that was started again if it has never received an order: a platform that restarts
 * that host also restarts this one, and this one cannot know that the other hosts have no order
 * either. */
bool master_loss_may_follow(const struct master_loss *l, struct role_state *s,
                            const struct job *job, const char **why) {
    bool in_vain = role_state_is_back(s) && !l->joined;
    bool begun = l->begun && (l->ordered || l->waits || role_state_is_again(s));
    bool follows = role_state_may_follow(s, job, why) && !in_vain && !l->waits;
    bool returns = role_state_may_return(s, job) && begun && !in_vain && !l->stop_requested;
    if (l->joined && !l->ordered && !l->waits && !role_state_is_again(s))
        *why = "; the job had not begun here";
    if (l->unfit != NULL || l->stopping || !(follows || returns))
        return false;
    s->back = !follows;
    s->stopping = s->stopping || l->stop_requested; /* its next master has not learned of it */
    return true;
}

void master_loss_error(const struct master_loss *l, const struct role_state *s,
                       const struct job *job, const char *last, const char *why,
                       struct error *ret) {
    if (l->unfit != NULL) /* the master has heard that, and goes on without this host */
        (void)error_set(ret, EXIT_CODE_DEVICE, "%s; this host leaves the job", l->unfit->text);
    else if (l->absent)
        (void)error_set(ret, EXIT_CODE_HOST_LOST,
                        "the master is lost, and nothing listens at its address any more: %s",
                        last);
    else if (role_state_is_back(s) && !l->joined)
        (void)error_set(ret, EXIT_CODE_HOST_LOST,
                        "this host was lost and found no master within %lld s: %s",
                        (long long)role_state_search_seconds(&job->settings), last);
    else
        (void)error_set(ret, EXIT_CODE_HOST_LOST, "the master is lost: %s%s", last, why);
}
