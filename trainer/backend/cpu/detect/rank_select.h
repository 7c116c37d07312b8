/* Selection of the greatest of many integers, in falling order: ranks of scores (math/rank.h), or
 * inverted keys. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_DETECT_RANK_SELECT_H
#define TRAINER_BACKEND_CPU_DETECT_RANK_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* Moves the K greatest of COUNT distinct RANKS to the front, in falling order; K may exceed COUNT.
 * The others follow in any order. In place; about linear in COUNT. Returns how many are at the
 * front. */
size_t rank_select(uint64_t *ranks, size_t count, size_t k);

/* Sorts COUNT numbers in ascending order. */
void rank_sort_rising(uint32_t *numbers, size_t count);

#endif
