/* Description of a tensor: element type, static shape, role. Without data: the memory plan and the
 * store provide addresses when a graph is compiled.
 *
 * Activations are NHWC, weights of convolutions OHWI, of linear layers [out, in], dense and
 * row-major (the last dimension is contiguous) on every backend. Sizes count elements. */
#ifndef TRAINER_GRAPH_TENSOR_H
#define TRAINER_GRAPH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64, DTYPE_U8, DTYPE_I32, DTYPES };

size_t dtype_size(enum dtype type);
const char *dtype_name(enum dtype type);
/* Returns the type of parameters, statistics, gradients of parameters and losses if activations
 * have TYPE: F64 for F64 (finite differences), else F32. */
enum dtype dtype_wide(enum dtype type);

enum { SHAPE_RANK_MAX = 4 };

struct shape {
    int rank; /* 1 to SHAPE_RANK_MAX */
    int64_t dim[SHAPE_RANK_MAX];
};

struct shape shape_1(int64_t a);
struct shape shape_2(int64_t a, int64_t b);
struct shape shape_3(int64_t a, int64_t b, int64_t c);
struct shape shape_4(int64_t a, int64_t b, int64_t c, int64_t d);
int64_t shape_count(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b);
enum { SHAPE_TEXT_SIZE = 96 };
/* Writes "[32, 56, 56, 64]"; returns TEXT. */
const char *shape_text(const struct shape *shape, char text[SHAPE_TEXT_SIZE]);

/* The storage of a tensor, and what writes it. */
enum tensor_role {
    TENSOR_ACTIVATION, /* written and used within a step: placed by the memory plan */
    TENSOR_INPUT,      /* written by the caller before a step, kept during it */
    TENSOR_OUTPUT,     /* written by a step, kept until the next */
    TENSOR_PARAMETER,  /* trained: in the store's parameter arena */
    TENSOR_GRADIENT,   /* gradient of a parameter: in the store's gradient arena, at the same
                        * place */
    TENSOR_STATE,      /* kept but not trained (running statistics): in the store's state arena */
    TENSOR_CONSTANT    /* never changed (frozen layers): in the store's constant arena */
};

/* Initialization of a parameter, state or constant. FAN_IN counts the inputs of one output
 * element, FAN_OUT the outputs that one input element affects (kernel area x channels). */
enum tensor_init {
    INIT_ZERO,
    INIT_ONE,
    INIT_NORMAL_FAN_OUT,    /* normal, deviation sqrt(2 / fan out): He et al. 2015, for ReLU */
    INIT_NORMAL_TENTH,      /* normal, deviation 0.1 */
    INIT_NORMAL_HUNDREDTH,  /* the same, 0.01 */
    INIT_NORMAL_THOUSANDTH, /* the same, 0.001 */
    INIT_UNIFORM_FAN_IN,  /* uniform within +-1 / sqrt(fan in): torch's default for linear layers */
    INIT_UNIFORM_BIAS,    /* the same bound, for a bias: fan in is `init_fan` */
    INIT_UNIFORM_FAN_IN_3 /* uniform within +-sqrt(3 / fan in): He et al. 2015, without a ReLU */
};

/* Layout of a parameter in torch's files, in addition to the order of axes. */
enum tensor_file {
    FILE_PLAIN,    /* the same axes; four axes: O, I, H, W for O, H, W, I */
    FILE_MATRIX,   /* four axes: a matrix [O, I*H*W] applied to a flattened picture */
    FILE_PIXELWISE /* two axes: a 1x1 convolution [O, I, 1, 1] */
};

enum { TENSOR_NAME_SIZE = 96, TENSOR_NONE = -1 };

struct tensor {
    char name[TENSOR_NAME_SIZE]; /* unique among parameters, states and constants */
    enum dtype dtype;
    struct shape shape;
    enum tensor_role role;
    enum tensor_init init; /* of parameters, states and constants */
    int64_t init_fan;      /* INIT_UNIFORM_BIAS */
    enum tensor_file file;
    int producer;  /* the operator that writes it, or -1 */
    int parameter; /* of a TENSOR_GRADIENT: its parameter; else TENSOR_NONE */
};

/* Cuts TEXT where it is too long. */
void tensor_set_name(char name[TENSOR_NAME_SIZE], const char *text);
int64_t tensor_count(const struct tensor *tensor);
size_t tensor_bytes(const struct tensor *tensor);

#endif
