#include "run/stop.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t requested;

static void on_signal(int number) {
    (void)number;
    requested = 1;
}

int stop_listen(struct error *err) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    /* A read or write of ours goes on; the loops notice at their next look. */
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "listening for a stop");
    return 0;
}

bool stop_requested(void) {
    return requested != 0;
}
