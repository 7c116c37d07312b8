#include "run/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t requested;
static volatile sig_atomic_t descriptor = -1;

static void on_signal(int number) {
    const uint64_t one = 1;
    int saved = errno;
    (void)number;
    requested = 1;
    ssize_t written = write(descriptor, &one, sizeof(one));
    (void)written; /* a full counter is readable as well */
    errno = saved;
}

int stop_listen(struct error *err) {
    struct sigaction action;
    if (descriptor < 0)
        descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "listening for a stop");
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

int stop_descriptor(void) {
    return descriptor;
}
