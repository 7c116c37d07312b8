/* Internal state of the CUDA backend and form of its steps. */
#ifndef TRAINER_BACKEND_CUDA_BASE_CONTEXT_H
#define TRAINER_BACKEND_CUDA_BASE_CONTEXT_H

#include "trainer/backend/cuda/base/options.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/optional/kernels/launch_switch.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

#include <cublasLt.h>

struct convs; /* dnn/convs.h */
struct cuda;
struct cuda_launches; /* launches.h */

/* Callback that enqueues the one of BODIES that CHOICE selects. */
typedef int cuda_switch(struct cuda *cuda, const struct switch_choice *choice,
                        const struct bound_step bodies[ROW_PARTS], struct error *err);

struct cuda {
    struct backend base;
    struct cuda_options options;
    int ordinal;
    int multiprocessors;
    bool own_backward;   /* optional/backward.h */
    cudaStream_t stream; /* the selected one of STREAMS: steps enqueue on it */
    cudaStream_t streams[BACKEND_STREAMS];
    cuda_switch *choose; /* of rows (optional/row_prefix.h), while a recording runs; NULL: all rows
                          * are computed */
    cudaStream_t bodies; /* stream for recording bodies */
    cudaEvent_t events[BACKEND_EVENTS];
    cublasLtHandle_t lt;
    struct convs *convs;     /* NULL without cuDNN */
    struct control *control; /* device memory */
    struct folds_pending {
        struct fold_args args[LAUNCH_FOLDS_MAX];
        int count;
        enum dtype type;
    } folds; /* folds_add */
    /* For a simulated device: library calls are counted here instead of being made; own launches
     * are counted by launch_count_in. NULL: a real device. */
    struct cuda_launches *counted;
    char description[256];
};

/* Returns true if a library's call is to be counted instead of made. */
bool cuda_is_counted(struct cuda *cuda);

/* First member of every step's context. NAME, of the operator, is for errors. */
struct cuda_step {
    struct cuda *cuda;
    enum dtype type;
    char name[TENSOR_NAME_SIZE];
    char shape[SHAPE_TEXT_SIZE];
    void (*done)(struct cuda_step *step); /* frees what the step owns, but not the step itself; or
                                           * NULL */
};

/* Allocates a zeroed context of SIZE bytes that begins with a filled struct cuda_step. */
void *cuda_step_new(struct cuda *cuda, const struct graph *graph, const struct op *op, size_t size,
                    struct error *err);
void cuda_step_free(struct cuda_step *step);
/* Returns 0 for success; else fills ERR with the operator's name and shape. */
int cuda_step_check(const struct cuda_step *step, cudaError_t status, struct error *err);

const struct tensor *cuda_input(const struct graph *graph, const struct op *op, int slot);
const struct tensor *cuda_output(const struct graph *graph, const struct op *op, int slot);
/* Alignment that libraries need for workspaces; arenas guarantee less (BACKEND_ALIGNMENT). Scratch
 * that begins with a workspace needs cuda_workspace_bytes of it. */
enum { CUDA_WORKSPACE_ALIGNMENT = 256 };
size_t cuda_workspace_bytes(size_t bytes);
void *cuda_workspace(void *scratch);

/* Returns whether parameter TENSOR has a half-precision copy (backend.h), and the address of the
 * copy of its values at ADDRESS. */
bool cuda_has_half(const struct graph *graph, const struct tensor *tensor);
void *cuda_half(const struct graph *graph, const struct op_addresses *addresses,
                const void *address);

/* See half_gradient of backend.h: the output of a convolution's weight gradient with channels
 * that cuDNN can use directly. */
int cuda_half_gradient(const struct backend *backend, const struct graph *graph,
                       const struct op *op);

/* Folds of weights (launch_fold), as many in one launch as it takes: a network with frozen norms
 * has one for nearly every convolution, and each alone is shorter than what a launch costs.
 * folds_add puts a fold off until folds_launch, or until a launch is full; ARGS is copied.
 * folds_launch enqueues what was put off on the selected stream. */
int folds_add(struct cuda *cuda, enum dtype type, const struct fold_args *args, struct error *err);
int folds_launch(struct cuda *cuda, struct error *err);

/* Returns the rows of a tensor seen as a matrix [rows, last dimension]. */
size_t cuda_rows(const struct tensor *tensor);
int cuda_channels(const struct tensor *tensor);
/* Returns the number of chunks into which the norms' kernels split the rows of TENSOR. */
int cuda_norm_chunks(const struct cuda *cuda, const struct tensor *tensor);

/* FULL is the tensor before pooling, SMALL the one after it. */
struct pool_args cuda_pool_shape(const struct tensor *full, const struct tensor *small,
                                 const struct op_window *window);

/* How one kind of operator is queried and bound. QUERY may be NULL: no memory is needed. */
struct cuda_rule {
    int (*query)(struct cuda *cuda, const struct graph *graph, const struct op *op,
                 struct backend_needs *needs, struct error *err);
    int (*bind)(struct cuda *cuda, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *bound,
                struct error *err);
};

/* For rules that can work in place and need no memory. */
int cuda_query_in_place(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        struct backend_needs *needs, struct error *err);

/* Entry in ops.def for operators that this backend lacks. */
extern const struct cuda_rule cuda_none_rule;
#define OP(kind, label, in, out, shape, gradient, flops, places, ref, cpu, cuda)                   \
    extern const struct cuda_rule cuda_##cuda##_rule;
#include "trainer/graph/ops.def"

#endif
