#include "tests/ops/programs.h"

#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/graph/program/program.h"
#include "trainer/math/optimizer.h"
#include "trainer/models/resnet.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 3, STEPS = 6 };

/* Two sizes of picture that train, one that evaluates; the largest is neither first nor last. */
static const struct {
    int size, batch;
    bool training;
} rows[PROGRAMS] = {{8, 1, true}, {12, 2, true}, {8, 2, false}};

/* A backend that counts what is allocated: its own table wraps the real one's. */
static struct {
    const struct backend_table *real;
    struct backend_table table;
    size_t bytes;
} counted;

static void *count_alloc(struct backend *backend, size_t bytes, struct error *err) {
    counted.bytes += bytes;
    return counted.real->alloc(backend, bytes, err);
}

static struct backend *open_counted(network_opener open) {
    struct backend *backend = open();
    counted.real = backend->table;
    counted.table = *backend->table;
    counted.table.alloc = count_alloc;
    counted.bytes = 0;
    backend->table = &counted.table;
    return backend;
}

struct world {
    struct backend *backend;
    struct store store;
    struct program_memory memory;
    struct net nets[PROGRAMS]; /* graph, program, tensors and config alone */
};

static void open_world(struct world *w, network_opener open, enum fusion fusion, bool together) {
    struct compile_options options = {.fusion = fusion};
    struct program *programs[PROGRAMS];
    struct graph *graphs[PROGRAMS];
    struct error err = {0};
    *w = (struct world){.backend = open_counted(open)};
    for (int i = 0; i < PROGRAMS; i++) {
        struct net *net = &w->nets[i];
        net->config = net_config("resnet20", rows[i].batch, rows[i].size, rows[i].training);
        CU_ASSERT_EQUAL_FATAL(resnet_build(&net->graph, &net->config, &net->tensors, &err), 0);
        programs[i] = &net->program;
        graphs[i] = &net->graph;
        if (!together)
            CU_ASSERT_EQUAL_FATAL(
                program_compile(programs[i], graphs[i], &w->store, w->backend, &options, &err), 0);
    }
    if (together)
        CU_ASSERT_EQUAL_FATAL(programs_compile(programs, graphs, PROGRAMS, &w->memory, &w->store,
                                               w->backend, &options, &err),
                              0);
    CU_ASSERT_EQUAL_FATAL(store_start(&w->store, 1, &err), 0);
}

static void close_world(struct world *w) {
    for (int i = 0; i < PROGRAMS; i++) {
        program_done(&w->nets[i].program);
        graph_done(&w->nets[i].graph);
    }
    program_memory_done(&w->memory);
    store_done(&w->store);
    w->backend->table = counted.real;
    backend_close(w->backend);
}

static void *pull(struct world *w, enum store_arena arena) {
    void *values = NULL;
    CU_ASSERT_EQUAL_FATAL(store_pull(&w->store, arena, &values, NULL), 0);
    return values;
}

/* One of the programs on pictures of its own; a step that trains moves the weights. */
static void take_turn(struct world *w, int step, double losses[STEPS]) {
    static const struct optimizer_step sgd = {
        .rate = 0.05F, .momentum = 0.9F, .scale = 1, .nesterov = 1};
    struct net *net = &w->nets[step % PROGRAMS];
    net_fill(net, (uint64_t)step);
    net_run(net, NULL);
    losses[step] = net_loss(net);
    if (!rows[step % PROGRAMS].training)
        return;
    void *weights = pull(w, STORE_PARAMETERS), *momentum = pull(w, STORE_MOMENTUM);
    const float *gradients = pull(w, STORE_GRADIENTS);
    for (size_t i = 0; i < w->store.count[STORE_PARAMETERS]; i++)
        sgd_update(&sgd, &((float *)weights)[i], &((float *)momentum)[i], gradients[i]);
    CU_ASSERT_EQUAL(store_push(&w->store, STORE_PARAMETERS, NULL), 0);
    CU_ASSERT_EQUAL(store_push(&w->store, STORE_MOMENTUM, NULL), 0);
}

void programs_check_bits(network_opener open, enum fusion fusion) {
    struct world together, apart;
    double losses[2][STEPS];
    open_world(&together, open, fusion, true);
    for (int i = 0; i < STEPS; i++)
        take_turn(&together, i, losses[0]);
    size_t weights = together.store.count[STORE_PARAMETERS] * sizeof(float);
    size_t states = together.store.count[STORE_STATE] * sizeof(float);
    void *kept = malloc(weights + states);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    memcpy(kept, pull(&together, STORE_PARAMETERS), weights);
    memcpy((char *)kept + weights, pull(&together, STORE_STATE), states);
    close_world(&together);

    open_world(&apart, open, fusion, false);
    for (int i = 0; i < STEPS; i++)
        take_turn(&apart, i, losses[1]);
    CU_ASSERT_EQUAL(memcmp(losses[0], losses[1], sizeof(losses[0])), 0);
    CU_ASSERT(losses[0][3] != losses[0][0]);
    CU_ASSERT_EQUAL(memcmp(kept, pull(&apart, STORE_PARAMETERS), weights), 0);
    CU_ASSERT_EQUAL(memcmp((char *)kept + weights, pull(&apart, STORE_STATE), states), 0);
    close_world(&apart);
    free(kept);
}

static size_t largest(size_t a, size_t b) {
    return a > b ? a : b;
}

void programs_check_memory(network_opener open, enum fusion fusion) {
    struct world w;
    size_t arena = 0, kept = 0, packed = 0, sum = 0;
    open_world(&w, open, fusion, true);
    size_t together = counted.bytes;
    for (int i = 0; i < PROGRAMS; i++) {
        const struct program *p = &w.nets[i].program;
        arena = largest(arena, p->plan.arena_bytes);
        kept = largest(kept, p->kept_bytes);
        packed = largest(packed, p->packed_bytes);
        sum += p->plan.arena_bytes + p->kept_bytes + p->packed_bytes;
    }
    close_world(&w);
    open_world(&w, open, fusion, false);
    CU_ASSERT_EQUAL(counted.bytes - together, sum - arena - kept - packed);
    CU_ASSERT(counted.bytes > together);
    close_world(&w);
}
