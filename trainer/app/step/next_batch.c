#include "trainer/app/step/next_batch.h"

#include "common/clock.h"
#include "common/system/stop_signal.h"

/* A signal does not end a wait on a condition: look for a stop request this often. */
static const int64_t HEARING = CLOCK_SECOND / 5;

enum next_batch_result next_batch_batch(struct loader *loader, const struct batch **ret,
                                        struct error *err) {
    int64_t end = clock_now() + NEXT_BATCH_DATA_SECONDS * CLOCK_SECOND;
    for (;;) {
        int64_t now = clock_now();
        switch (loader_next(loader, now + HEARING, ret, err)) {
        case LOADER_BATCH:
            return NEXT_BATCH_BATCH;
        case LOADER_END:
            return NEXT_BATCH_END;
        case LOADER_ERROR:
            return NEXT_BATCH_ERROR;
        case LOADER_BAD:
            return NEXT_BATCH_BAD;
        case LOADER_DEADLINE:
            break;
        }
        if (stop_signal_requested())
            return NEXT_BATCH_STOP;
        if (now > end) {
            (void)error_set(
                err, EXIT_CODE_STALLED,
                "no data for %d seconds; the data may lie on storage that does not answer",
                NEXT_BATCH_DATA_SECONDS);
            return NEXT_BATCH_ERROR;
        }
    }
}
