/* Interface between the engine and a device: query, bind, run.
 *
 * A backend is asked about every operator of a compiled graph before anything is allocated
 * (supports, query), then gets all addresses once (bind), and afterwards is only run.
 * Implementations are in backend/ref, backend/cpu and backend/cuda; each has one function that
 * opens it and returns a struct backend *. A backend and everything it bound are used by one
 * thread at a time; inside a step it may use as many threads as it was opened with. Errors name
 * operator and shape.
 *
 * Ownership: the engine owns arenas (through alloc and free). A bound step's context belongs to
 * the backend and is freed with `release`. Nothing is allocated while steps run. */
#ifndef TRAINER_GRAPH_BACKEND_H
#define TRAINER_GRAPH_BACKEND_H

#include "common/error.h"

#include "trainer/math/optimizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph; /* graph/graph.h */
struct op;    /* graph/op.h */
struct backend;

/* Alignment of every address that an operator is bound to. */
enum { BACKEND_ALIGNMENT = 64 };

/* Rounds BYTES up so that what follows them stays aligned. */
static inline size_t backend_aligned(size_t bytes) {
    return (bytes + BACKEND_ALIGNMENT - 1) / BACKEND_ALIGNMENT * BACKEND_ALIGNMENT;
}

/* Memory that an operator needs, in bytes. Zeroed: none. */
struct backend_needs {
    size_t scratch; /* used only while the operator runs */
    size_t saved;   /* of a forward operator: kept until its gradient operators have run */
    size_t packed;  /* kept between steps for this operator alone: weights in the backend's
                     * layout */
    bool in_place;  /* outputs may reuse the memory of inputs, as the operator table allows */
};

/* Takes the maximum of each field; in_place must be equal. */
static inline void backend_needs_most(struct backend_needs *most,
                                      const struct backend_needs *other) {
    most->scratch = most->scratch > other->scratch ? most->scratch : other->scratch;
    most->saved = most->saved > other->saved ? most->saved : other->saved;
    most->packed = most->packed > other->packed ? most->packed : other->packed;
    most->in_place = other->in_place;
}

/* A copy of the parameter arena in the type of activations, element for element, which the
 * products read. HALF is NULL if there is none. */
struct half_copy {
    const float *wide;
    void *half;
    size_t count;
    int type; /* enum dtype */
};

/* Gradients of the parameters, element for element, followed by the flags.
 *
 * A gradient that a product makes in the type of activations stays in that type until it is added
 * to something or used: it is in HALF wherever HALF_MASK has a 1 for its group of STORE_ALIGNMENT
 * bytes of WIDE. All others are in WIDE. HALF is NULL if there is no such gradient.
 *
 * Half-precision gradients include the loss scale. One too large for the type becomes infinite,
 * which the update detects like any other infinity; one too small becomes zero, which the loss
 * scale exists to prevent. Sums over micro-batches and ranks are in f32: in f16, a sum of N ranks
 * would overflow at 1/N of the scale, and would be rounded once per rank in an order that depends
 * on N. */
struct backend_gradients {
    float *wide;
    void *half;
    const unsigned char *half_mask;
    int type; /* enum dtype, of HALF */
};

/* TO[i] = SUM[i] + gradient i, for COUNT elements from FIRST on. SUM is NULL for zeros; TO may be
 * SUM or WIDE. */
struct backend_sum {
    float *to;
    const float *sum;
    struct backend_gradients gradients;
    size_t first, count;
};

/* Addresses of one operator. Slots as in graph/op.h; NULL for absent ones. The arrays belong to
 * the engine and are invalid after bind: copy what you need. For gradient operators `saved` is
 * that of the forward operator. */
struct op_addresses {
    void *const *inputs;
    void *const *outputs;
    void *scratch;
    void *saved;
    void *packed;
    void *rows;                 /* of the operator's `rows`: i32 [1]; NULL: all rows count */
    struct half_copy half_copy; /* up to date whenever a step runs */
};

struct bound_step {
    int (*run)(void *context, struct error *err);
    void *context;
};

/* Result of binding one operator. */
struct backend_bound {
    struct bound_step step;
    /* Brings `packed` up to date with the parameters: runs before the first step and after each
     * change of parameters. `run` is NULL if there is nothing to do. Work that it postpones is done
     * in `refreshed`. */
    struct bound_step refresh;
};

