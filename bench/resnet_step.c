/* One side of bench/resnet_cpu.sh: training steps of a ResNet on the cpu backend, on request.
 *
 *     bench_resnet_step MODEL f32|bf16 BATCH SIZE THREADS [CONVS [infer]]
 *
 * CONVS (auto, direct, onednn, own, gemm, winograd) selects the convolutions (cpu_convs), to
 * measure one kind against another; "infer" makes a step the forward pass of a trained network, as
 * served. Reads lines with a number of steps from stdin, runs that many (forward, backward, SGD
 * with Nesterov momentum, packed weights brought up to date) and answers with one line of their
 * seconds. A line "profile" prints milliseconds of one step by kind of operator, the best of a few
 * steps (of one thread its processor time), with BENCH_OPERATORS in the environment also by
 * operator; the end of the input ends the program. Pictures and labels are the same random ones
 * each step. */
#include "common/str.h"
#include "trainer/backend/cpu/cpu.h"
#include "trainer/graph/program/program.h"
#include "trainer/graph/rules/op_table.h"
#include "trainer/models/resnet.h"
#include "trainer/optim/optimizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLASSES = 1000, PROFILE_STEPS = 5 };

struct bench {
    struct backend *backend;
    struct graph graph;
    struct resnet_tensors tensors;
    struct store store;
    struct program program;
    int64_t batch, size, threads;
    enum cpu_convs convs;
    bool infers;
    /* Profile: best seconds of each step of the program, and the clock at the last one's end. */
    double *best;
    double last;
};

static double seconds_of(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

/* A profile of one thread counts its processor time: not what others take of the machine. */
static double profile_now(const struct bench *b) {
    return b->threads == 1 ? seconds_of(CLOCK_PROCESS_CPUTIME_ID) : now();
}

static void fill_inputs(struct bench *b) {
    uint8_t *image = program_address(&b->program, b->tensors.image);
    int32_t *label = program_address(&b->program, b->tensors.label);
    float *weight = program_address(&b->program, b->tensors.weight);
    uint32_t seed = 1;
    for (int64_t i = 0; i < b->batch * b->size * b->size * 3; i++) {
        seed = seed * 1664525U + 1013904223U;
        image[i] = (uint8_t)(seed >> 24);
    }
    for (int64_t i = 0; i < b->batch; i++) {
        label[i] = (int32_t)(i * 37 % CLASSES);
        weight[i] = 1;
    }
}

static int prepare(struct bench *b, const char *model, enum dtype dtype, struct error *err) {
    struct cpu_options options = {.threads = (int)b->threads, .convs = b->convs};
    struct resnet_config config = {.model = model,
                                   .batch = (int)b->batch,
                                   .image_size = (int)b->size,
                                   .classes = CLASSES,
                                   .training = !b->infers,
                                   .dtype = dtype,
                                   .mean = {0.485F, 0.456F, 0.406F},
                                   .std = {0.229F, 0.224F, 0.225F}};
    struct compile_options compile = {.fusion = FUSION_CONV};
    if (cpu_open(&b->backend, &options, err) != 0 ||
        resnet_build(&b->graph, &config, &b->tensors, err) != 0 ||
        program_compile(&b->program, &b->graph, &b->store, b->backend, &compile, err) != 0 ||
        store_start(&b->store, 1, err) != 0 || program_refresh(&b->program, err) != 0)
        return -1;
    fill_inputs(b);
    return 0;
}

static int run_step(struct bench *b, const struct program_hooks *hooks, double *ret_parts,
                    struct error *err) {
    static const struct optimizer_step sgd = {
        .rate = 0.01F, .momentum = 0.9F, .weight_decay = 1e-4F, .scale = 1, .nesterov = 1};
    if (program_run(&b->program, hooks, err) != 0)
        return -1;
    if (b->infers)
        return 0;
    double start = profile_now(b);
    optimizer_apply(&sgd, b->store.arena[STORE_PARAMETERS],
                    (struct optimizer_state){.momentum = b->store.arena[STORE_MOMENTUM]},
                    b->store.arena[STORE_GRADIENTS], b->store.count[STORE_PARAMETERS]);
    double middle = profile_now(b);
    if (program_refresh(&b->program, err) != 0)
        return -1;
    if (ret_parts != NULL) {
        ret_parts[0] = middle - start;
        ret_parts[1] = profile_now(b) - middle;
    }
    return 0;
}

static int after_step(void *user, int step, struct error *err) {
    (void)err;
    struct bench *b = user;
    double time = profile_now(b), took = time - b->last;
    b->last = time;
    if (b->best[step] == 0 || took < b->best[step])
        b->best[step] = took;
    return 0;
}

static int profile(struct bench *b, struct error *err) {
    double kinds[OP_KINDS] = {0}, total = 0, best[2] = {0}, parts[2] = {0};
    int counts[OP_KINDS] = {0};
    struct program_hooks hooks = {.user = b, .after_step = after_step};
    b->best = calloc((size_t)b->program.step_count, sizeof(double));
    if (b->best == NULL)
        return error_no_memory(err, "the profile");
    for (int i = 0; i < PROFILE_STEPS; i++) {
        b->last = profile_now(b);
        if (run_step(b, &hooks, parts, err) != 0)
            return -1;
        for (int k = 0; k < 2; k++)
            best[k] = i == 0 || parts[k] < best[k] ? parts[k] : best[k];
    }
    for (int i = 0; i < b->program.step_count; i++) {
        kinds[b->graph.ops[i].kind] += b->best[i];
        counts[b->graph.ops[i].kind]++;
    }
    for (int kind = 0; kind < OP_KINDS; kind++) {
        total += kinds[kind];
        if (counts[kind] > 0)
            printf("%-34s %4d %9.2f ms\n", op_name((enum op_kind)kind), counts[kind],
                   1e3 * kinds[kind]);
    }
    printf("%-34s      %9.2f ms\n%-34s      %9.2f ms\n", "sgd", 1e3 * best[0], "packed weights",
           1e3 * best[1]);
    printf("%-34s      %9.2f ms\n", "sum", 1e3 * (total + best[0] + best[1]));
    if (getenv("BENCH_OPERATORS") != NULL)
        for (int i = 0; i < b->program.step_count; i++)
            printf("%-34s %-40s %9.3f ms %8.1f GFLOP/s %8.1f GB/s\n", op_name(b->graph.ops[i].kind),
                   b->graph.ops[i].name, 1e3 * b->best[i],
                   op_cost(&b->graph, &b->graph.ops[i]).flops / b->best[i] / 1e9,
                   op_cost(&b->graph, &b->graph.ops[i]).bytes / b->best[i] / 1e9);
    free(b->best);
    b->best = NULL;
    return 0;
}

static int serve(struct bench *b, struct error *err) {
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "profile") == 0) {
            if (profile(b, err) != 0)
                return -1;
            (void)fflush(stdout);
            continue;
        }
        int64_t steps = 0;
        if (str_parse_int(line, 1, 1000000, &steps, err) != 0)
            return -1;
        for (int64_t i = 0; i < steps; i++) {
            double start = now();
            if (run_step(b, NULL, NULL, err) != 0)
                return -1;
            printf("%s%.6f", i == 0 ? "" : " ", now() - start);
        }
        printf("\n");
        (void)fflush(stdout);
    }
    return 0;
}

