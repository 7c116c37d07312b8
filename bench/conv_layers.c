/* Times convolutions in f32 with each kind of kernel of the cpu backend, layer by layer: forward
 * pass, data gradient, weight gradient and packing of weights, in milliseconds. The kinds take
 * turns, and the best time of each counts.
 *
 *     bench_conv_layers THREADS REPEATS [LOOPS] < LAYERS
 *
 * A line of LAYERS is "images height width inputs outputs kernel stride pad". LOOPS is the name of
 * a table of loops (avx2); ONEDNN_MAX_CPU_ISA=AVX2 limits oneDNN to the same instructions. With one
 * thread, processor time is measured, so other load on the machine does not count. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/cpu.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/graph.h"
#include "trainer/graph/rules/op_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KINDS = 4, OPS = 3, TENSORS = 8 };

static const struct {
    const char *name;
    enum cpu_convs convs;
} kinds[KINDS] = {{"oneDNN", CPU_CONVS_ONEDNN},
                  {"gemm", CPU_CONVS_GEMM},
                  {"winograd", CPU_CONVS_WINOGRAD},
                  {"chosen", CPU_CONVS_AUTO}};

struct layer {
    long images, height, width, in, out, kernel, stride, pad;
};

/* One operator on one backend. */
struct bound {
    struct backend *backend;
    struct backend_bound bound;
    void *packed;
};

struct bench {
    struct backend *backends[KINDS];
    struct graph graph;
    void *values[TENSORS];
    struct bound ops[OPS][KINDS];
    void *scratch;
    size_t scratch_bytes;
    double best[OPS][KINDS], packing[OPS][KINDS];
};

static clockid_t the_clock = CLOCK_MONOTONIC;

