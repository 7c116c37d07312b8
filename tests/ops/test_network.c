/* Whole networks on the backends of this build against the reference: loss, every gradient, the
 * running statistics, and how training goes on. */
#include "ref/ref.h"
#include "support/net.h"
#include "support/unit.h"
#ifdef RINGMASTER_HAVE_CPU
#include "cpu/cpu.h"
#endif
#include "kernels/sgd.h"

#include <math.h>
#include <stdio.h>

#ifdef RINGMASTER_HAVE_CPU
static struct backend *new_cpu(void) {
    struct backend *cpu = NULL;
    struct error err = {0};
    struct cpu_options options = {.threads = 2};
    CU_ASSERT_EQUAL_FATAL(cpu_open(&cpu, &options, &err), 0);
    return cpu;
}

static void run_first_step(struct net *net, struct backend *backend, struct resnet_config config,
                           enum fusion fusion) {
    net_init(net, backend, config, (struct compile_options){.fusion = fusion});
    net_start(net);
    net_fill(net, 6);
    net_run(net, NULL);
}

/* ||a - b|| / ||b|| of one slot. A value near 0 in front of a ReLU may fall on either side of it,
 * and then one term of some sums is there or not: that is much for one weight, little for all. */
static double slot_error(const struct net *a, const struct net *b, const struct store_slot *slot) {
    enum store_arena arena = slot->state ? STORE_STATE : STORE_GRADIENTS;
    const float *left = store_at(&a->store, store_find(&a->store, slot->name), arena);
    const float *right = store_at(&b->store, slot, arena);
    double apart = 0, length = 0;
    for (size_t i = 0; i < slot->count; i++) {
        apart += pow((double)left[i] - (double)right[i], 2);
        length += pow((double)right[i], 2);
    }
    return length == 0 ? apart : sqrt(apart / length);
}

static void compare_slots(const struct net *cpu, const struct net *ref, double bound) {
    double worst = 0;
    const char *where = "";
    for (int i = 0; i < ref->store.slot_count; i++) {
        double error = slot_error(cpu, ref, &ref->store.slots[i]);
        if (!(error <= worst)) {
            worst = error;
            where = ref->store.slots[i].name;
        }
    }
    if (!(worst <= bound)) {
        printf("%s: %s: error %.3g, at most %.3g\n", ref->config.model, where, worst, bound);
        CU_FAIL("a gradient differs from the reference");
    }
}

/* The small network has so few values that none comes near a ReLU's edge: there all agree closely.
 * Among the hundreds of thousands of the large ones some do, and what an operator gets wrong shows
 * as a difference of order one. */
static void one_step_gives_the_gradients_of_the_reference(void) {
    static const struct {
        const char *model;
        int size; /* so that the last norms still see tens of values a channel */
        enum fusion least;
        double bound;
    } rows[] = {{"bottleneck", 12, FUSION_NONE, 1e-4},
                {"resnet20", 16, FUSION_NONE, 5e-2},
                {"resnet18", 64, FUSION_ALL, 1e-1}};
    for (size_t m = 0; m < sizeof(rows) / sizeof(rows[0]); m++) {
        struct net ref;
        struct resnet_config config = net_config(rows[m].model, 4, rows[m].size, true);
        config.label_smoothing = 0.1;
        run_first_step(&ref, NULL, config, FUSION_NONE);
        for (enum fusion level = rows[m].least; level <= FUSION_ALL; level++) {
            struct net cpu;
            run_first_step(&cpu, new_cpu(), config, level);
            CU_ASSERT_DOUBLE_EQUAL(net_loss(&cpu), net_loss(&ref), 1e-5 * net_loss(&ref));
            compare_slots(&cpu, &ref, rows[m].bound);
            net_done(&cpu);
        }
        net_done(&ref);
    }
}

static void update(struct net *net) {
    struct sgd_step sgd = {.rate = 0.02F, .momentum = 0.9F, .scale = 1, .nesterov = 1};
    float *weights = net->store.arena[STORE_PARAMETERS];
    float *momentum = net->store.arena[STORE_MOMENTUM];
    const float *gradients = net->store.arena[STORE_GRADIENTS];
    struct error err = {0};
    for (size_t i = 0; i < net->store.count[STORE_PARAMETERS]; i++)
        sgd_update(&sgd, &weights[i], &momentum[i], gradients[i]);
    CU_ASSERT_EQUAL(program_refresh(&net->program, &err), 0);
}

/* Trains on one batch of noise. */
static void train(struct backend *backend, enum dtype dtype, enum fusion fusion, int steps,
                  double *losses) {
    struct net net;
    struct resnet_config config = net_config("resnet20", 8, 16, true);
    config.dtype = dtype;
    net_init(&net, backend, config, (struct compile_options){.fusion = fusion});
    net_start(&net);
    net_fill(&net, 9);
    for (int i = 0; i < steps; i++) {
        net_run(&net, NULL);
        losses[i] = net_loss(&net);
        update(&net);
    }
    net_done(&net);
}

static void ten_steps_follow_the_reference(void) {
    enum { STEPS = 10 };
    double ref[STEPS], cpu[STEPS];
    train(NULL, DTYPE_F32, FUSION_NONE, STEPS, ref);
    train(new_cpu(), DTYPE_F32, FUSION_ALL, STEPS, cpu);
    for (int i = 0; i < STEPS; i++)
        CU_ASSERT_DOUBLE_EQUAL(cpu[i], ref[i], 1e-3 * ref[0]);
    CU_ASSERT(ref[STEPS - 1] < 0.5 * ref[0]);
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
    enum { STEPS = 30 };
    double losses[STEPS];
    struct backend *cpu = new_cpu();
    if (!has_bf16(cpu)) {
        printf("%s has no bf16 here\n", cpu->table->describe(cpu));
        backend_close(cpu);
        return;
    }
    train(cpu, DTYPE_BF16, FUSION_ALL, STEPS, losses);
    CU_ASSERT(losses[STEPS - 1] < 0.2 * losses[0]);
}

UNIT_MAIN("ops.network", UNIT(one_step_gives_the_gradients_of_the_reference),
          UNIT(ten_steps_follow_the_reference), UNIT(bf16_learns_noise_by_heart))
#else
static void no_other_backend_is_built(void) {
    unit_skip("this build has the reference alone");
}

UNIT_MAIN("ops.network", UNIT(no_other_backend_is_built))
#endif
