#include "trainer/graph/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[DTYPES] = {
    [DTYPE_F32] = {"f32", 4}, [DTYPE_BF16] = {"bf16", 2}, [DTYPE_F16] = {"f16", 2},
    [DTYPE_F64] = {"f64", 8}, [DTYPE_U8] = {"u8", 1},     [DTYPE_I32] = {"i32", 4},
};

size_t dtype_size(enum dtype type) {
    return types[type].size;
}

const char *dtype_name(enum dtype type) {
    return types[type].name;
}

enum dtype dtype_wide(enum dtype type) {
    return type == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

struct shape shape_1(int64_t a) {
    return (struct shape){.rank = 1, .dim = {a}};
}

struct shape shape_2(int64_t a, int64_t b) {
    return (struct shape){.rank = 2, .dim = {a, b}};
}

struct shape shape_3(int64_t a, int64_t b, int64_t c) {
    return (struct shape){.rank = 3, .dim = {a, b, c}};
}

struct shape shape_4(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (struct shape){.rank = 4, .dim = {a, b, c, d}};
}

int64_t shape_count(const struct shape *shape) {
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= shape->dim[i];
    return count;
}

bool shape_equal(const struct shape *a, const struct shape *b) {
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *shape_text(const struct shape *shape, char text[SHAPE_TEXT_SIZE]) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < shape->rank; i++) {
        int written = snprintf(text + used, SHAPE_TEXT_SIZE - used, "%s%" PRId64,
                               i == 0 ? "[" : ", ", shape->dim[i]);
        used += (size_t)written;
    }
    (void)snprintf(text + used, SHAPE_TEXT_SIZE - used, "]");
    return text;
}

int64_t tensor_count(const struct tensor *tensor) {
    return shape_count(&tensor->shape);
}

size_t tensor_bytes(const struct tensor *tensor) {
    return (size_t)tensor_count(tensor) * dtype_size(tensor->dtype);
}

void tensor_set_name(char name[TENSOR_NAME_SIZE], const char *text) {
    size_t length = strnlen(text, TENSOR_NAME_SIZE - 1);
    memcpy(name, text, length);
    name[length] = '\0';
}
