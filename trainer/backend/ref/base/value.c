#include "trainer/backend/ref/base/value.h"

#include "trainer/backend/ref/base/body.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

/* Conversions between tensors and the doubles that bodies compute with. Every type of tensor fits a
 * double exactly, so widening loses nothing; narrowing rounds once, through f32 for half precision,
 * as devices do. */

void ref_widen(double *to, const void *from, enum dtype type, size_t count) {
    for (size_t i = 0; i < count; i++) {
        switch (type) {
        case DTYPE_F32:
            to[i] = (double)((const float *)from)[i];
            break;
        case DTYPE_BF16:
            to[i] = (double)bf16_to_f32(((const uint16_t *)from)[i]);
            break;
        case DTYPE_F16:
            to[i] = (double)f16_to_f32(((const uint16_t *)from)[i]);
            break;
        case DTYPE_F64:
            to[i] = ((const double *)from)[i];
            break;
        case DTYPE_U8:
            to[i] = ((const uint8_t *)from)[i];
            break;
        case DTYPE_I32:
            to[i] = ((const int32_t *)from)[i];
            break;
        default:
            to[i] = 0;
        }
    }
}

void ref_narrow(void *to, const double *from, enum dtype type, size_t count) {
    for (size_t i = 0; i < count; i++) {
        switch (type) {
        case DTYPE_F32:
            ((float *)to)[i] = (float)from[i];
            break;
        case DTYPE_BF16:
            ((uint16_t *)to)[i] = bf16_from_f32((float)from[i]);
            break;
        case DTYPE_F16:
            ((uint16_t *)to)[i] = f16_from_f32((float)from[i]);
            break;
        case DTYPE_F64:
            ((double *)to)[i] = from[i];
            break;
        case DTYPE_U8:
            ((uint8_t *)to)[i] = (uint8_t)from[i];
            break;
        case DTYPE_I32:
            ((int32_t *)to)[i] = (int32_t)from[i];
            break;
        default:
            break;
        }
    }
}

/* DTYPE is the activations' type: weights are stored wide, but products read them in it. */
double ref_round(enum dtype dtype, double value) {
    switch (dtype) {
    case DTYPE_BF16:
        return (double)bf16_to_f32(bf16_from_f32((float)value));
    case DTYPE_F16:
        return (double)f16_to_f32(f16_from_f32((float)value));
    case DTYPE_F64:
        return value;
    default:
        return (double)(float)value;
    }
}

void ref_round_weights(const struct ref_call *call) {
    for (int64_t i = 0; i < shape_count(&call->in_shape[1]); i++)
        call->in[1][i] = ref_round(call->dtype, call->in[1][i]);
}
