/* Programs over one store in one memory, on the backends of host memory (ops/programs.h). */
#include "tests/ops/programs.h"
#include "tests/support/net.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/program/program.h"
#include "trainer/models/resnet.h"
#ifdef RINGMASTER_HAVE_CPU
#include "trainer/backend/cpu/cpu.h"
#endif

static struct backend *new_ref(void) {
    struct backend *ref = NULL;
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, NULL), 0);
    return ref;
}

#ifdef RINGMASTER_HAVE_CPU
static struct backend *new_cpu(void) {
    struct backend *cpu = NULL;
    struct cpu_options options = {.threads = 2};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, NULL), 0);
    return cpu;
}
#endif

static void turns_in_one_memory_give_the_bits_of_programs_apart(void) {
    programs_check_bits(new_ref, FUSION_ALL);
#ifdef RINGMASTER_HAVE_CPU
    programs_check_bits(new_cpu, FUSION_ALL);
    programs_check_bits(new_cpu, FUSION_CONV);
#endif
}

static void memory_is_that_of_the_largest_and_not_the_sum(void) {
    programs_check_memory(new_ref, FUSION_ALL);
#ifdef RINGMASTER_HAVE_CPU
    programs_check_memory(new_cpu, FUSION_CONV);
#endif
}

static void buckets_of_all_have_the_same_bounds(void) {
    struct net nets[2] = {{0}};
    struct compile_options options = {.fusion = FUSION_ALL, .bucket_bytes = 1 << 16};
    struct backend *backend = new_ref();
    struct store store = {0};
    struct program_memory memory = {0};
    struct error err = {0};
    for (int i = 0; i < 2; i++) {
        nets[i].config = net_config("resnet20", 1 + i, 8 + 4 * i, true);
        CU_ASSERT_EQUAL_FATAL(resnet_build(&nets[i].graph, &nets[i].config, &nets[i].tensors, &err),
                              0);
    }
    const struct program *a = &nets[0].program, *b = &nets[1].program;
    CU_ASSERT_EQUAL_FATAL(programs_compile((struct program *[]){&nets[0].program, &nets[1].program},
                                           (struct graph *[]){&nets[0].graph, &nets[1].graph}, 2,
                                           &memory, &store, backend, &options, &err),
                          0);
    CU_ASSERT(a->bucket_count == b->bucket_count && a->bucket_count > 3);
    for (int i = 0; i < a->bucket_count; i++)
        CU_ASSERT(a->buckets[i].first == b->buckets[i].first &&
                  a->buckets[i].count == b->buckets[i].count);
    for (int i = 0; i < 2; i++) {
        program_done(&nets[i].program);
        graph_done(&nets[i].graph);
    }
    program_memory_done(&memory);
    store_done(&store);
    backend_close(backend);
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

UNIT_SUITE("ops.programs", UNIT(turns_in_one_memory_give_the_bits_of_programs_apart),
           UNIT(memory_is_that_of_the_largest_and_not_the_sum),
           UNIT(buckets_of_all_have_the_same_bounds),
           UNIT(a_program_that_leaves_a_gradient_out_is_refused))