/* What norms of tensors need, in device memory, for optimizers that adapt to them: the tensors'
 * PIECES in their order, and for every STORE_ALIGNMENT bytes of weights the number of their
 * tensor. Zeroed: none. */
struct backend_norms {
    const struct optimizer_piece *pieces;
    const uint32_t *begins; /* tensor t has the pieces [begins[t], begins[t + 1]) */
    const uint16_t *tensors;
    double *sums;   /* scratch: two for each piece */
    float *factors; /* scratch: of each tensor */
    uint32_t piece_count, tensor_count;
};

/* One update of whole arenas (math/optimizer.h), all in device memory. GROUPS has a byte for every
 * STORE_ALIGNMENT bytes of weights: the number of their group. CLIPS: the rule has a clip_norm. A
 * step that is void (*VOID_FLAG is above 0), or of which a gradient or *LOSS is not finite,
 * changes nothing: STATES, the running statistics updated by its forward pass, are restored from
 * STATES_BEFORE. The half-precision copy of the weights is updated as well. */
struct backend_update {
    float *weights;
    struct optimizer_state state;
    enum optimizer_kind kind;
    struct backend_norms norms;
    struct backend_gradients gradients;
    struct half_copy half_copy; /* copy of the weights */
    const unsigned char *groups;
    bool clips;
    const float *void_flag, *loss;
    size_t count;
    float *states;
    const float *states_before;
    size_t state_count;
};

/* Result of an update, for the host and for the next update. */
struct backend_optimizer_state {
    int finite;       /* loss and gradients were finite, or the step was void */
    float loss_scale; /* of the next step; 1: none */
    int good_steps;   /* steps since a growing scale last changed */
    int64_t updates;  /* that changed weights so far */
};

/* Allocator of device memory, for libraries with their own kind (comm/device_sum.h). ALLOC need
 * not clear the memory; it returns NULL on failure. */
struct backend_memory {
    void *(*alloc)(size_t bytes, struct error *err);
    void (*free)(void *memory);
};

/* Queues of a device (CUDA streams). Each runs its work in order, concurrently with the others;
 * only events and waits order them. */
enum backend_stream {
    STREAM_MAIN,
    STREAM_SIDE, /* weight gradients (program/streams.h) */
    STREAM_COPY, /* input of the next step */
    BACKEND_STREAMS
};

enum { BACKEND_EVENTS = 16 };

/* Functions of a device with its own memory and queues, which allow a whole step without the host.
 * All of them, and the bound steps, enqueue on the selected stream, and none waits for it. alloc,
 * copy_in, copy_out and sync of the table use the main stream, which is the selected one except
 * between two calls of select.
 *
 * An optional slot is NULL where the device does not have it. Without select there is one stream,
 * and no event, wait and reach; without capture_begin nothing is recorded, and the three after it
 * are NULL; without alloc_summed alloc and free serve for summed memory, too.
 *
 * While work is recorded, another stream joins the recording where it waits for an event of it,
 * and must be waited for before the end. Events from before the recording are unknown inside, and
 * those from inside after it. */
struct backend_device {
    /* (optional) Selects the stream for work enqueued from here on. */
    int (*select)(struct backend *backend, enum backend_stream stream, struct error *err);
    /* (optional) Records event NUMBER, below BACKEND_EVENTS, in place of the last one. */
    int (*event)(struct backend *backend, int number, struct error *err);
    /* (optional) The selected stream waits for event NUMBER; not if it was never recorded. */
    int (*wait)(struct backend *backend, int number, struct error *err);
    /* (optional) The host waits for event NUMBER. */
    int (*reach)(struct backend *backend, int number, struct error *err);
    /* (optional) Returns the selected stream, a cudaStream_t, for libraries that enqueue on it. */
    void *(*queue)(struct backend *backend);
    /* (optional) Work that is enqueued from here on is recorded instead of run (a CUDA graph). */
    int (*capture_begin)(struct backend *backend, struct error *err);
    /* (optional) Ends the recording. */
    int (*capture_end)(struct backend *backend, void **ret_recording, struct error *err);
    /* (optional) Enqueues all recorded work at once, on the main stream. */
    int (*replay)(struct backend *backend, void *recording, struct error *err);
    /* (optional) Destroys a recording. */
    void (*forget)(struct backend *backend, void *recording);

