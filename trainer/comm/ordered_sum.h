/* Sum of the ranks' values, always in the order of the ranks. Each element is ((a0 + a1) + a2) +
 * ... in the values' own type. So the same values give the same bits in every run, however messages
 * were cut or came in. */
#ifndef TRAINER_COMM_ORDERED_SUM_H
#define TRAINER_COMM_ORDERED_SUM_H

#include "trainer/comm/comm_type.h"

#include <stddef.h>

/* TO gets the sum of COUNT elements of each of the RANKS pieces; it may be one of them. */
void ordered_sum(void *to, const void *const *pieces, int ranks, size_t count, enum comm_type type);

#endif
