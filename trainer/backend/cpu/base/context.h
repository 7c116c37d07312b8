/* Types shared by all of the CPU backend: the open backend, the form of an operator and the
 * context that bind creates. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_BASE_CONTEXT_H
#define TRAINER_BACKEND_CPU_BASE_CONTEXT_H

#include "trainer/backend/cpu/base/convs.h"
#include "trainer/backend/cpu/kernels/loops.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

#include <oneapi/dnnl/dnnl.h>

#include <stdlib.h>
#include <string.h>

struct cpu {
    struct backend backend;
    int threads;
    bool has_bf16;     /* products in bf16 by oneDNN; else they are computed in f32
                        * (dnn_call_tensor) */
    bool own_products; /* kernels that replace oneDNN's are faster (conv_weight.c, conv_bf16.h) */
    enum cpu_convs convs;
    const struct loops *loops;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    char description[160];
};

/* First member of every context that bind creates. `done` frees its contents, not the struct. */
struct cpu_step {
    const struct cpu *cpu;
    void (*done)(void *context);
};

/* Implementation of one kind of operator. */
struct cpu_operator {
    /* NULL: all of its kind in f32 and bf16. */
    bool (*has)(const struct cpu *cpu, const struct graph *graph, const struct op *op);
    int (*query)(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err); /* NULL: needs no memory */
    int (*bind)(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err);
};

/* Frees a context that bind created; NULL is fine. */
void cpu_step_release(void *context);

/* Query of operators that need no memory and can work in place. */
int cpu_query_in_place(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       struct backend_needs *ret_needs, struct error *err);

/* Allocates a zeroed context of BYTES with its cpu_step filled, in RET_BOUND's step; NULL with an
 * error. */
void *cpu_step_new(const struct cpu *cpu, size_t bytes,
                   int (*run)(void *context, struct error *err), void (*done)(void *context),
                   struct backend_bound *ret_bound, struct error *err);

static inline const struct tensor *cpu_input(const struct graph *graph, const struct op *op,
                                             int slot) {
    return op->inputs[slot] == TENSOR_NONE ? NULL : &graph->tensors[op->inputs[slot]];
}

static inline const struct tensor *cpu_output(const struct graph *graph, const struct op *op,
                                              int slot) {
    return op->outputs[slot] == TENSOR_NONE ? NULL : &graph->tensors[op->outputs[slot]];
}

static inline enum elem cpu_elem(enum dtype type) {
    return type == DTYPE_BF16 ? ELEM_BF16 : ELEM_F32;
}

/* Returns the number of parts of size BY, the last one possibly smaller. */
static inline size_t cpu_least(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t cpu_divided(size_t total, size_t by) {
    return (total + by - 1) / by;
}

/* Returns the product of all dimensions but the last: rows of channels. */
static inline size_t cpu_rows(const struct shape *shape) {
    return (size_t)(shape_count(shape) / shape->dim[shape->rank - 1]);
}

static inline size_t cpu_channels(const struct shape *shape) {
    return (size_t)shape->dim[shape->rank - 1];
}

/* Entry in ops.def for operators that this backend lacks. */
extern const struct cpu_operator cpu_none;
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    extern const struct cpu_operator cpu_##cpu;
#include "trainer/graph/ops.def"

#endif
