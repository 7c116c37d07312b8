#include "entrypoint/master/role_loop.h"

#include "entrypoint/host/worker.h"
#include "entrypoint/master/master.h"

static int run_role(const struct supervisor_options *options, int *ret_code, struct error *err) {
    bool master = cluster_is_master(&options->job->cluster);
    return master ? master_run(options, ret_code, err) : worker_run(options, ret_code, err);
}

/* A check begins no attempt that could go on. */
int role_loop_run(struct supervisor_options *options, int *ret_code, struct error *err) {
    struct role_state succession;
    if (role_state_open(&succession, options->job, err) != 0)
        return -1;
    options->succession = options->check ? NULL : &succession;
    int result = run_role(options, ret_code, err);
    while (result == 0 && succession.over) {
        if (succession.back)
            role_state_return(&succession, options->job);
        else if (succession.anew)
            role_state_lead(&succession, options->job);
        else
            role_state_follow(&succession, options->job);
        result = run_role(options, ret_code, err);
    }
    options->succession = NULL;
    role_state_close(&succession);
    return result;
}
