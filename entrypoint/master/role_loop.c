#include "entrypoint/master/role_loop.h"

#include "entrypoint/host/worker/worker.h"
#include "entrypoint/master/master.h"

static int run_role(const struct supervisor_options *options, int *ret_code, struct error *err) {
    bool master = cluster_is_master(&options->job->cluster);
    return master ? master_run(options, ret_code, err) : worker_run(options, ret_code, err);
}

/* a check starts no attempt that could continue */
int role_loop_run(struct supervisor_options *options, int *ret_code, struct error *err) {
    struct role_state role_state;
    if (role_state_open(&role_state, options->job, err) != 0)
        return -1;
    options->role_state = options->check ? NULL : &role_state;
    int result = run_role(options, ret_code, err);
    while (result == 0 && role_state.over) {
        if (role_state.back)
            role_state_return(&role_state, options->job);
        else if (role_state.anew)
            role_state_lead(&role_state, options->job);
        else
            role_state_follow(&role_state, options->job);
        result = run_role(options, ret_code, err);
    }
    options->role_state = NULL;
    role_state_close(&role_state);
    return result;
}
