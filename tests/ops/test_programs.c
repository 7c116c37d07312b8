/* Programs that take turns in one memory against the same programs each with its own. */
#include "graph/program.h"
#include "kernels/sgd.h"
#include "models/resnet.h"
#include "ref/ref.h"
#include "support/net.h"
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"
#endif

#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 3, STEPS = 6 };

/* Two sizes of picture that train, one that evaluates; the largest is neither first nor last. */
static const struct {
    int size, batch;
    bool training;
} rows[PROGRAMS] = {{8, 1, true}, {12, 2, true}, {8, 2, false}};

/* A backend that counts what is allocated: its own table in front of the real one's. */
static struct {
    const struct backend_table *real;
    struct backend_table table;
    size_t bytes;
} counted;

static void *count_alloc(struct backend *backend, size_t bytes, struct error *err) {
    counted.bytes += bytes;
    return counted.real->alloc(backend, bytes, err);
}

static struct backend *open_counted(bool cpu) {
    struct backend *backend = NULL;
#ifdef RINGMASTER_HAVE_CPU
    struct cpu_options options = {.threads = 2};
    if (cpu)
        CU_ASSERT_EQUAL_FATAL(cpu_open(&backend, &options, NULL), 0);
#else
    (void)cpu;
#endif
    if (backend == NULL)
        CU_ASSERT_EQUAL_FATAL(ref_open(&backend, NULL), 0);
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

static void open_world(struct world *w, bool cpu, enum fusion fusion, bool together) {
    struct compile_options options = {.fusion = fusion};
    struct program *programs[PROGRAMS];
    struct graph *graphs[PROGRAMS];
    struct error err = {0};
    *w = (struct world){.backend = open_counted(cpu)};
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

/* One of the programs on pictures of its own; a step that trains moves the weights. */
static void take_turn(struct world *w, int step, double losses[STEPS]) {
    static const struct sgd_step sgd = {.rate = 0.05F, .momentum = 0.9F, .scale = 1, .nesterov = 1};
    struct net *net = &w->nets[step % PROGRAMS];
    net_fill(net, (uint64_t)step);
    net_run(net, NULL);
    losses[step] = net_loss(net);
    if (!rows[step % PROGRAMS].training)
        return;
    float *weights = w->store.arena[STORE_PARAMETERS], *momentum = w->store.arena[STORE_MOMENTUM];
    const float *gradients = w->store.arena[STORE_GRADIENTS];
    for (size_t i = 0; i < w->store.count[STORE_PARAMETERS]; i++)
        sgd_update(&sgd, &weights[i], &momentum[i], gradients[i]);
    store_changed(&w->store);
}

static void for_each_backend(void (*check)(bool cpu, enum fusion fusion)) {
    check(false, FUSION_ALL);
#ifdef RINGMASTER_HAVE_CPU
    check(true, FUSION_ALL);
    check(true, FUSION_CONV);
#endif
}

static void compare_bits(bool cpu, enum fusion fusion) {
    struct world together, apart;
    double losses[2][STEPS];
    open_world(&together, cpu, fusion, true);
    for (int i = 0; i < STEPS; i++)
        take_turn(&together, i, losses[0]);
    size_t weights = together.store.count[STORE_PARAMETERS] * sizeof(float);
    size_t states = together.store.count[STORE_STATE] * sizeof(float);
    void *kept = malloc(weights + states);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
    memcpy(kept, together.store.arena[STORE_PARAMETERS], weights);
    memcpy((char *)kept + weights, together.store.arena[STORE_STATE], states);
    close_world(&together);

    open_world(&apart, cpu, fusion, false);
    for (int i = 0; i < STEPS; i++)
        take_turn(&apart, i, losses[1]);
    CU_ASSERT_EQUAL(memcmp(losses[0], losses[1], sizeof(losses[0])), 0);
    CU_ASSERT(losses[0][3] != losses[0][0]);
    CU_ASSERT_EQUAL(memcmp(kept, apart.store.arena[STORE_PARAMETERS], weights), 0);
    CU_ASSERT_EQUAL(memcmp((char *)kept + weights, apart.store.arena[STORE_STATE], states), 0);
    close_world(&apart);
    free(kept);
}

static void turns_in_one_memory_give_the_bits_of_programs_apart(void) {
    for_each_backend(compare_bits);
}

static size_t largest(size_t a, size_t b) {
    return a > b ? a : b;
}

static void compare_memory(bool cpu, enum fusion fusion) {
    struct world w;
    size_t arena = 0, kept = 0, packed = 0, sum = 0;
    open_world(&w, cpu, fusion, true);
    size_t together = counted.bytes;
    for (int i = 0; i < PROGRAMS; i++) {
        const struct program *p = &w.nets[i].program;
        arena = largest(arena, p->plan.arena_bytes);
        kept = largest(kept, p->kept_bytes);
        packed = largest(packed, p->packed_bytes);
        sum += p->plan.arena_bytes + p->kept_bytes + p->packed_bytes;
    }
    CU_ASSERT(cpu == (packed > 0));
    close_world(&w);
    open_world(&w, cpu, fusion, false);
    CU_ASSERT_EQUAL(counted.bytes - together, sum - arena - kept - packed);
    CU_ASSERT(counted.bytes > together);
    close_world(&w);
}

static void memory_is_that_of_the_largest_and_not_the_sum(void) {
    for_each_backend(compare_memory);
}

static void buckets_of_all_have_the_same_bounds(void) {
    struct world w;
    open_world(&w, false, FUSION_ALL, true);
    const struct program *a = &w.nets[0].program, *b = &w.nets[1].program;
    CU_ASSERT(a->bucket_count == b->bucket_count && a->bucket_count > 0);
    for (int i = 0; i < a->bucket_count; i++)
        CU_ASSERT(a->buckets[i].first == b->buckets[i].first &&
                  a->buckets[i].count == b->buckets[i].count);
    CU_ASSERT_EQUAL(w.nets[2].program.bucket_count, 0);
    close_world(&w);
}

/* A second head that the other program knows nothing of. */
static void a_program_that_leaves_a_gradient_out_is_refused(void) {
    struct compile_options options = {.fusion = FUSION_ALL};
    struct backend *backend = NULL;
    struct error err = {0};
    struct graph graphs[2];
    struct program programs[2];
    struct store store = {0};
    struct program_memory memory = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&backend, &err), 0);
    for (int i = 0; i < 2; i++) {
        graph_init(&graphs[i], DTYPE_F32, true);
        int x = graph_input(&graphs[i], "x", DTYPE_F32, shape_2(2, 4));
        int label = graph_input(&graphs[i], "label", DTYPE_I32, shape_1(2));
        int weight = graph_input(&graphs[i], "weight", DTYPE_F32, shape_1(2));
        for (int head = 0; head < 2 - i; head++)
            (void)graph_softmax_cross_entropy(&graphs[i],
                                              graph_linear(&graphs[i], head == 0 ? "a" : "b", x, 3),
                                              label, weight, 0);
    }
    CU_ASSERT_EQUAL(programs_compile((struct program *[]){&programs[0], &programs[1]},
                                     (struct graph *[]){&graphs[0], &graphs[1]}, 2, &memory, &store,
                                     backend, &options, &err),
                    -1);
    ASSERT_CONTAINS(err.text, "b.weight is trained by another program");
    for (int i = 0; i < 2; i++) {
        program_done(&programs[i]);
        graph_done(&graphs[i]);
    }
    program_memory_done(&memory);
    store_done(&store);
    backend_close(backend);
}

UNIT_MAIN("ops.programs", UNIT(turns_in_one_memory_give_the_bits_of_programs_apart),
          UNIT(memory_is_that_of_the_largest_and_not_the_sum),
          UNIT(buckets_of_all_have_the_same_bounds),
          UNIT(a_program_that_leaves_a_gradient_out_is_refused))