    /* (optional) Allocates device memory that will be all-reduced; NULL on failure. */
    void *(*alloc_summed)(struct backend *backend, size_t bytes, struct error *err);
    /* (optional) Frees what alloc_summed has allocated. */
    void (*free_summed)(struct backend *backend, void *memory, size_t bytes);
    /* (optional) Returns the free device memory in bytes; 0 if unknown. */
    size_t (*memory_left)(struct backend *backend);

    /* Allocates zeroed host memory that the device can access (pinned); NULL on failure. */
    void *(*host_alloc)(struct backend *backend, size_t bytes, struct error *err);
    /* Frees what host_alloc has allocated. */
    void (*host_free)(struct backend *backend, void *memory);
    /* Copies between device memory and device or host_alloc memory. */
    int (*copy)(struct backend *backend, void *to, const void *from, size_t bytes,
                struct error *err);
    /* Sets device memory to zeros. */
    int (*clear)(struct backend *backend, void *memory, size_t bytes, struct error *err);
    /* (optional) Rounds all of WIDE to the half-precision copy; NULL: there is no such copy. */
    int (*refresh_half)(struct backend *backend, const struct half_copy *copy, struct error *err);
    /* (optional) Returns OP's output that is a half-precision weight gradient; -1: none. Programs
     * that share weights get the same answer. */
    int (*half_gradient)(const struct backend *backend, const struct graph *graph,
                         const struct op *op);
    /* Adds gradients to sums (struct backend_sum). */
    int (*add)(struct backend *backend, const struct backend_sum *sum, struct error *err);
    /* Sets the numbers that later updates, also recorded ones, read when they run. RULE must lie
     * in host_alloc memory and stay unchanged until this has run. */
    int (*set_optimizer)(struct backend *backend, const struct optimizer_rule *rule,
                         struct error *err);
    /* Updates whole arenas (struct backend_update). */
    int (*update)(struct backend *backend, const struct backend_update *update, struct error *err);
    /* Copies the state after the last update to *RET, in host_alloc memory. */
    int (*optimizer_state)(struct backend *backend, struct backend_optimizer_state *ret,
                           struct error *err);
    /* Sets the loss scale and its history from STATE; may wait. */
    int (*set_optimizer_state)(struct backend *backend, const struct backend_optimizer_state *state,
                               struct error *err);
    /* Sums the squared weights, each times its group's decay, to *RET, in host_alloc memory. */
    int (*squares)(struct backend *backend, const struct backend_update *update, double *ret,
                   struct error *err);
};

/* Functions of a backend; the engine calls them in about this order. */
struct backend_table {
    /* "ref", "cpu", "cuda" */
    const char *name;
    /* (optional) NULL: arenas are in host memory, and a step has run when its call returns. */
    const struct backend_device *device;

    /* Returns true if it has OP for these types. Without a plain operator a compile fails. */
    bool (*supports)(const struct backend *backend, const struct graph *graph, const struct op *op);
    /* Fills NEEDS, which the caller has zeroed. */
    int (*query)(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err);
    /* Binds OP to addresses; the refresh step may share the context of `step`. */
    int (*bind)(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err);
    /* (optional) Does what a program's refresh steps have postponed; called after them. */
    int (*refreshed)(struct backend *backend, struct error *err);
    /* Frees the context of a bound step; called once for each. */
    void (*release)(struct backend *backend, void *context);

    /* Allocates zeroed device memory, aligned to BACKEND_ALIGNMENT; NULL on failure. */
    void *(*alloc)(struct backend *backend, size_t bytes, struct error *err);
    /* Frees what alloc has allocated. */
    void (*free)(struct backend *backend, void *memory, size_t bytes);
    /* Copies from host memory to device memory; complete on return. */
    int (*copy_in)(struct backend *backend, void *device, const void *host, size_t bytes,
                   struct error *err);
    /* Copies from device memory to host memory; complete on return. */
    int (*copy_out)(struct backend *backend, void *host, const void *device, size_t bytes,
                    struct error *err);
    /* Waits until all steps have finished. */
    int (*sync)(struct backend *backend, struct error *err);

    /* Returns one line for the run's record: library versions, instruction set, threads. */
    const char *(*describe)(const struct backend *backend);
    /* Frees the backend itself. */
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
