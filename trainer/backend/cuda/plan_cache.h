/* Choices of earlier runs, kept in a text file, a line each:
 *
 *     VERSIONS|DEVICE|PASS <tab> ENGINE <tab> INDEX <tab> MILLISECONDS
 *
 * VERSIONS and DEVICE are cuDNN's version and the GPU's name, PASS the pattern, type and shape. A
 * line whose engine no longer stands at that place of the heuristics' list is not believed. */
#ifndef CUDA_PLAN_CACHE_H
#define CUDA_PLAN_CACHE_H

#include "cuda/conv_plan.h"

enum { PLAN_CACHE_MAX = 4 * 1024 * 1024 };

/* The index of the plan that an earlier run chose, or -1. A file that cannot be read counts as
 * empty. */
int plan_cache_find(const struct cuda *cuda, const struct conv_choice *choice);
/* Adds CHOICE, which took MS milliseconds. One write in append mode: ranks may share the file. */
int plan_cache_add(const struct cuda *cuda, const struct conv_choice *choice, float ms,
                   struct error *err);

#endif
