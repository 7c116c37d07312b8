#include "trainer/checkpoint/array.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *name;
    size_t size;
} types[ARRAY_TYPES] = {
    [ARRAY_F32] = {"F32", 4},   [ARRAY_F64] = {"F64", 8}, [ARRAY_F16] = {"F16", 2},
    [ARRAY_BF16] = {"BF16", 2}, [ARRAY_I64] = {"I64", 8}, [ARRAY_I32] = {"I32", 4},
    [ARRAY_I16] = {"I16", 2},   [ARRAY_I8] = {"I8", 1},   [ARRAY_U8] = {"U8", 1},
    [ARRAY_BOOL] = {"BOOL", 1},
};

const char *array_type_name(enum array_type type) {
    return types[type].name;
}

size_t array_type_size(enum array_type type) {
    return types[type].size;
}

const char *array_shape_text(const int64_t *shape, int rank, char text[ARRAY_SHAPE_TEXT_SIZE]) {
    size_t used = 1;
    text[0] = '[';
    for (int i = 0; i < rank && used < ARRAY_SHAPE_TEXT_SIZE; i++)
        used += (size_t)snprintf(text + used, ARRAY_SHAPE_TEXT_SIZE - used, "%s%" PRId64,
                                 i > 0 ? ", " : "", shape[i]);
    if (used < ARRAY_SHAPE_TEXT_SIZE)
        (void)snprintf(text + used, ARRAY_SHAPE_TEXT_SIZE - used, "]");
    return text;
}

int64_t array_count(const struct array *array) {
    int64_t count = 1;
    if (array->rank < 0 || array->rank > ARRAY_RANK_MAX)
        return -1;
    for (int i = 0; i < array->rank; i++)
        if (array->shape[i] < 0 || __builtin_mul_overflow(count, array->shape[i], &count))
            return -1;
    return count;
}

int64_t array_bytes(const struct array *array) {
    int64_t bytes = array_count(array);
    if (bytes < 0 || __builtin_mul_overflow(bytes, (int64_t)types[array->type].size, &bytes))
        return -1;
    return bytes;
}

int64_t array_inputs(const struct array *array) {
    bool matrix = array->rank == 2 && array->inputs > 0 && array->shape[1] % array->inputs == 0;
    if (!array->ohwi || array->type != ARRAY_F32 || (array->rank != 4 && !matrix))
        return 0;
    return matrix ? array->inputs : array->shape[1];
}

int64_t array_plane(const struct array *array) {
    int64_t filter = 1;
    for (int i = 1; i < array->rank; i++)
        filter *= array->shape[i];
    return filter / array_inputs(array);
}

void array_ohwi_to_oihw(const float *in, float *out, int64_t o, int64_t i, int64_t h, int64_t w) {
    int64_t plane = h * w;
    for (int64_t filter = 0; filter < o; filter++, in += i * plane)
        for (int64_t c = 0; c < i; c++)
            for (int64_t p = 0; p < plane; p++)
                *out++ = in[p * i + c];
}

void array_oihw_to_ohwi(const float *in, float *out, int64_t o, int64_t i, int64_t h, int64_t w) {
    int64_t plane = h * w;
    for (int64_t filter = 0; filter < o; filter++, in += i * plane)
        for (int64_t p = 0; p < plane; p++)
            for (int64_t c = 0; c < i; c++)
                *out++ = in[c * plane + p];
}
