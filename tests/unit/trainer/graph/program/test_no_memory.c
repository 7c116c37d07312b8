/* A program that is compiled, started, run and read on the reference and on a device, with
 * allocation number N failing, alone or together with all later ones, for every N: an error with a
 * text, and nothing of what was made is leaked or taken for complete. */
#include "tests/support/host_device.h"
#include "tests/support/no_memory.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/program.h"

#include <stdio.h>

enum { ALLOCATIONS_MAX = 2000 };

/* Convolutions with norms and a join, a pool and two heads: something for each pass of a compile.
 */
static int describe(struct graph *graph, enum dtype dtype, struct error *err) {
    const struct op_window one = {.kernel = 1, .stride = 1};
    const struct norm_options norm = {1e-5, 0.1, INIT_ONE};
    graph_init(graph, dtype, true);
    int x = graph_input(graph, "x", dtype, shape_4(2, 4, 4, 8));
    int label = graph_input(graph, "label", DTYPE_I32, shape_1(2));
    int weight = graph_input(graph, "weight", DTYPE_F32, shape_1(2));
    int a = graph_conv2d(graph, "a", x, 8, 8, one);
    a = graph_relu(graph, graph_batch_norm(graph, "an", a, norm));
    int b = graph_conv2d(graph, "b", a, 8, 8, one);
    b = graph_relu(graph, graph_add(graph, graph_batch_norm(graph, "bn", b, norm), a));
    graph_freeze(graph, true);
    int c = graph_conv2d(graph, "c", b, 8, 8, one);
    c = graph_relu(graph, graph_batch_norm(graph, "cn", c, norm));
    graph_freeze(graph, false);
    int pooled = graph_global_avg_pool(graph, c);
    int logits = graph_linear(graph, "fc", pooled, 4);
    (void)graph_softmax_cross_entropy(graph, logits, label, weight, 0);
    logits = graph_keep(graph, graph_linear(graph, "other", pooled, 4), "logits");
    (void)graph_softmax_cross_entropy(graph, logits, label, weight, 0);
    return graph_finish(graph, err);
}

struct world {
    struct backend *backend;
    struct graph graph;
    struct store store;
    struct program program;
};

static int print(const struct program *program, struct error *err) {
    struct buf text;
    buf_init(&text, 1 << 20);
    int done = program_print(program, &text, err);
    buf_done(&text);
    return done;
}

static int use(struct world *w, enum dtype dtype, struct error *err) {
    struct compile_options options = {.fusion = FUSION_CONV};
    float logits[2 * 4];
    void *pulled = NULL;
    if (describe(&w->graph, dtype, err) != 0 ||
        program_compile(&w->program, &w->graph, &w->store, w->backend, &options, err) != 0 ||
        plan_check(&w->program.plan, &w->graph, &w->program.streams, err) != 0 ||
        store_start(&w->store, 1, err) != 0 || program_run(&w->program, NULL, err) != 0 ||
        store_pull(&w->store, STORE_GRADIENTS, &pulled, err) != 0 || print(&w->program, err) != 0)
        return -1;
    return program_read(&w->program, "logits", logits, sizeof(logits), err);
}

/* Returns false when N was one more than there are. */
static bool try_one(bool on_device, size_t n, bool for_good) {
    struct host_device device;
    struct world w = {0};
    struct error err = {0};
    if (on_device)
        host_device_open(&device);
    else
        CU_ASSERT_EQUAL_FATAL(ref_open(&w.backend, &err), 0);
    if (on_device)
        w.backend = &device.base;
    no_memory_begin(n, for_good);
    int done = use(&w, on_device ? DTYPE_BF16 : DTYPE_F32, &err);
    bool failed = no_memory_end();
    bool right = failed ? done == -1 && err.text[0] != '\0' : done == 0;
    if (!right)
        printf("\nallocation %zu%s: %d, %s\n", n, for_good ? " and on" : "", done, err.text);
    CU_ASSERT(right);
    program_done(&w.program);
    store_done(&w.store);
    graph_done(&w.graph);
    backend_close(w.backend); /* the device asserts that it has all of its memory back */
    return failed;
}

static void try_all(bool on_device) {
    size_t n = 1;
    while (n < ALLOCATIONS_MAX && try_one(on_device, n, false))
        n++;
    CU_ASSERT(n > 50 && n < ALLOCATIONS_MAX);
    for (size_t from = 1; from < n; from++)
        (void)try_one(on_device, from, true);
    printf("\n    %zu allocations", n - 1);
}

static void a_program_on_the_reference_ends_with_an_error(void) {
    try_all(false);
}

static void a_program_on_a_device_ends_with_an_error(void) {
    try_all(true);
}

UNIT_SUITE("graph.no_memory", UNIT(a_program_on_the_reference_ends_with_an_error),
           UNIT(a_program_on_a_device_ends_with_an_error))
