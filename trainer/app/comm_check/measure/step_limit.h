/* Time limit for each step of a program, and for all together. A call into a
 * library for communication may never return, so a thread ends the process with EXIT_CODE_STALLED,
 * after an error that names the step. */
#ifndef TRAINER_APP_COMM_CHECK_MEASURE_STEP_LIMIT_H
#define TRAINER_APP_COMM_CHECK_MEASURE_STEP_LIMIT_H

#include "common/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { STEP_NAME_SIZE = 200 };

struct step_limit {
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    pthread_t thread;
    bool ended;
    int64_t begun; /* of the whole, clock.h */
    int64_t last;  /* deadline of the whole */
    int64_t step_begun;
    int64_t deadline; /* of the step */
    char step[STEP_NAME_SIZE];
};

/* Starts the thread; all steps together have SECONDS. */
int step_limit_start(struct step_limit *l, int seconds, struct error *err);
/* Begins the next step, which has SECONDS. Its name precedes "did not end within". */
void step_limit_next(struct step_limit *l, int seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the seconds since the start. */
double step_limit_passed(struct step_limit *l);
void step_limit_end(struct step_limit *l);

/* Writes the error for the step that is under way to RET, if it or the whole is over at NOW; else
 * returns false. The caller holds the lock. */
bool step_limit_over(const struct step_limit *l, int64_t now, struct error *ret);

#endif
