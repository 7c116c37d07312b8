/* Programs over one store that take turns in one memory.
 *
 * They are of three sizes of picture and batch (program/program.h), and are compared with the same
 * programs each with a memory of its own. Everything asserts (CUnit). */
#ifndef TESTS_OPS_PROGRAMS_H
#define TESTS_OPS_PROGRAMS_H

#include "tests/ops/network.h"

/* Losses, weights and statistics of six turns are the same bits. */
void programs_check_bits(network_opener open, enum fusion fusion);
/* What is allocated is the largest of each part, not their sum. */
void programs_check_memory(network_opener open, enum fusion fusion);

#endif
