/* Our side of bench/resnet_cuda.sh: training steps of a ResNet on the cuda backend, as `ringtrain
 * train` takes them (step/stepper.h): pictures from host memory, one recorded graph, SGD.
 *
 *     bench_gpu_step step MODEL f32|bf16|f16 FUSION BATCH SIZE SECONDS
 *         images/s over rounds of a few steps for about SECONDS: best round and median
 *     bench_gpu_step profile MODEL f32|bf16|f16 FUSION BATCH SIZE GB/s TFLOP/s
 *         a table of operators: each one's best time between two events on the queue, its bytes and
 *         FLOPs, and the share of the time that it would take at the two ceilings; all on one
 * stream
 *
 * BENCH_OWN=on takes the own backward pass of 1x1 convolutions (--own-backward), off does not.
 * BENCH_OVERLAP=on has small kernels begin early (--launch-overlap), off has not.
 * BENCH_TUNE=0 leaves cuDNN's plans untimed, BENCH_PLANS names a file that keeps what was chosen.
 * Status 77: no device. */
#include "common/clock.h"
#include "common/str.h"
#include "trainer/app/step/network.h"
#include "trainer/app/step/stepper.h"
#include "trainer/backend/cuda/cuda.h"
#include "trainer/data/dataset/labelled.h"
#include "trainer/graph/rules/op_table.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 1000, ROUND_STEPS = 50, ROUNDS_MAX = 1000, WARM_UP = 5, PROFILE_ROUNDS = 5 };

struct bench {
    struct backend *backend;
    struct comm *comm;
    struct network net;
    struct stepper stepper;
    struct batch_layout layout;
    struct batch batch;
    const char *model, *type;
    enum dtype dtype;
    enum fusion fusion;
    int64_t batch_size, size;
    bool one_stream;     /* operators one after another, so that each can be timed */
    double open_seconds; /* compiling, tuning included */
    cudaEvent_t *events; /* profile: one before the first operator and one after each */
};

static double seconds_since(int64_t start) {
    return (double)(clock_now() - start) / (double)CLOCK_SECOND;
}

static int fill_batch(struct bench *b, struct error *err) {
    const struct backend_device *device = b->backend->table->device;
    size_t count = (size_t)b->batch_size;
    size_t bytes = count * (size_t)(b->size * b->size) * 3;
    unsigned char *images = device->host_alloc(b->backend, bytes, err);
    int32_t *labels = device->host_alloc(b->backend, count * sizeof(*labels), err);
    float *weights = device->host_alloc(b->backend, count * sizeof(*weights), err);
    b->layout = labelled_layout((int)b->batch_size, (int)b->size, false);
    b->batch = (struct batch){.layout = &b->layout, .fields = {images, labels, weights}};
    if (images == NULL || labels == NULL || weights == NULL)
        return -1;
    uint32_t seed = 1;
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525U + 1013904223U;
        images[i] = (unsigned char)(seed >> 24);
    }
    for (size_t i = 0; i < count; i++) {
        labels[i] = (int32_t)(i * 37 % CLASSES);
        weights[i] = 1;
    }
    return 0;
}

static enum cuda_own choice_of(const char *variable) {
    const char *choice = getenv(variable);
    if (choice == NULL)
        return CUDA_OWN_AUTO;
    return strcmp(choice, "on") == 0 ? CUDA_OWN_ON : CUDA_OWN_OFF;
}

static int prepare(struct bench *b, struct error *err) {
    const char *tune = getenv("BENCH_TUNE");
    struct cuda_options options = {.local_ranks = 1,
                                   .tune = tune == NULL || strcmp(tune, "0") != 0,
                                   .own_backward = choice_of("BENCH_OWN"),
                                   .overlap = choice_of("BENCH_OVERLAP"),
                                   .tf32 = true,
                                   .plan_cache = getenv("BENCH_PLANS"),
                                   .loss_scale = b->dtype == DTYPE_F16 ? 1024 : 1};
    struct network_options n = {.model = b->model,
                                .batch = (int)b->batch_size,
                                .image_size = (int)b->size,
                                .classes = CLASSES,
                                .dtype = b->dtype,
                                .fusion = b->fusion,
                                .mean = MODEL_MEAN,
                                .std = MODEL_STD,
                                .one_stream = b->one_stream};
    struct stepper_options how = {
        .accumulate = 1,
        .optimizer = {.momentum = 0.9F, .weight_decay = 1e-4F, .nesterov = 1},
        .decay_all = true};
    int64_t start = clock_now();
    if (comm_self_open(&b->comm, err) != 0 || cuda_open(&b->backend, &options, err) != 0 ||
        network_open(&b->net, b->backend, &n, true, err) != 0 ||
        store_start(&b->net.store, 1, err) != 0 ||
        stepper_open(&b->stepper, &b->net, b->comm, &how, err) != 0)
        return -1;
    b->open_seconds = seconds_since(start);
    return fill_batch(b, err);
}

