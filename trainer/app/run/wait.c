#include "trainer/app/run/wait.h"

#include "common/clock.h"
#include "trainer/app/run/stop.h"

/* A signal does not end a wait on a condition; so long may a stop go unheard. */
static const int64_t HEARING = CLOCK_SECOND / 5;

enum wait_result wait_batch(struct loader *loader, const struct batch **ret, struct error *err) {
    int64_t end = clock_now() + WAIT_DATA_SECONDS * CLOCK_SECOND;
    for (;;) {
        int64_t now = clock_now();
        switch (loader_next(loader, now + HEARING, ret, err)) {
        case LOADER_BATCH:
            return WAIT_BATCH;
        case LOADER_END:
            return WAIT_END;
        case LOADER_ERROR:
            return WAIT_ERROR;
        case LOADER_BAD:
            return WAIT_BAD;
        case LOADER_DEADLINE:
            break;
        }
        if (stop_requested())
            return WAIT_STOP;
        if (now > end) {
            (void)error_set(err, EXIT_CODE_STALLED, "no data for %d seconds", WAIT_DATA_SECONDS);
            return WAIT_ERROR;
        }
    }
}
