/* Whole networks on backend cpu against the reference (ops/network.h). */
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"
#include "models/resnet.h"
#include "ops/network.h"
#include "support/net.h"

#include <stdio.h>

static struct backend *new_cpu(void) {
    struct backend *cpu = NULL;
    struct error err = {0};
    struct cpu_options options = {.threads = 2};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, &err), 0);
    return cpu;
}

static void one_step_gives_the_gradients_of_the_reference(void) {
    static const struct network_row rows[] = {
        {"bottleneck", 12, DTYPE_F32, FUSION_NONE, FUSION_ALL, 1, 1e-4},
        {"resnet20", 16, DTYPE_F32, FUSION_NONE, FUSION_ALL, 1, 5e-2},
        {"resnet18", 64, DTYPE_F32, FUSION_ALL, FUSION_ALL, 1, 1e-1}};
    network_check_gradients(new_cpu, rows, sizeof(rows) / sizeof(rows[0]));
}

static void ten_steps_follow_the_reference(void) {
    network_check_ten_steps(new_cpu, DTYPE_F32, FUSION_ALL, 1, 1e-3);
}

static bool has_bf16(struct backend *backend) {
    struct graph graph;
    struct resnet_tensors tensors;
    struct error err = {0};
    struct resnet_config config = net_config("resnet20", 1, 8, true);
    config.dtype = DTYPE_BF16;
    CU_ASSERT_EQUAL_FATAL(resnet_build(&graph, &config, &tensors, &err), 0);
    bool has = true;
    for (int i = 0; i < graph.op_count; i++)
        has = has && backend->table->supports(backend, &graph, &graph.ops[i]);
    graph_done(&graph);
    return has;
}

static void bf16_learns_noise_by_heart(void) {
    struct backend *cpu = new_cpu();
    bool has = has_bf16(cpu);
    if (!has)
        printf("%s has no bf16 here\n", cpu->table->describe(cpu));
    backend_close(cpu);
    if (has)
        network_check_learning(new_cpu, DTYPE_BF16, FUSION_CONV, 1);
}

UNIT_MAIN("ops.network", UNIT(one_step_gives_the_gradients_of_the_reference),
          UNIT(ten_steps_follow_the_reference), UNIT(bf16_learns_noise_by_heart))
#else
static void no_other_backend_is_built(void) {
    unit_skip("this build has the reference alone");
}

UNIT_MAIN("ops.network", UNIT(no_other_backend_is_built))
#endif
