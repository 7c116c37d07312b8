#include "trainer/comm/half.h"

#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* What processors do with eight f16 at once; returns how many values of COUNT are done. */
#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static size_t narrow_eights(uint16_t *to, const float *from,
                                                                size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

__attribute__((target("avx,f16c"))) static size_t widen_eights(float *to, const uint16_t *from,
                                                               size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    return i;
}

static bool has_eights(void) {
#ifdef __clang__
    return __builtin_cpu_supports("avx2"); /* clang 14 has no name for F16C, which comes with it */
#else
    return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
#endif
}
#else
static size_t narrow_eights(uint16_t *to, const float *from, size_t count) {
    (void)to, (void)from, (void)count;
    return 0;
}

static size_t widen_eights(float *to, const uint16_t *from, size_t count) {
    (void)to, (void)from, (void)count;
    return 0;
}

static bool has_eights(void) {
    return false;
}
#endif

void half_narrow(uint16_t *to, const float *from, size_t count, enum comm_type type) {
    size_t i = 0;
    if (type == COMM_F32_AS_BF16) {
        for (; i < count; i++)
            to[i] = bf16_from_f32(from[i]);
        return;
    }
    for (i = has_eights() ? narrow_eights(to, from, count) : 0; i < count; i++)
        to[i] = f16_from_f32(from[i]);
}

void half_widen(float *to, const uint16_t *from, size_t count, enum comm_type type) {
    size_t i = 0;
    if (type == COMM_F32_AS_BF16) {
        for (; i < count; i++)
            to[i] = bf16_to_f32(from[i]);
        return;
    }
    for (i = has_eights() ? widen_eights(to, from, count) : 0; i < count; i++)
        to[i] = f16_to_f32(from[i]);
}
