/* Cache of autotuned cuDNN plans: choices of earlier runs in a text file, one per line:
 *
 *     VERSIONS|DEVICE|PASS <tab> ENGINE <tab> INDEX <tab> MILLISECONDS
 *     VERSIONS|DEVICE|PASS <tab> pays | loses
 *
 * VERSIONS and DEVICE are cuDNN's version and the GPU's name, PASS the pattern, type and shape. A
 * line with an engine that is no longer at that index of the heuristics' list is ignored. The
 * second kind says whether a fused pass was faster (fusion_autotune.h). */
#ifndef TRAINER_BACKEND_CUDA_DNN_PLAN_CACHE_H
#define TRAINER_BACKEND_CUDA_DNN_PLAN_CACHE_H

#include "trainer/backend/cuda/dnn/conv_choice.h"

enum { PLAN_CACHE_MAX = 4 * 1024 * 1024 };

/* Returns the index of the plan that an earlier run chose, with its time, or -1. A file that
 * cannot be read counts as empty. */
int plan_cache_find(const struct cuda *cuda, const struct conv_choice *choice, float *ret_ms);
/* Adds CHOICE. One write in append mode: ranks may share the file. */
int plan_cache_add(const struct cuda *cuda, const struct conv_choice *choice, struct error *err);
/* The same for choice->pays. */
enum conv_pays plan_cache_find_pays(const struct cuda *cuda, const struct conv_choice *choice);
int plan_cache_add_pays(const struct cuda *cuda, const struct conv_choice *choice,
                        struct error *err);

#endif
