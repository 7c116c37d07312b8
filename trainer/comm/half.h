/* Conversion of rows of f32 to half precision and back. The bits are those of math/f16.h and
 * math/bf16.h on every processor. TYPE is COMM_F32_AS_F16 or COMM_F32_AS_BF16. */
#ifndef TRAINER_COMM_HALF_H
#define TRAINER_COMM_HALF_H

#include "trainer/comm/comm_type.h"

#include <stddef.h>
#include <stdint.h>

/* Rounds each of COUNT values to nearest, ties to even. */
void half_narrow(uint16_t *to, const float *from, size_t count, enum comm_type type);
/* Exact. */
void half_widen(float *to, const uint16_t *from, size_t count, enum comm_type type);

#endif