static double now(void) {
    struct timespec t;
    (void)clock_gettime(the_clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int add_operators(struct graph *graph, const struct layer *l, struct error *err) {
    struct op_attr attr = {
        .window = {.kernel = (int)l->kernel, .stride = (int)l->stride, .pad = (int)l->pad}};
    int inputs[OP_INPUTS_MAX];
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        inputs[i] = TENSOR_NONE;
    graph_init(graph, DTYPE_F32, true);
    inputs[0] = graph_tensor(graph, "x", DTYPE_F32, shape_4(l->images, l->height, l->width, l->in),
                             TENSOR_INPUT, err);
    inputs[1] = graph_tensor(graph, "w", DTYPE_F32, shape_4(l->out, l->kernel, l->kernel, l->in),
                             TENSOR_INPUT, err);
    if (graph_append(graph, OP_CONV2D, "conv", inputs, &attr, err) < 0)
        return -1;
    int y = graph->ops[0].outputs[0];
    graph->gradient[y] =
        graph_tensor(graph, "dy", DTYPE_F32, graph->tensors[y].shape, TENSOR_INPUT, err);
    return gradient_rule(OP_CONV2D)(graph, 0, err);
}

/* Allocates values in the same kind of pages as a program's tensors, and fills them. */
static void *filled(struct backend *backend, size_t bytes, struct error *err) {
    float *values = backend->table->alloc(backend, bytes, err);
    uint32_t seed = 1;
    for (size_t i = 0; values != NULL && i < bytes / sizeof(float); i++) {
        seed = seed * 1664525U + 1013904223U;
        values[i] = (float)(seed >> 8) / 8388608.0F - 1.0F;
    }
    return values;
}

/* Binds all operators on all backends, which share one scratch buffer. */
static int bind_all(struct bench *b, struct error *err) {
    struct backend_needs needs[OPS][KINDS] = {{{0}}};
    for (int t = 0; t < b->graph.tensor_count && t < TENSORS; t++) {
        b->values[t] = filled(b->backends[0], tensor_bytes(&b->graph.tensors[t]), err);
        if (b->values[t] == NULL)
            return -1;
    }
    for (int i = 0; i < OPS * KINDS; i++) {
        struct backend *backend = b->backends[i % KINDS];
        struct backend_needs *n = &needs[i / KINDS][i % KINDS];
        if (backend->table->query(backend, &b->graph, &b->graph.ops[i / KINDS], n, err) != 0)
            return -1;
        b->scratch_bytes = n->scratch > b->scratch_bytes ? n->scratch : b->scratch_bytes;
    }
    b->scratch = b->backends[0]->table->alloc(b->backends[0], b->scratch_bytes, err);
    for (int i = 0; i < OPS * KINDS; i++) {
        struct bound *o = &b->ops[i / KINDS][i % KINDS];
        const struct op *op = &b->graph.ops[i / KINDS];
        void *in[OP_INPUTS_MAX] = {NULL}, *out[OP_OUTPUTS_MAX] = {NULL};
        o->backend = b->backends[i % KINDS];
        o->packed = o->backend->table->alloc(o->backend, needs[i / KINDS][i % KINDS].packed, err);
        for (int slot = 0; slot < OP_INPUTS_MAX; slot++)
            in[slot] = op->inputs[slot] == TENSOR_NONE ? NULL : b->values[op->inputs[slot]];
        for (int slot = 0; slot < OP_OUTPUTS_MAX; slot++)
            out[slot] = op->outputs[slot] == TENSOR_NONE ? NULL : b->values[op->outputs[slot]];
        struct op_addresses addresses = {
            .inputs = in, .outputs = out, .scratch = b->scratch, .packed = o->packed};
        if (o->backend->table->bind(o->backend, &b->graph, op, &addresses, &o->bound, err) != 0)
            return -1;
    }
    return 0;
}

static int timed(const struct bound_step *step, double *best, struct error *err) {
    double start = now();
    if (step->run == NULL)
        return 0;
    if (step->run(step->context, err) != 0)
        return -1;
    double took = now() - start;
    *best = *best == 0 || took < *best ? took : *best;
    return 0;
}

static int measure(struct bench *b, int repeats, struct error *err) {
    for (int op = 0; op < OPS; op++)
        for (int i = 0; i < repeats * KINDS; i++) {
            struct bound *o = &b->ops[op][i % KINDS];
            if (timed(&o->bound.refresh, &b->packing[op][i % KINDS], err) != 0 ||
                timed(&o->bound.step, &b->best[op][i % KINDS], err) != 0)
                return -1;
        }
    return 0;
}

static void layer_done(struct bench *b) {
    for (int i = 0; i < OPS * KINDS; i++) {
        struct bound *o = &b->ops[i / KINDS][i % KINDS];
        if (o->backend == NULL)
            continue;
        o->backend->table->release(o->backend, o->bound.step.context);
        o->backend->table->free(o->backend, o->packed, 0);
    }
    for (int t = 0; t < TENSORS && t < b->graph.tensor_count; t++)
        if (b->values[t] != NULL)
            b->backends[0]->table->free(b->backends[0], b->values[t],
                                        tensor_bytes(&b->graph.tensors[t]));
    if (b->scratch != NULL)
        b->backends[0]->table->free(b->backends[0], b->scratch, b->scratch_bytes);
    graph_done(&b->graph);
}

static int run_layer(const struct bench *all, const struct layer *l, int repeats,
                     struct error *err) {
    struct bench b = {0};
    memcpy(b.backends, all->backends, sizeof b.backends);
    int result = add_operators(&b.graph, l, err);
    if (result == 0 && b.graph.op_count != OPS)
        result = error_set(err, EXIT_CODE_INTERNAL, "%d operators", b.graph.op_count);
    if (result == 0)
        result = bind_all(&b, err);
    if (result == 0)
        result = measure(&b, repeats, err);
    printf("%ldx%ldx%ld %ld->%ld %ldx%ld/%ld pad %ld\n", l->images, l->height, l->width, l->in,
           l->out, l->kernel, l->kernel, l->stride, l->pad);
    for (int op = 0; op < OPS && result == 0; op++) {
        printf("  %-20s", op_name(b.graph.ops[op].kind));
        for (int kind = 0; kind < KINDS; kind++)
            printf("  %s %8.2f (+%.2f)", kinds[kind].name, 1e3 * b.best[op][kind],
                   1e3 * b.packing[op][kind]);
        printf("  %5.2f %5.2f\n", b.best[op][0] / b.best[op][1], b.best[op][0] / b.best[op][2]);
    }
    (void)fflush(stdout);
    layer_done(&b);
    return result;
}

static int open_backends(struct bench *all, int threads, const char *loops, struct error *err) {
    for (int i = 0; i < KINDS; i++) {
        struct cpu_options options = {.threads = threads, .convs = kinds[i].convs};
        if (cpu_open(&all->backends[i], &options, err) != 0)
            return -1;
        for (const struct loops *const *l = loops_available(); *l != NULL; l++)
            if (loops != NULL && strcmp((*l)->name, loops) == 0)
                ((struct cpu *)all->backends[i])->loops = *l;
    }
    return 0;
}

int main(int argc, char **argv) {
    struct bench all = {0};
    struct layer l;
    struct error err = {0};
    int result = 0;
    if (argc < 3) {
        (void)fprintf(stderr, "usage: bench_conv_layers THREADS REPEATS [LOOPS] < LAYERS\n");
        return EXIT_CODE_USAGE;
    }
    if (atoi(argv[1]) == 1)
        the_clock = CLOCK_PROCESS_CPUTIME_ID;
    result = open_backends(&all, atoi(argv[1]), argc > 3 ? argv[3] : NULL, &err);
    while (result == 0 && scanf("%ld %ld %ld %ld %ld %ld %ld %ld", &l.images, &l.height, &l.width,
                                &l.in, &l.out, &l.kernel, &l.stride, &l.pad) == 8)
        result = run_layer(&all, &l, atoi(argv[2]), &err);
    if (result != 0)
        (void)fprintf(stderr, "%s\n", err.text);
    for (int i = 0; i < KINDS; i++)
        backend_close(all.backends[i]);
    return result == 0 ? 0 : EXIT_CODE_INTERNAL;
}
