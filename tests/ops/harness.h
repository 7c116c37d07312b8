/* One row of the table as a small graph with values.
 *
 * It is run operator by operator. Every operator gets the reference backend's results as its
 * inputs, so that an error shows at the operator that makes it. */
#ifndef TESTS_OPS_HARNESS_H
#define TESTS_OPS_HARNESS_H

#include "tests/ops/cases.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

enum { CASE_TENSORS_MAX = 48 };

/* Values that a tensor is filled with. */
enum fill {
    FILL_NONE,
    FILL_NORMAL,     /* standard deviation 1 */
    FILL_WEIGHT,     /* normal, scaled so that sums stay near 1; rounded like activations */
    FILL_GAMMA,      /* 0.5 .. 1.5, either sign */
    FILL_POSITIVE,   /* 0.5 .. 1.5 */
    FILL_SUM,        /* sums of as many values as x has per channel, */
    FILL_SQUARE_SUM, /* and of their squares */
    FILL_BYTES,
    FILL_LABELS,        /* one is out of range, at a sample of weight 0 */
    FILL_SAMPLE_WEIGHT, /* mostly 1, but also 0 and 0.5 */
    FILL_GIVEN          /* by the row itself */
};

struct op_graph {
    struct graph graph;
    const struct op_case *row;
    enum fill fill[CASE_TENSORS_MAX];
    void *value[CASE_TENSORS_MAX]; /* host memory, in the tensor's type */
    int seeds[2];                  /* incoming gradients of output 0; TENSOR_NONE: none */
    void *saved;                   /* by operator 0, on the backend that ran last */
    size_t saved_bytes;
};

/* Makes a row's graph and asserts (CUnit) that everything worked: without values, */
void op_graph_describe(struct op_graph *g, const struct op_case *row, enum dtype dtype);
/* and with them. */
void op_graph_init(struct op_graph *g, const struct op_case *row, enum dtype dtype);
void op_graph_done(struct op_graph *g);

/* Shapes of a row's convolution: its weights and its output. */
struct shape op_case_weights(const struct op_case *row);
struct shape op_case_output(const struct op_case *row);

/* For a row's own `make`: a tensor that comes from outside, and zeroed memory for the values of one
 * that is FILL_GIVEN. */
int op_graph_input(struct op_graph *g, enum dtype dtype, struct shape shape, enum fill fill);
void *op_graph_values(struct op_graph *g, int tensor);

/* Runs operator NUMBER on BACKEND with the values of its inputs. Outputs and updated inputs go to
 * RESULT, one per tensor (allocated by the caller like g->value). IN_PLACE: outputs overwrite
 * inputs wherever the operator table allows it. */
int op_graph_run(struct op_graph *g, struct backend *backend, int number, bool in_place,
                 void *const *result, struct error *err);

/* Returns whether the backend lets outputs of the operator overwrite inputs. */
bool op_graph_in_place(struct op_graph *g, struct backend *backend, int number);

double value_get(const void *values, enum dtype type, int64_t i);
void value_set(void *values, enum dtype type, int64_t i, double value);

#endif
