/* Store of persistent tensors: those that outlive a step. Parameters, their gradients, optimizer
 * state, running statistics and constants, each in one arena allocated by the backend. A training
 * and an evaluation program share one store.
 *
 * A parameter has the same offset in the parameter, gradient and optimizer's arenas. The order is
 * that in which backward produces the gradients, so that a bucket of an all-reduce is a slice
 * [first, first + count). Offsets are aligned to STORE_ALIGNMENT bytes; the padding in between is
 * zero and stays zero under sums and optimizers. After the last parameter the gradient arena has
 * STORE_FLAGS more elements, part of the last bucket: small values that are all-reduced with it
 * (stop requested, loss). Elements are f32, or f64 for an f64 graph. Offsets count elements. */
#ifndef TRAINER_GRAPH_PROGRAM_STORE_H
#define TRAINER_GRAPH_PROGRAM_STORE_H

#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

enum { STORE_ALIGNMENT = 64, STORE_FLAGS = 16 };

enum store_arena {
    STORE_PARAMETERS,
    STORE_GRADIENTS, /* training only */
    STORE_MOMENTUM,  /* training only; state of the optimizer, initially zero */
    STORE_SECOND,    /* the same: second moments, or sums of squares */
    STORE_AVERAGE,   /* the same: moving average of the parameters */
    STORE_STATE,     /* running statistics */
    STORE_CONSTANTS, /* frozen layers: never changed by a step */
    STORE_ARENAS
};

struct store_slot {
    char name[TENSOR_NAME_SIZE]; /* "layer1.0.conv1.weight" */
    struct shape shape;          /* OHWI for convolutions */
    enum tensor_init init;
    int64_t init_fan;
    enum tensor_file file;
    int tensor;            /* its number in the graph: ascending from the network's input on */
    enum store_arena home; /* of its values: STORE_PARAMETERS, STORE_STATE or STORE_CONSTANTS */
    bool trained;          /* a parameter with a gradient; others are never updated */
    bool half_gradient;    /* its gradient has the type of activations, beside STORE_GRADIENTS */
    size_t first;          /* offset in its arena(s), in elements */
    size_t count;
};

struct store {
    struct backend *backend; /* borrowed */
    enum dtype dtype;        /* F32 or F64 */
    struct store_slot *slots;
    int slot_count;
    void *arena[STORE_ARENAS];  /* memory of the backend; NULL if there is none */
    void *mirror[STORE_ARENAS]; /* host copies of a device's arenas, allocated on demand */
    size_t count[STORE_ARENAS]; /* elements, including flags */
    size_t trained;             /* elements of the parameters with a gradient: the first ones */
    size_t flags;               /* first of STORE_FLAGS elements of STORE_GRADIENTS */
    /* For training in f16 or bf16 on a device that needs it: the parameters in that type. Programs
     * update it before they run; the optimizer writes both. */
    struct half_copy half_copy;
    bool half_stale;
    /* For training: WIDE is STORE_GRADIENTS. */
    struct backend_gradients gradients;
    unsigned char *half_mask; /* owned: the mask in `gradients` */
    uint64_t version; /* incremented when values change: packed copies belong to a version */
};

void store_done(struct store *store);
/* Call after changing parameters, states or constants in their arenas: programs then pack them
 * again before they run. The functions below that write do so themselves. */
void store_changed(struct store *store);
/* The same after an update that has also written the half-precision copy. */
void store_updated(struct store *store);
/* Updates the half-precision copy if there is one and it is stale. */
int store_refresh_half(struct store *store, struct error *err);
/* Lays out arenas for GRAPH's parameters, states and constants; gradients of the scheduled graph
 * determine the order. program_compile calls this, then store_allocate, for an empty (zeroed)
 * store. */
int store_lay_out(struct store *store, struct backend *backend, const struct graph *graph,
                  struct error *err);
/* Allocates the memory of a store that was laid out for GRAPH, all zero. */
int store_allocate(struct store *store, const struct graph *graph, struct error *err);
/* Calls both. */
int store_init(struct store *store, struct backend *backend, const struct graph *graph,
               struct error *err);
/* Updates STORE_GRADIENTS from the half-precision gradients; `read` and `pull` below do so
 * themselves. Enqueues on a device. */
int store_widen_gradients(struct store *store, struct error *err);
/* Returns the bytes of half-precision gradients. */
size_t store_beside_gradients(const struct store *store);
/* Returns the address where the step writes the gradient of SLOT. */
void *store_gradient_at(const struct store *store, const struct store_slot *slot);
/* Returns the slot NAME, or NULL. */
const struct store_slot *store_find(const struct store *store, const char *name);
/* Returns the address of SLOT in ARENA, or NULL. Host memory on ref and cpu. */
void *store_at(const struct store *store, const struct store_slot *slot, enum store_arena arena);
/* Copy between SLOT and dense host memory of the store's type. */
int store_read(struct store *store, const struct store_slot *slot, enum store_arena arena,
               void *ret_values, struct error *err);
int store_write(struct store *store, const struct store_slot *slot, enum store_arena arena,
                const void *values, struct error *err);
/* Returns the present values of ARENA in host memory: the arena itself on ref and cpu, else a
 * copy, which belongs to the store and is valid until the next call for this arena. store_push
 * writes a changed copy back. */
int store_pull(struct store *store, enum store_arena arena, void **ret_values, struct error *err);
/* The same for STORE_GRADIENTS after a step that has summed them there, of ranks or micro-batches:
 * half-precision ones are one part of the sum, and are not looked at. */
int store_pull_sums(struct store *store, void **ret_values, struct error *err);
int store_push(struct store *store, enum store_arena arena, struct error *err);
/* Returns true if ARENA is one that the optimizer keeps beside the parameters. */
bool store_is_kept(enum store_arena arena);
/* Copies the parameters to STORE_AVERAGE; nothing if there is none. */
int store_start_average(struct store *store, struct error *err);
/* Exchanges the parameters and their average; nothing if there is none. The half-precision copy
 * becomes stale. */
int store_exchange_average(struct store *store, struct error *err);
/* Initializes parameters, states and constants, on the threads of OpenMP; the numbers depend only
 * on SEED, name and element. */
int store_start(struct store *store, uint64_t seed, struct error *err);

#endif
