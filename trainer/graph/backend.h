/* The seam between the engine and a device: {query, bind, run}. A backend is asked about every
 * operator of a compiled graph before anything is allocated (supports, query), is then given the
 * addresses once (bind), and afterwards is only run.
 *
 * Implementations live in backend/ref, backend/cpu, backend/cuda; each has one function that opens
 * it and returns a struct backend *. A backend and what it bound are used by one thread at a time;
 * inside a step it may use as many threads as it was opened with. Errors name operator and shape.
 *
 * Who owns what: the engine owns arenas (through alloc and free); a bound step's context belongs to
 * the backend and is given back with `release`. Nothing is allocated while steps run. */
#ifndef TRAINER_GRAPH_BACKEND_H
#define TRAINER_GRAPH_BACKEND_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

struct graph;    /* graph/graph.h */
struct sgd_rule; /* math/sgd.h */
struct op;       /* graph/op.h */
struct backend;

/* Alignment of every address in a site. */
enum { BACKEND_ALIGNMENT = 64 };

/* So many bytes or the few more that keep what lies behind them aligned. */
static inline size_t backend_aligned(size_t bytes) {
    return (bytes + BACKEND_ALIGNMENT - 1) / BACKEND_ALIGNMENT * BACKEND_ALIGNMENT;
}

/* What one operator wants from the memory plan, in bytes. Zeroed is nothing. */
struct backend_needs {
    size_t scratch; /* during the operator alone */
    size_t saved;   /* of a forward operator: kept until its gradient operators have run */
    size_t packed;  /* kept between steps, this operator's own: weights in the backend's layout */
    bool in_place;  /* outputs may take the place of inputs, as the operator table allows */
};

/* What suits both MOST and OTHER, whose in_place is the same. */
static inline void backend_needs_most(struct backend_needs *most,
                                      const struct backend_needs *other) {
    most->scratch = most->scratch > other->scratch ? most->scratch : other->scratch;
    most->saved = most->saved > other->saved ? most->saved : other->saved;
    most->packed = most->packed > other->packed ? most->packed : other->packed;
    most->in_place = other->in_place;
}

/* A copy of the parameters' arena in the type of activations, element for element: what products
 * read. NARROW is NULL where there is none. */
struct backend_narrow {
    const float *wide;
    void *narrow;
    size_t count;
    int type; /* enum dtype */
};

/* Gradients of the parameters, element for element, and behind them the flags. What a product makes
 * in the type of activations stays so until it is added to something or used: it is in NARROW
 * where NARROWED has a 1 for its group of STORE_ALIGNMENT bytes of WIDE; all else is in WIDE.
 * NARROW is NULL where there is no such gradient.
 *
 * Narrow gradients hold what the loss scale has made of them. One too large for the type is
 * infinite, which the update finds as it finds any other; one too small is zero, which is what the
 * scale is there for. Sums over micro-batches and ranks are in f32: in f16 a sum of N ranks would
 * overflow at an N-th of the scale, and be rounded once a rank in an order that hangs on N. */
struct backend_gradients {
    float *wide;
    void *narrow;
    const unsigned char *narrowed;
    int type; /* enum dtype, of NARROW */
};

/* TO[i] = SUM[i] + gradient i, of COUNT elements from FIRST on. SUM is NULL for zeros; TO may be
 * SUM or WIDE. */
struct backend_sum {
    float *to;
    const float *sum;
    struct backend_gradients gradients;
    size_t first, count;
};

/* The addresses of one operator. Slots as in graph/op.h; NULL for absent ones. The arrays are
 * the engine's and go away after bind: copy what you need. In the sites of gradients `saved` is
 * that of the forward operator. */
struct backend_site {
    void *const *inputs;
    void *const *outputs;
    void *scratch;
    void *saved;
    void *packed;
    void *rows;                   /* of the operator's `rows`: i32 [1]; NULL: all rows count */
    struct backend_narrow narrow; /* up to date whenever a step runs */
};

struct bound_step {
    int (*run)(void *context, struct error *err);
    void *context;
};

