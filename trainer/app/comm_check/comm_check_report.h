/* Report of a check of connections, as text or as JSON. */
#ifndef TRAINER_APP_COMM_CHECK_COMM_CHECK_REPORT_H
#define TRAINER_APP_COMM_CHECK_COMM_CHECK_REPORT_H

#include "common/buf.h"
#include "trainer/app/comm_check/comm_findings.h"

struct comm_check_report {
    const struct comm_check *check;
    const char *library;       /* "Open MPI v4.1.4", "NCCL 2.28.9" */
    const char *instance_type; /* "" if unknown */
    int code;                  /* exit code */
    const char *verdict;       /* the error's text; "" if there is none */
};

int comm_check_report_text(const struct comm_check_report *r, struct buf *ret, struct error *err);
int comm_check_report_json(const struct comm_check_report *r, struct buf *ret, struct error *err);

#endif
