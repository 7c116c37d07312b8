/* Successive halving (Jamieson and Talwalkar 2016): which of the configurations that were tried on
 * a rung advance to the next. Pure. */
#ifndef COMMON_TRIALS_HALVING_H
#define COMMON_TRIALS_HALVING_H

#include <stdbool.h>
#include <stddef.h>

/* The best 1/FACTOR of COUNT, at least one: their numbers, best first, are written to RET. SCORES
 * are those of a complete rung; NaN, a failed one, never advances. Of equal scores the one with
 * the lower number is better. */
size_t halving_keep(const double *scores, size_t count, int factor, bool smallest, size_t *ret);

/* All of them that did not fail, best first. */
size_t halving_order(const double *scores, size_t count, bool smallest, size_t *ret);

#endif
