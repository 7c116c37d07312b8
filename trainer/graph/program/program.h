/* Compilation and execution of a graph. program_compile takes a built graph through the passes
 *
 *     fuse (forward) -> gradients -> fuse (backward) -> schedule -> streams -> query -> plan ->
 * bind
 *
 * to an array of bound steps; a training step is a walk over it. Compiling rewrites the graph,
 * which is borrowed and must outlive the program, as must store and backend.
 *
 *     resnet_build(&graph, ...);                        build
 *     program_compile(&train, &graph, &store, ...);     compile; the first one lays out the store
 *     store_start(&store, seed, err);                   or load a checkpoint
 *     for each batch:
 *         fill program_host_input(...)s;  program_run(&train, &hooks, err);
 *         all-reduce, optimizer;          store_changed(&store);
 *
 * Several programs with one store, only one of which runs at a time (canvases, training and
 * evaluation), are compiled together and share their memory.
 *
 * A program is used by one thread at a time, and must not move. */
#ifndef TRAINER_GRAPH_PROGRAM_PROGRAM_H
#define TRAINER_GRAPH_PROGRAM_PROGRAM_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/graph.h"
#include "trainer/graph/program/plan.h"
#include "trainer/graph/program/store.h"
#include "trainer/graph/program/streams.h"
#include "trainer/graph/rules/op_table.h"

#include <stdint.h>

enum { PROGRAM_BUCKET_BYTES = 25 * 1024 * 1024 };

struct sizes; /* program/sizes.h */

/* Callback that decides, before any memory is allocated, whether there is enough for all programs
 * and their store. A refusal, -1 with an error, ends the compilation. */
struct compile_memory {
    int (*check)(void *user, const struct sizes *sizes, struct error *err);
    void *user;
};

struct compile_options {
    enum fusion fusion;
    size_t bucket_bytes; /* least size of a gradient bucket except the last; 0:
                          * PROGRAM_BUCKET_BYTES */
    bool one_stream; /* all on the device's main stream, to time or compare operators one by one */
    struct compile_memory memory; /* zeroed: no check */
};

/* Gradient bucket: a slice of the gradient arena with gradients that are complete once step `after`
 * and those before it have run. Buckets cover the arena without gaps, in order; the last one
 * includes the store's flags. */
struct bucket {
    size_t first, count; /* elements */
    int after;
};

/* Memory that programs share, each part as large as the largest of them needs. A program's inputs
 * and outputs are valid until another program gets its input. */
struct program_memory {
    struct backend *backend; /* borrowed */
    void *arena;             /* within a step */
    void *kept;              /* inputs and outputs */
    void *packed;            /* what backends keep between steps */
    size_t arena_bytes, kept_bytes, packed_bytes;
    /* The program that has its weights packed, as of that version of the store; NULL: none. */
    const struct program *packed_by;
    uint64_t packed_version;
};

/* Value in program->place: neither input nor output. */
#define PROGRAM_NO_PLACE SIZE_MAX

struct program {
    struct graph *graph;         /* borrowed */
    struct store *store;         /* borrowed */
    struct backend *backend;     /* borrowed */
    struct backend_bound *bound; /* one per operator of the graph */
    struct bound_step *steps;
    int step_count;
    struct bound_step *refresh;
    int refresh_count;
    struct bucket *buckets; /* none without training */
    int bucket_count;
    struct backend_needs *needs; /* one per operator */
    struct streams streams;
    struct plan plan;
    struct program_memory *memory; /* borrowed, or `own` */
    struct program_memory own;
    size_t kept_bytes, packed_bytes; /* needed by this program */
    size_t *place;                   /* per tensor: offset in `kept`, for inputs and outputs */
};

/* Called on the thread of program_run, between two steps. */
struct program_hooks {
    void *user;
    /* The gradients of bucket INDEX are complete; later steps do not touch them. On a device they
     * are complete in the order of the stream that is selected at the call, and work on them is to
     * be enqueued there: the main stream does not wait for it. NULL: not needed. */
    int (*bucket_ready)(void *user, int index, struct error *err);
    /* Called after each step: for timing, traces, and to find the step that fails on a device.
     * Usually NULL. */
    int (*after_step)(void *user, int step, struct error *err);
};

void program_done(struct program *program);
int program_compile(struct program *program, struct graph *graph, struct store *store,
                    struct backend *backend, const struct compile_options *options,
                    struct error *err);
/* Compiles COUNT GRAPHS to PROGRAMS that share MEMORY, which is zeroed and must outlive them. The
 * first graph lays out an empty store, so it must contain all parameters of the others. Those for
 * training have gradients for the same parameters, in buckets with the same bounds. Even after a
 * failure everything must be released with the _done functions, programs first. */
int programs_compile(struct program *const *programs, struct graph *const *graphs, int count,
                     struct program_memory *memory, struct store *store, struct backend *backend,
                     const struct compile_options *options, struct error *err);
void program_memory_done(struct program_memory *memory);

/* Runs one step; packs stale weights first. HOOKS may be NULL. */
int program_run(struct program *program, const struct program_hooks *hooks, struct error *err);
/* Returns true if the store has changed since PROGRAM's weights were packed, or another program
 * has packed its own in the same memory. */
bool program_stale(const struct program *program);
/* Packs the weights, stale or not. */
int program_refresh(struct program *program, struct error *err);
/* Marks the weights as packed, for a caller that has replayed a recording of program_refresh. */
void program_refreshed(struct program *program);

/* Copy a whole input in, or a kept output out; NAME as in the graph. Sizes must be those of the
 * tensor. */
int program_write(struct program *program, const char *name, const void *values, size_t bytes,
                  struct error *err);
int program_read(struct program *program, const char *name, void *ret_values, size_t bytes,
                 struct error *err);
/* Returns the address of input or output TENSOR: host memory on ref and cpu, which can be written
 * without a copy. */
void *program_address(const struct program *program, int tensor);

/* Prepends operator OP and its shape to an error. */
int program_op_error(const struct graph *graph, const struct op *op, struct error *err);

/* Returns FLOPs and bytes of all operators. */
struct op_cost program_cost(const struct program *program);
/* Appends a table: every operator with its tensors, cost, scratch, saved and packed bytes, its
 * stream and the operator of the other stream it waits for; then the buckets and the memory
 * plan. */
int program_print(const struct program *program, struct buf *out, struct error *err);

#endif