/* What bind makes of one operator. */
struct backend_bound {
    struct bound_step step;
    /* Brings `packed` up to date with the parameters: runs before the first step and after each
     * change of parameters. `run` is NULL when there is nothing to do. What it has put off is done
     * behind the table's `refreshed`. */
    struct bound_step refresh;
};

/* One update of whole arenas (math/sgd.h), all in device memory. GROUPS has a byte for every
 * STORE_ALIGNMENT bytes of weights: their group. CLIPS: the rule has a clip_norm. A step that is
 * void
 * (*VOID_FLAG is above 0), or of which a gradient or *LOSS is not finite, changes nothing: then
 * STATES, running statistics that its forward pass has moved, become STATES_BEFORE again. The
 * narrow copy of the weights is kept up to date. */
struct backend_sgd {
    float *weights, *momentum;
    struct backend_gradients gradients;
    struct backend_narrow narrow; /* of the weights */
    const unsigned char *groups;
    bool clips;
    const float *void_flag, *loss;
    size_t count;
    float *states;
    const float *states_before;
    size_t state_count;
};

/* What an update leaves behind for the host and for the next one. */
struct backend_sgd_state {
    int finite;       /* loss and gradients were; or the step was void */
    float loss_scale; /* of the next step; 1 where there is none */
    int good_steps;   /* since the scale last changed, where it is a growing one */
};

/* Where device memory comes from, for those who have their own kind (comm/device_sum.h). What ALLOC
 * gives need not be cleared; NULL on failure. */
struct backend_memory {
    void *(*alloc)(size_t bytes, struct error *err);
    void (*free)(void *memory);
};

/* The queues of a device. Each runs what it was given in order, beside the others; marks and waits
 * order them. */
enum backend_lane {
    LANE_MAIN,
    LANE_SIDE, /* weight gradients (program/streams.h) */
    LANE_COPY, /* the input of the next step */
    BACKEND_LANES
};

enum { BACKEND_MARKS = 16 };

/* What a device with memory and queues of its own brings, so that a whole step needs no host:
 * everything here, and the bound steps, is enqueued on the selected lane, and no call waits for it.
 * alloc, copy_in, copy_out and sync of the table are the main lane's; it is the selected one but
 * between two selects. */
struct backend_device {
    /* What is enqueued from here on goes to LANE. NULL: there is only one, and mark, wait and reach
     * are NULL, too. */
    int (*select)(struct backend *backend, enum backend_lane lane, struct error *err);
    /* Mark NUMBER, of BACKEND_MARKS, stands behind what the selected lane holds now; the one it had
     * before is forgotten. */
    int (*mark)(struct backend *backend, int number, struct error *err);
    /* The selected lane goes on when what was in front of mark NUMBER has run; one that was never
     * set does not hold it. */
    int (*wait)(struct backend *backend, int number, struct error *err);
    /* The host does. */
    int (*reach)(struct backend *backend, int number, struct error *err);
    /* The selected lane itself, for a library that enqueues on it (comm/device_sum.h): a
     * cudaStream_t. */
    void *(*queue)(struct backend *backend);
    /* What is enqueued between begin and end is recorded instead of run; replay enqueues all of it
     * at once, on the main lane. Another lane takes part from where it waits for a mark of the
     * recording, and must be waited for before the end; marks from before are not known inside,
     * those from inside not behind it. record_begin may be NULL: the device cannot record. A
     * recording is given back with `forget`. */
    int (*record_begin)(struct backend *backend, struct error *err);
    int (*record_end)(struct backend *backend, void **ret_recording, struct error *err);
    int (*replay)(struct backend *backend, void *recording, struct error *err);
    void (*forget)(struct backend *backend, void *recording);

    /* Device memory as of the backend's alloc, for what is summed over ranks. May be NULL: alloc
     * serves for that, too. */
    void *(*alloc_summed)(struct backend *backend, size_t bytes, struct error *err);
    void (*free_summed)(struct backend *backend, void *memory, size_t bytes);

