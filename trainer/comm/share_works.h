/* Works that consist of exchanges of parts alone (shares.h, half_sum.h), for drivers that have such
 * an exchange. */
#ifndef TRAINER_COMM_SHARE_WORKS_H
#define TRAINER_COMM_SHARE_WORKS_H

#include "common/error.h"
#include "trainer/comm/shares.h"
#include "trainer/comm/work_queue.h"

/* Carries out a sum in half precision, a sum in shares or the way back. */
int share_works_perform(const struct shares_exchange *x, const struct work *work,
                        struct error *err);

#endif