static int run_steps(struct bench *b, int count, double *ret_seconds, struct error *err) {
    int64_t start = clock_now();
    for (int i = 0; i < count; i++) {
        struct step_outcome outcome;
        if (stepper_micro(&b->stepper, &b->batch, err) != 0 ||
            stepper_finish(&b->stepper, 0.01, &outcome, err) != 0)
            return -1;
    }
    if (b->backend->table->sync(b->backend, err) != 0)
        return -1;
    *ret_seconds = seconds_since(start);
    return 0;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int measure(struct bench *b, double seconds, struct error *err) {
    static double rounds[ROUNDS_MAX];
    int count = 0;
    double ignored = 0;
    size_t free_bytes = 0, total_bytes = 0;
    if (run_steps(b, WARM_UP, &ignored, err) != 0)
        return -1;
    for (int64_t start = clock_now();
         count < 3 || (count < ROUNDS_MAX && seconds_since(start) < seconds); count++)
        if (run_steps(b, ROUND_STEPS, &rounds[count], err) != 0)
            return -1;
    (void)cudaMemGetInfo(&free_bytes, &total_bytes);
    qsort(rounds, (size_t)count, sizeof(rounds[0]), compare);
    double images = (double)b->batch_size * ROUND_STEPS;
    printf("step model=%s dtype=%s fusion=%s batch=%lld images_per_second=%.1f best=%.1f "
           "rounds=%d open_seconds=%.1f memory_mib=%.0f\n",
           b->model, b->type, fusion_name(b->fusion), (long long)b->batch_size,
           images / rounds[count / 2], images / rounds[0], count, b->open_seconds,
           (double)(total_bytes - free_bytes) / 1048576);
    return 0;
}

static int after_step(void *user, int step, struct error *err) {
    (void)err;
    struct bench *b = user;
    (void)cudaEventRecord(b->events[step + 1], b->backend->table->device->queue(b->backend));
    return 0;
}

/* Milliseconds of each operator, the best of some rounds. */
static int time_operators(struct bench *b, float *best, struct error *err) {
    struct program *program = &b->net.train[0].program;
    struct program_hooks hooks = {.user = b, .after_step = after_step};
    for (int round = 0; round < PROFILE_ROUNDS; round++) {
        (void)after_step(b, -1, NULL);
        if (program_run(program, &hooks, err) != 0 || b->backend->table->sync(b->backend, err) != 0)
            return -1;
        for (int i = 0; i < program->step_count; i++) {
            float ms = 0;
            if (cudaEventElapsedTime(&ms, b->events[i], b->events[i + 1]) != cudaSuccess)
                return error_set(err, EXIT_CODE_DEVICE, "no time between two events");
            if (round == 0 || ms < best[i])
                best[i] = ms;
        }
    }
    return 0;
}

/* The least milliseconds at the ceilings. */
static double floor_ms(const struct op_cost *cost, double gigabytes, double teraflops) {
    double by_bytes = cost->bytes / gigabytes / 1e6, by_flops = cost->flops / teraflops / 1e9;
    return by_bytes > by_flops ? by_bytes : by_flops;
}

static void print_row(const char *what, int count, double ms, const struct op_cost *cost,
                      double floor, double whole) {
    printf("%-28s %4d %9.4f ms %5.1f %% %9.1f MB %8.1f GFLOP %8.0f GB/s %7.1f TFLOP/s %6.1f %%\n",
           what, count, ms, 100 * ms / whole, cost->bytes / 1e6, cost->flops / 1e9,
           cost->bytes / ms / 1e6, cost->flops / ms / 1e9, 100 * floor / ms);
}

static void print_profile(const struct bench *b, const float *best, double whole, double gigabytes,
                          double teraflops) {
    struct op_cost costs[OP_KINDS] = {0}, all = {0};
    double ms[OP_KINDS] = {0}, floors[OP_KINDS] = {0}, sum = 0, floor = 0;
    int counts[OP_KINDS] = {0};
    const struct graph *graph = &b->net.train[0].graph;
    for (int i = 0; i < graph->op_count; i++) {
        struct op_cost cost = op_cost(graph, &graph->ops[i]);
        double least = floor_ms(&cost, gigabytes, teraflops);
        enum op_kind kind = graph->ops[i].kind;
        char what[256];
        (void)snprintf(what, sizeof(what), "%s %s", op_name(kind), graph->ops[i].name);
        print_row(what, 1, (double)best[i], &cost, least, whole);
        counts[kind]++;
        ms[kind] += (double)best[i];
        floors[kind] += least;
        costs[kind].bytes += cost.bytes;
        costs[kind].flops += cost.flops;
    }
    printf("\nby kind: count, time, share of the step, bytes, FLOPs, rates, share of the roofline "
           "(%.0f GB/s, %.0f TFLOP/s)\n",
           gigabytes, teraflops);
    for (int kind = 0; kind < OP_KINDS; kind++) {
        if (counts[kind] == 0)
            continue;
        print_row(op_name((enum op_kind)kind), counts[kind], ms[kind], &costs[kind], floors[kind],
                  whole);
        sum += ms[kind];
        floor += floors[kind];
        all.bytes += costs[kind].bytes;
        all.flops += costs[kind].flops;
    }
    print_row("all operators", graph->op_count, sum, &all, floor, whole);
    printf("%-28s      %9.4f ms: recorded, with input, optimizer and packed weights\n",
           "the whole step", whole);
}

static int profile(struct bench *b, double gigabytes, double teraflops, struct error *err) {
    size_t count = (size_t)b->net.train[0].program.step_count;
    float *best = calloc(count, sizeof(*best));
    b->events = calloc(count + 1, sizeof(cudaEvent_t));
    int result = best == NULL || b->events == NULL ? error_no_memory(err, "the profile") : 0;
    double seconds = 0;
    for (size_t i = 0; result == 0 && i <= count; i++)
        if (cudaEventCreate(&b->events[i]) != cudaSuccess)
            result = error_set(err, EXIT_CODE_DEVICE, "no event");
    if (result == 0)
        result = run_steps(b, WARM_UP, &seconds, err);
    if (result == 0)
        result = run_steps(b, ROUND_STEPS, &seconds, err);
    if (result == 0)
        result = time_operators(b, best, err);
    if (result == 0)
        print_profile(b, best, 1e3 * seconds / ROUND_STEPS, gigabytes, teraflops);
    for (size_t i = 0; b->events != NULL && i <= count; i++)
        if (b->events[i] != NULL)
            (void)cudaEventDestroy(b->events[i]);
    free(b->events);
    free(best);
    return result;
}

static void close_bench(struct bench *b) {
    if (b->backend != NULL) {
        const struct backend_device *device = b->backend->table->device;
        for (int i = 0; i < b->layout.count; i++)
            if (b->batch.fields[i] != NULL)
                device->host_free(b->backend, b->batch.fields[i]);
    }
    stepper_done(&b->stepper);
    network_done(&b->net);
    backend_close(b->backend);
    comm_close(b->comm);
}

static int parse_dtype(const char *text, enum dtype *ret) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(text, dtype_name(types[i])) == 0) {
            *ret = types[i];
            return 0;
        }
    }
    return -1;
}

