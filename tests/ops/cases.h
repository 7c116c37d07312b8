/* The table of operators under test. A row describes a forward operator on a shape; the operators
 * of its gradient come from the operator table's own rule, so that a row tests all of them. */
#ifndef TESTS_OPS_CASES_H
#define TESTS_OPS_CASES_H

#include "trainer/graph/op.h"

struct op_graph;

/* Values that are no numbers among the activations; gradients that arrive at few pixels, or at none
 * (harness.c). */
enum special { SPECIAL_NONE, SPECIAL_NAN, SPECIAL_ALL, SPECIAL_SPARSE, SPECIAL_ZERO };

struct op_case {
    const char *name;
    enum op_kind kind;
    struct shape x;        /* of input 0 */
    int64_t outputs;       /* channels or features that the operator makes, where it is free */
    int64_t weight_inputs; /* channels that the weights know, if fewer than x has; 0: all */
    struct op_attr attr;
    bool two_gradients; /* norms: the output has two readers, with separate gradients */
    bool sent;          /* roi align: gradients have come to the maps before */
    bool inference;     /* as in a network that is not trained: without gradients */
    bool differentiate; /* small and smooth enough here for finite differences */
    enum special special;
    bool wide;      /* sums: of tensors in the wide type */
    double outlier; /* the first pixel of each activation is this; 0: as all */
    /* Adds the inputs and their values (op_graph_input, op_graph_values) if they are more than a
     * shape. */
    void (*make)(struct op_graph *g, int inputs[OP_INPUTS_MAX]);
    int losses; /* values, the first of output 0, that add up to the loss; 0: gradients arrive there
                 */
    /* 0: the rule of the parity test. Otherwise WHY says what is special. */
    double f32_tolerance, bf16_tolerance, f16_tolerance;
    const char *why;
};

/* All rows: those of cases.c, then those of the files beside it. */
int op_case_count(void);
const struct op_case *op_case_at(int number);
/* Whether its name holds one of WORDS, which '|' keeps apart; NULL means every row. */
bool op_case_is_meant(const struct op_case *row, const char *words);

/* One file's. */
struct op_case_list {
    const struct op_case *rows;
    int count;
};
/* cases_maps.c and so on */
extern const struct op_case_list op_cases_maps, op_cases_rpn, op_cases_roi;

#endif
