/* Elementwise functions of math/pointwise.h: plain loops over floats, which the compiler
 * vectorizes. Other types are converted in blocks of floats that stay in the L1 cache. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

enum { BLOCK = 512 };

/* Each element is read before the one with its index is written, so y may be a or b. */
#define ROW(kind, name, tensors, value)                                                            \
    static void name##_row(const float *a, const float *b, float *y, size_t count) {               \
        _Pragma("GCC ivdep") for (size_t i = 0; i < count; i++) y[i] =                             \
            pointwise_##name##_float(a[i], tensors == 2 ? b[i] : 0);                               \
    }
POINTWISE(ROW)

typedef void row_function(const float *a, const float *b, float *y, size_t count);

static row_function *const rows[POINTWISE_KINDS] = {
#define ENTRY(kind, name, ...) [POINTWISE_##kind] = name##_row,
    POINTWISE(ENTRY)};

static void halves(row_function *row, const void *a, const void *b, void *y, size_t begin,
                   size_t end) {
    float wide_a[BLOCK], wide_b[BLOCK];
    for (size_t at = begin; at < end; at += BLOCK) {
        size_t count = end - at < BLOCK ? end - at : BLOCK;
        LOOP(widen)((const uint16_t *)a + at, wide_a, 0, count);
        if (b != NULL)
            LOOP(widen)((const uint16_t *)b + at, wide_b, 0, count);
        row(wide_a, wide_b, wide_a, count);
        LOOP(narrow)(wide_a, (uint16_t *)y + at, 0, count);
    }
}

void LOOP(pointwise)(enum pointwise function, const void *a, const void *b, enum elem elem, void *y,
                     size_t begin, size_t end) {
    row_function *row = rows[function];
    if (elem == ELEM_F32)
        row((const float *)a + begin, b == NULL ? NULL : (const float *)b + begin,
            (float *)y + begin, end - begin);
    else
        halves(row, a, b, y, begin, end);
}
