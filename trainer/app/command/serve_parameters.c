#include "trainer/app/command/serve_parameters.h"

#include "common/log/log.h"
#include "common/system/progress.h"
#include "common/system/stop_signal.h"
#include "trainer/app/device/threads.h"
#include "trainer/shard/shard_server.h"

#include <stdlib.h>

/* A server waits for as long as the workers do other things. */
static void mark(void *progress, uint64_t updates) {
    progress_mark(progress, updates, 0);
}

int serve_parameters(const struct options *o, const struct roles *roles, enum exit_code *ret_code,
                     struct error *err) {
    struct progress progress = {0};
    struct threads threads;
    int code = 0;
    /* A stop request reaches the workers, too: they end the job. */
    if (stop_signal_listen(err) != 0 || threads_settle(&threads, o, roles->own, err) != 0 ||
        progress_open(&progress, getenv(PROGRESS_VARIABLE), err) != 0)
        return -1;
    const struct shard_listener listener = {mark, &progress};
    const int result = shard_server_run(roles->all, roles->workers, &listener, &code, err);
    progress_done(&progress);
    *ret_code = (enum exit_code)code;
    return result;
}
