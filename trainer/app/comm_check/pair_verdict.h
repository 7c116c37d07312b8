/* Judgement of pairs of hosts by the all-reduces between them. A wrong sum makes a pair wrong. A
 * pair is slow if its bus bandwidth is below PAIR_SLOW_SHARE of what the better pairs reach (the
 * upper quartile). A single pair cannot be slow: nothing is there to compare it with. */
#ifndef TRAINER_APP_COMM_CHECK_PAIR_VERDICT_H
#define TRAINER_APP_COMM_CHECK_PAIR_VERDICT_H

#include "trainer/app/comm_check/measure/measurement.h"

#include <stdbool.h>
#include <stddef.h>

#define PAIR_SLOW_SHARE 0.33

enum pair_state { PAIR_OK, PAIR_SLOW, PAIR_WRONG };

struct pair_result {
    int a, b;                    /* numbers of the hosts */
    struct measurement latency;  /* of MEASURE_LATENCY_BYTES */
    struct measurement transfer; /* of a message that takes a while */
    enum pair_state state;
    bool tested;
    double share; /* of what the better pairs reach */
};

/* Sets state and share of all tested pairs. */
void pair_verdict_judge(struct pair_result *pairs, size_t count);
/* Returns the host, of HOSTS, that is in every bad pair and in no other, if there are at least two
 * of them; else -1. */
int pair_verdict_host(const struct pair_result *pairs, size_t count, int hosts);
/* Returns the worst pair: a wrong one, else the slowest of the slow; NULL: all are good. */
const struct pair_result *pair_verdict_worst(const struct pair_result *pairs, size_t count);

/* "ok", "slow", "wrong" */
const char *pair_state_name(enum pair_state state);

#endif
