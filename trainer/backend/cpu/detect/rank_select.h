/* The greatest of many whole numbers, in falling order: ranks of scores (math/rank.h), or keys
 * turned round. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_DETECT_RANK_SELECT_H
#define TRAINER_BACKEND_CPU_DETECT_RANK_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* Brings the K greatest of COUNT different RANKS to the front, in falling order; K may be more than
 * COUNT. The others lie behind in no order. In place; about linear in COUNT. Returns how many are
 * in front. */
size_t rank_select(uint64_t *ranks, size_t count, size_t k);

/* Sorts COUNT numbers in rising order. */
void rank_sort_rising(uint32_t *numbers, size_t count);

#endif
