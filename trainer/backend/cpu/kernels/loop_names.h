/* Names of the functions in loop_*.c for each instruction set. The files are compiled once for
 * each: LOOP(norm_forward) is norm_forward_avx512 and so on. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_LOOP_NAMES_H
#define TRAINER_BACKEND_CPU_KERNELS_LOOP_NAMES_H

#include "trainer/backend/cpu/kernels/loops.h"

#define LOOP_PASTE(name, variant) name##_##variant
#define LOOP_NAME(name, variant) LOOP_PASTE(name, variant)
#define LOOP(name) LOOP_NAME(name, LOOP_VARIANT)

#define LOOP_WEIGHT_FUNCTIONS(name, variant)                                                       \
    bool LOOP_NAME(name##_supported, variant)(const struct weight_part *part);                     \
    size_t LOOP_NAME(name##_scratch, variant)(const struct weight_part *part);                     \
    void LOOP_NAME(name##_run, variant)(const struct weight_part *part);

#define LOOP_FUNCTION(type, name, arguments) type LOOP(name) arguments;
#define LOOP_WEIGHT(name) LOOP_WEIGHT_FUNCTIONS(name, LOOP_VARIANT)
#include "trainer/backend/cpu/kernels/loops.def"
#undef LOOP_FUNCTION
#undef LOOP_WEIGHT

#endif
