/* Findings of a check of connections, with their verdict. comm_check.h makes them; they concern
 * the connections between the ranks of a job. */
#ifndef TRAINER_APP_COMM_CHECK_COMM_FINDINGS_H
#define TRAINER_APP_COMM_CHECK_COMM_FINDINGS_H

#include "common/error.h"
#include "trainer/app/comm_check/measure/measurement.h"
#include "trainer/app/comm_check/measure/reducer.h"
#include "trainer/app/comm_check/measure/step_limit.h"
#include "trainer/app/comm_check/pair_verdict.h"
#include "trainer/comm/comm.h"

#include <stddef.h>

enum {
    COMM_CHECK_SECONDS = 55,
    COMM_CHECK_OPEN_SECONDS = 25, /* to bring all ranks together */
    COMM_CHECK_STEP_SECONDS = 10, /* an all-reduce that takes longer counts as hanging */
    COMM_CHECK_SIZES_MAX = 8,
    COMM_CHECK_NAME_SIZE = 64,
};

struct comm_check_host {
    char name[COMM_CHECK_NAME_SIZE];
    int ranks;
    struct measurement within; /* ranks < 2: not measured */
};

struct comm_check {
    enum reducer_kind kind;
    struct comm *comm; /* all ranks */
    struct step_limit *limit;
    int *host_of;                  /* owned; [ranks] */
    struct comm_check_host *hosts; /* owned */
    int host_count;
    struct measurement sizes[COMM_CHECK_SIZES_MAX]; /* among all ranks */
    size_t size_count;
    struct pair_result *pairs; /* owned */
    size_t pair_count;
    size_t pairs_left_out;
    int bad_host; /* the host that is in all bad pairs; -1: none */
};

void comm_check_done(struct comm_check *c);

/* Returns -1 with EXIT_CODE_DEVICE if a sum was wrong or a pair is slow; the error names them. */
int comm_check_verdict(const struct comm_check *c, struct error *err);

#endif
