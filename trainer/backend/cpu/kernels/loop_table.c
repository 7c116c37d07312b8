#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

#define LOOP_STRING(word) #word
#define LOOP_WORD(word) LOOP_STRING(word)

/* Instruction sets share what would be compiled to the same code (room.cmake): LOOP_BF16 and
 * LOOP_F32 name the variants that this table takes its loops from. */
#define LOOP_FUNCTION(type, name, arguments) type LOOP_NAME(name, LOOP_BF16) arguments;
#define LOOP_F32_FUNCTION(type, name, arguments) type LOOP_NAME(name, LOOP_F32) arguments;
#define LOOP_WEIGHT(name) LOOP_WEIGHT_FUNCTIONS(name, LOOP_BF16)
#define LOOP_F32_WEIGHT(name) LOOP_WEIGHT_FUNCTIONS(name, LOOP_F32)
#define LOOP_BF16_FUNCTION LOOP_FUNCTION
#define LOOP_BF16_WEIGHT LOOP_WEIGHT
#define LOOP_AVX512_WEIGHT LOOP_WEIGHT
#include "trainer/backend/cpu/kernels/loops.def"
#undef LOOP_FUNCTION
#undef LOOP_WEIGHT

#define LOOP_WEIGHT_KERNEL(name, variant)                                                          \
    {                                                                                              \
        LOOP_NAME(name##_supported, variant), LOOP_NAME(name##_scratch, variant),                  \
            LOOP_NAME(name##_run, variant)                                                         \
    }

extern const struct loops LOOP(loops);

const struct loops LOOP(loops) = {
    .name = LOOP_WORD(LOOP_VARIANT),
    .lanes = LANES,
#ifdef LOOP_HAS_AMX
    .tiles = true,
#endif
#define LOOP_FUNCTION(type, name, arguments) .name = LOOP_NAME(name, LOOP_BF16),
#define LOOP_F32_FUNCTION(type, name, arguments) .name = LOOP_NAME(name, LOOP_F32),
#define LOOP_WEIGHT(name) .name = LOOP_WEIGHT_KERNEL(name, LOOP_BF16),
#define LOOP_F32_WEIGHT(name) .name = LOOP_WEIGHT_KERNEL(name, LOOP_F32),
#ifdef LOOP_HAS_BF16
#define LOOP_BF16_FUNCTION LOOP_FUNCTION
#define LOOP_BF16_WEIGHT LOOP_WEIGHT
#else
#define LOOP_BF16_FUNCTION(type, name, arguments)
#define LOOP_BF16_WEIGHT(name)
#endif
#ifdef LOOP_HAS_AVX512
#define LOOP_AVX512_WEIGHT LOOP_WEIGHT
#else
#define LOOP_AVX512_WEIGHT(name)
#endif
#include "trainer/backend/cpu/kernels/loops.def"
};