static int find_convs(const char *name, enum cpu_convs *ret) {
    static const char *const names[] = {
        [CPU_CONVS_AUTO] = "auto",     [CPU_CONVS_DIRECT] = "direct",
        [CPU_CONVS_ONEDNN] = "onednn", [CPU_CONVS_OWN] = "own",
        [CPU_CONVS_GEMM] = "gemm",     [CPU_CONVS_WINOGRAD] = "winograd"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0) {
            *ret = (enum cpu_convs)i;
            return 0;
        }
    return -1;
}

int main(int argc, char **argv) {
    struct error err = {0};
    struct bench b = {0};
    enum dtype dtype = argc > 2 && strcmp(argv[2], "bf16") == 0 ? DTYPE_BF16 : DTYPE_F32;
    b.infers = argc == 8 && strcmp(argv[7], "infer") == 0;
    if (argc < 6 || argc > 8 || (argc > 6 && find_convs(argv[6], &b.convs) != 0) ||
        (argc == 8 && !b.infers)) {
        (void)fprintf(stderr, "usage: %s MODEL f32|bf16 BATCH SIZE THREADS [CONVS [infer]]\n",
                      argv[0]);
        return EXIT_CODE_USAGE;
    }
    int result = -1;
    if (str_parse_int(argv[3], 1, 65536, &b.batch, &err) == 0 &&
        str_parse_int(argv[4], 32, 4096, &b.size, &err) == 0 &&
        str_parse_int(argv[5], 1, CPU_THREADS_MAX, &b.threads, &err) == 0) {
        result = prepare(&b, argv[1], dtype, &err);
        if (result == 0)
            result = serve(&b, &err);
    }
    if (result != 0)
        (void)fprintf(stderr, "%s\n", err.text);
    program_done(&b.program);
    store_done(&b.store);
    graph_done(&b.graph);
    backend_close(b.backend);
    return result == 0 ? 0 : (int)err.code;
}