static int run(struct bench *b, int argc, char **argv, struct error *err) {
    bool profiles = strcmp(argv[1], "profile") == 0;
    b->one_stream = profiles;
    if (argc != (profiles ? 9 : 8) || parse_dtype(argv[3], &b->dtype) != 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "usage: %s step|profile MODEL f32|bf16|f16 FUSION BATCH SIZE ...",
                         argv[0]);
    b->model = argv[2];
    b->type = argv[3];
    if (fusion_parse(argv[4], &b->fusion, err) != 0 ||
        str_parse_int(argv[5], 1, 65536, &b->batch_size, err) != 0 ||
        str_parse_int(argv[6], 32, 4096, &b->size, err) != 0 || prepare(b, err) != 0)
        return -1;
    return profiles ? profile(b, strtod(argv[7], NULL), strtod(argv[8], NULL), err)
                    : measure(b, strtod(argv[7], NULL), err);
}

int main(int argc, char **argv) {
    static struct bench b;
    struct error err = {0};
    int devices = 0;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s step|profile ...\n", argv[0]);
        return EXIT_CODE_USAGE;
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no device\n");
        return 77;
    }
    int result = run(&b, argc, argv, &err);
    if (result != 0)
        (void)fprintf(stderr, "%s\n", err.text);
    close_bench(&b);
    return result == 0 ? 0 : (int)err.code;
}
