#include "tests/support/lag.h"

#include "tests/support/lag_turn.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const int64_t millisecond = 1000000;

static void note(struct lag *lag, int64_t late) {
    int64_t *least = &lag->worst[0];
    for (size_t i = 1; i < LAG_WAKES; i++)
        if (lag->worst[i] < *least)
            least = &lag->worst[i];
    if (late > *least)
        *least = late;
}

static void *measure(void *context) {
    struct lag *lag = context;
    while (!atomic_load(&lag->over))
        note(lag, lag_turn(LAG_REST));
    return NULL;
}

void lag_begin(struct lag *lag) {
    sigset_t all;
    sigset_t before;
    memset(lag->worst, 0, sizeof(lag->worst));
    lag->begun = lag_now(CLOCK_MONOTONIC);
    atomic_init(&lag->over, false);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&lag->thread, NULL, measure, lag);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    CU_ASSERT_EQUAL_FATAL(result, 0);
}

void lag_assert_within(struct lag *lag, int64_t promised, const char *file, int line) {
    int64_t took = lag_now(CLOCK_MONOTONIC) - lag->begun;
    atomic_store(&lag->over, true);
    (void)pthread_join(lag->thread, NULL);
    int64_t late = 0;
    for (size_t i = 0; i < LAG_WAKES; i++)
        late += lag->worst[i];
    bool kept = took <= promised + late + LAG_WORK_MS * millisecond;
    if (!kept)
        printf("\n%s:%d: %" PRId64 " ms, %" PRId64 " promised; the machine was late by %" PRId64
               "\n",
               file, line, took / millisecond, promised / millisecond, late / millisecond);
    CU_assertImplementation(kept, (unsigned)line, "ASSERT_WITHIN", file, "", CU_FALSE);
}
