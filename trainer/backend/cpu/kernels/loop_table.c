#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

#define LOOP_STRING(word) #word
#define LOOP_WORD(word) LOOP_STRING(word)

extern const struct loops LOOP(loops);

const struct loops LOOP(loops) = {
    .name = LOOP_WORD(LOOP_VARIANT),
    .lanes = LANES,
#ifdef __AMX_BF16__
    .tiles = true,
#endif
#define LOOP_FUNCTION(type, name, arguments) .name = LOOP(name),
#define LOOP_WEIGHT(name) .name = {LOOP(name##_supported), LOOP(name##_scratch), LOOP(name##_run)},
#include "trainer/backend/cpu/kernels/loops.def"
};
