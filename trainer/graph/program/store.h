/* What outlives a step: parameters, their gradients, optimizer state, running statistics and
 * constants, each in one arena that the backend allocated. A training and an evaluation program
 * share one store.
 *
 * A parameter has the same place in the parameter, gradient and momentum arenas. The order is that
 * in which backward makes the gradients, so that a bucket of an all-reduce is a slice
 * [first, first + count). Places are aligned to STORE_ALIGNMENT bytes; what lies between them is
 * zero and stays zero under sums and optimizers. Behind the last parameter lie STORE_FLAGS more
 * elements in the gradient arena, part of the last bucket: small values that ride along (a stop
 * request, a loss). Elements are f32, or f64 beside an f64 graph. Offsets count elements. */
#ifndef TRAINER_GRAPH_PROGRAM_STORE_H
#define TRAINER_GRAPH_PROGRAM_STORE_H

#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

enum { STORE_ALIGNMENT = 64, STORE_FLAGS = 16 };

enum store_arena {
    STORE_PARAMETERS,
    STORE_GRADIENTS, /* training only */
    STORE_MOMENTUM,  /* training only; the optimizer's, zero at first */
    STORE_STATE,     /* running statistics */
    STORE_CONSTANTS, /* what frozen layers were given: no step changes it */
    STORE_ARENAS
};

struct store_slot {
    char name[TENSOR_NAME_SIZE]; /* "layer1.0.conv1.weight" */
    struct shape shape;          /* OHWI for convolutions */
    enum tensor_init init;
    int64_t init_fan;
    enum tensor_file file;
    int tensor;            /* its number in the graph: rising from the network's input on */
    enum store_arena home; /* of its values: STORE_PARAMETERS, STORE_STATE or STORE_CONSTANTS */
    bool trained;          /* a parameter with a gradient: others stay as they are */
    bool narrow_gradient;  /* that has the type of activations, beside STORE_GRADIENTS */
    size_t first;          /* element of its arena(s) */
    size_t count;
};

struct store {
    struct backend *backend; /* borrowed */
    enum dtype dtype;        /* F32 or F64 */
    struct store_slot *slots;
    int slot_count;
    void *arena[STORE_ARENAS];  /* the backend's memory; NULL if there is none */
    void *mirror[STORE_ARENAS]; /* host copies of a device's arenas, once asked for */
    size_t count[STORE_ARENAS]; /* elements, flags included */
    size_t trained;             /* elements of the parameters that have a gradient: the first */
    size_t flags;               /* first of STORE_FLAGS elements of STORE_GRADIENTS */
    /* Of a training in f16 or bf16 on a device that wants it: the parameters in that type. Programs
     * bring it up to date before they run; the optimizer writes both. */
    struct backend_narrow narrow;
    bool narrow_stale;
    /* Of a training: WIDE is STORE_GRADIENTS. */
    struct backend_gradients gradients;
    unsigned char *narrowed; /* owned: what `gradients` points at */
    uint64_t version;        /* grows when values change: packed copies are of some version */
};

void store_done(struct store *store);
/* Parameters, states or constants were changed in their arenas: programs pack them anew before they
 * run next. The functions below that write say so themselves. */
void store_changed(struct store *store);
/* The same by an update that has written the narrow copy, too. */
void store_updated(struct store *store);
/* Brings the narrow copy up to date where there is one and it is stale. */
int store_narrow(struct store *store, struct error *err);
/* Lays out arenas for GRAPH's parameters, states and constants; gradients of the scheduled graph
 * decide the order. program_compile calls this, then store_allocate, for an empty (zeroed) store.
 */
int store_lay_out(struct store *store, struct backend *backend, const struct graph *graph,
                  struct error *err);
/* Takes the memory for a store that was laid out for GRAPH, all zero. */
int store_allocate(struct store *store, const struct graph *graph, struct error *err);
/* Both. */
int store_init(struct store *store, struct backend *backend, const struct graph *graph,
               struct error *err);
/* Brings STORE_GRADIENTS up to date with what lies beside it; `read` and `pull` below do so
 * themselves. Enqueues on a device. */
int store_widen_gradients(struct store *store, struct error *err);
/* Bytes that lie beside STORE_GRADIENTS. */
size_t store_beside_gradients(const struct store *store);
/* Where the step makes the gradient of SLOT. */
void *store_gradient_at(const struct store *store, const struct store_slot *slot);
/* The slot called NAME, or NULL. */
const struct store_slot *store_find(const struct store *store, const char *name);
/* Address of SLOT in ARENA, NULL where it has none. Host memory on ref and cpu. */
void *store_at(const struct store *store, const struct store_slot *slot, enum store_arena arena);
/* Copies between SLOT and dense host memory of the store's type. */
int store_read(struct store *store, const struct store_slot *slot, enum store_arena arena,
               void *ret_values, struct error *err);
int store_write(struct store *store, const struct store_slot *slot, enum store_arena arena,
                const void *values, struct error *err);
/* ARENA in host memory, as it is now: the arena itself on ref and cpu, else a copy, which is the
 * store's and good until the next call for this arena. A changed copy goes back with store_push. */
int store_pull(struct store *store, enum store_arena arena, void **ret_values, struct error *err);
int store_push(struct store *store, enum store_arena arena, struct error *err);
/* Sets parameters, states and constants to their start values; the numbers depend on SEED, name and
 * element alone. */
int store_start(struct store *store, uint64_t seed, struct error *err);

#endif
