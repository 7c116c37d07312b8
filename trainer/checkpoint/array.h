/* Named arrays of a checkpoint, as views of memory. Names and data belong to the caller; nothing
 * here allocates or copies. */
#ifndef TRAINER_CHECKPOINT_ARRAY_H
#define TRAINER_CHECKPOINT_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARRAY_RANK_MAX = 8, ARRAY_NAME_MAX = 256 };

enum array_type {
    ARRAY_F32,
    ARRAY_F64,
    ARRAY_F16,
    ARRAY_BF16,
    ARRAY_I64,
    ARRAY_I32,
    ARRAY_I16,
    ARRAY_I8,
    ARRAY_U8,
    ARRAY_BOOL,
    ARRAY_TYPES
};

struct array {
    const char *name; /* torchvision's; at most ARRAY_NAME_MAX bytes */
    enum array_type type;
    int rank;                      /* 0 for a single value */
    int64_t shape[ARRAY_RANK_MAX]; /* as in the file; see ohwi */
    void *data;                    /* read by writers, written by readers */
    /* The memory holds [O][H][W][I] and the file [O][I][H][W]: a convolution's weight of this
     * trainer. `shape` is then the file's O, I, H, W, F32 only; or O and I*H*W, for a matrix
     * applied to a flattened picture, with I in `inputs`. */
    bool ohwi;
    int64_t inputs;
};

/* Returns "F32" and so on, and below the bytes of one value. */
const char *array_type_name(enum array_type type);
size_t array_type_size(enum array_type type);

enum { ARRAY_SHAPE_TEXT_SIZE = 24 * ARRAY_RANK_MAX };
/* Writes "[64, 3, 7, 7]"; returns TEXT. */
const char *array_shape_text(const int64_t *shape, int rank, char text[ARRAY_SHAPE_TEXT_SIZE]);

/* Return the number of values and bytes; -1 if a dimension is negative or the product overflows. */
int64_t array_count(const struct array *array);
int64_t array_bytes(const struct array *array);

/* Returns I of an ohwi array; 0 if the array cannot be transposed. */
int64_t array_inputs(const struct array *array);
/* Returns its H*W. */
int64_t array_plane(const struct array *array);

/* OUT = IN, transposed to the other order of axes. Sizes are those of the OIHW view. */
void array_ohwi_to_oihw(const float *in, float *out, int64_t o, int64_t i, int64_t h, int64_t w);
void array_oihw_to_ohwi(const float *in, float *out, int64_t o, int64_t i, int64_t h, int64_t w);

#endif