    /* Device memory that is free, in bytes; 0 where the device does not say. May be NULL. */
    size_t (*memory_left)(struct backend *backend);

    /* Host memory that the device reads and writes by itself, zeroed; NULL on failure. */
    void *(*host_alloc)(struct backend *backend, size_t bytes, struct error *err);
    void (*host_free)(struct backend *backend, void *memory);
    /* Between device memory and device or host_alloc memory. */
    int (*copy)(struct backend *backend, void *to, const void *from, size_t bytes,
                struct error *err);
    int (*clear)(struct backend *backend, void *memory, size_t bytes, struct error *err);
    /* All of the copy becomes what stands in WIDE, rounded. NULL: the device wants no such copy. */
    int (*narrow)(struct backend *backend, const struct backend_narrow *copy, struct error *err);
    /* Which output of OP is a weight gradient that comes out in the type of activations, if the
     * graph wants it so (struct backend_gradients); -1: none. Programs that share weights get the
     * same answer. May be NULL: none ever. */
    int (*narrow_gradient)(const struct backend *backend, const struct graph *graph,
                           const struct op *op);
    int (*add)(struct backend *backend, const struct backend_sum *sum, struct error *err);
    /* The optimizer's numbers for the updates to come; recorded updates read them when they run.
     * RULE lies in host_alloc memory and stays until this has run. */
    int (*set_sgd)(struct backend *backend, const struct sgd_rule *rule, struct error *err);
    int (*sgd)(struct backend *backend, const struct backend_sgd *update, struct error *err);
    /* *RET, in host_alloc memory, becomes what the update before it has left. */
    int (*sgd_state)(struct backend *backend, struct backend_sgd_state *ret, struct error *err);
    /* The loss scale goes on from STATE; may wait. */
    int (*set_sgd_state)(struct backend *backend, const struct backend_sgd_state *state,
                         struct error *err);
    /* *RET, in host_alloc memory, becomes the sum of the squares of weights, each times the decay
     * of its group. */
    int (*squares)(struct backend *backend, const struct backend_sgd *update, double *ret,
                   struct error *err);
};

struct backend_table {
    const char *name; /* "ref", "cpu", "cuda" */
    /* NULL: arenas lie in host memory, and a step has run when its call returns. */
    const struct backend_device *device;

    /* Whether it has this operator with these types. Fusion asks before it rewrites; a plain
     * operator that is not supported is an error of compilation. */
    bool (*supports)(const struct backend *backend, const struct graph *graph, const struct op *op);
    /* Fills NEEDS (zeroed by the caller). */
    int (*query)(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err);
    /* Binds the operator to addresses. `step.context` is released once, with `release`; the
     * refresh step may share it. */
    int (*bind)(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct backend_site *site, struct backend_bound *ret_bound,
                struct error *err);
    /* Called behind the refresh steps of a program, which may have put work off until here. May be
     * NULL. */
    int (*refreshed)(struct backend *backend, struct error *err);
    void (*release)(struct backend *backend, void *context);

    /* Device memory, aligned to BACKEND_ALIGNMENT, zeroed. alloc returns NULL on failure. */
    void *(*alloc)(struct backend *backend, size_t bytes, struct error *err);
    void (*free)(struct backend *backend, void *memory, size_t bytes);
    /* Between host memory and the device's; both sides may be used when they return. */
    int (*copy_in)(struct backend *backend, void *device, const void *host, size_t bytes,
                   struct error *err);
    int (*copy_out)(struct backend *backend, void *host, const void *device, size_t bytes,
                    struct error *err);
    /* Waits until all steps that were run have finished. */
    int (*sync)(struct backend *backend, struct error *err);

    /* One line for the run's record: library versions, instruction set, threads. */
    const char *(*describe)(const struct backend *backend);
    void (*close)(struct backend *backend);
};

/* First member of every backend's own struct. */
struct backend {
    const struct backend_table *table;
};

static inline void backend_close(struct backend *backend) {
    if (backend != NULL)
        backend->table->close(backend);
}

#endif
