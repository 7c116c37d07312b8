/* Every kernel of our own alone, in f16, at the shapes of ResNet-50's training step that cost most.
 *
 *     bench_gpu_kernels [BATCH]          default 256
 *         a line each: name, shape, microseconds, GB/s of the bytes that it must move (they stand
 *         above its code), and the share of the copy that is measured in the same run
 *
 * Tensors are far larger than the caches. Median of some rounds. Status 77: no device. */
#include "common/exit_code.h"
#include "common/str.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/optional/kernels/launch_backward.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 11, REPEATS = 5, BUFFERS = 5, CHANNELS_MAX = 2048, WEIGHTS = 25557032 };

struct gpu {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    int multiprocessors;
    size_t batch;
    size_t bytes;             /* of a buffer: the largest activation */
    void *buffers[BUFFERS];   /* activations, numbers in them */
    float *channels;          /* rows of CHANNELS_MAX: gamma, mean, sums ... */
    float *partial;           /* what chunks found */
    float *weights;           /* a gradient of 1x1 weights */
    unsigned char *half_mask; /* every group of weights has a gradient in f16 */
    bool hopper;              /* compute capability 9.0 */
    struct control *control;  /* of the optimizer */
};

/* A kernel at one shape: side x side pixels a picture, before it. */
struct kernel_run {
    const char *name;
    size_t side;
    int channels;
    double bytes; /* an element of [batch, side, side, channels]: read and written */
    cudaError_t (*run)(const struct gpu *g, const struct kernel_run *job);
    bool hopper; /* there alone */
};

static void check(cudaError_t status, const char *what) {
    if (status == cudaSuccess)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    exit(EXIT_CODE_DEVICE);
}

static float *row(const struct gpu *g, int number) {
    return g->channels + (size_t)number * CHANNELS_MAX;
}

static size_t rows_of(const struct gpu *g, const struct kernel_run *job) {
    return g->batch * job->side * job->side;
}

static int chunks_of(const struct gpu *g, const struct kernel_run *job) {
    return launch_norm_chunks(rows_of(g, job), job->channels, g->multiprocessors);
}

static struct norm_args norm_of(const struct gpu *g) {
    return (struct norm_args){.x = g->buffers[0],
                              .gamma = row(g, 0),
                              .beta = row(g, 1),
                              .mean = row(g, 2),
                              .invstd = row(g, 3),
                              .running_mean = row(g, 4),
                              .running_variance = row(g, 5)};
}

/* 3x3, stride 2, as after the stem. */
static struct pool_args pool_of(const struct gpu *g, const struct kernel_run *job) {
    int side = (int)job->side;
    return (struct pool_args){
        (int)g->batch, side, side, job->channels, side / 2, side / 2, 3, 2, 1};
}

static struct norm_forward_args forward_of(const struct gpu *g, const struct kernel_run *job) {
    return (struct norm_forward_args){.first = norm_of(g),
                                      .y = g->buffers[1],
                                      .rows = rows_of(g, job),
                                      .channels = job->channels,
                                      .relu = true,
                                      .epsilon = 1e-5F,
                                      .momentum = 0.1F,
                                      .chunks = chunks_of(g, job),
                                      .partial = g->partial};
}

static cudaError_t run_forward(const struct gpu *g, const struct kernel_run *job) {
    struct norm_forward_args args = forward_of(g, job);
    return launch_norm_forward(g->stream, DTYPE_F16, &args);
}

static cudaError_t run_forward_pool(const struct gpu *g, const struct kernel_run *job) {
    struct norm_forward_args args = forward_of(g, job);
    args.index = g->buffers[2];
    args.pool = pool_of(g, job);
    return launch_norm_forward(g->stream, DTYPE_F16, &args);
}

static struct norm_backward_args backward_of(const struct gpu *g, const struct kernel_run *job) {
    return (struct norm_backward_args){.first = norm_of(g),
                                       .dy = g->buffers[1],
                                       .relu = true,
                                       .dx = g->buffers[2],
                                       .dgamma = row(g, 6),
                                       .dbeta = row(g, 7),
                                       .rows = rows_of(g, job),
                                       .channels = job->channels,
                                       .chunks = chunks_of(g, job),
                                       .partial = g->partial,
                                       .coefficients = row(g, 8)};
}

static cudaError_t run_backward(const struct gpu *g, const struct kernel_run *job) {
    struct norm_backward_args args = backward_of(g, job);
    return launch_norm_backward(g->stream, DTYPE_F16, &args);
}

static cudaError_t run_backward_join(const struct gpu *g, const struct kernel_run *job) {
    struct norm_backward_args args = backward_of(g, job);
    args.y = g->buffers[3];
    args.dside = g->buffers[4];
    return launch_norm_backward(g->stream, DTYPE_F16, &args);
}

static cudaError_t run_backward_pool(const struct gpu *g, const struct kernel_run *job) {
    struct norm_backward_args args = backward_of(g, job);
    args.index = g->buffers[3];
    args.pool = pool_of(g, job);
    return launch_norm_backward(g->stream, DTYPE_F16, &args);
}

static cudaError_t run_apply_join(const struct gpu *g, const struct kernel_run *job) {
    struct norm_apply_args args = {.x = g->buffers[0],
                                   .scale = row(g, 0),
                                   .bias = row(g, 1),
                                   .side = g->buffers[1],
                                   .y = g->buffers[2],
                                   .rows = rows_of(g, job),
                                   .channels = job->channels,
                                   .chunks = chunks_of(g, job)};
    return launch_norm_apply(g->stream, DTYPE_F16, &args);
}

static cudaError_t run_grad_apply(const struct gpu *g, const struct kernel_run *job) {
    struct norm_grad_apply_args args = {.g = g->buffers[0],
                                        .x = g->buffers[1],
                                        .coefficients = row(g, 8),
                                        .dx = g->buffers[2],
                                        .rows = rows_of(g, job),
                                        .channels = job->channels,
                                        .chunks = chunks_of(g, job)};
    return launch_norm_grad_apply(g->stream, DTYPE_F16, &args);
}

/* 1x1. The maps are made once a shape. */
static cudaError_t run_conv_backward(const struct gpu *g, const struct kernel_run *job,
                                     enum conv_backward_form form, int out) {
    static struct conv_backward_args args;
    if (args.in != job->channels || args.out != out || args.form != form) {
        args = (struct conv_backward_args){.form = form,
                                           .g = g->buffers[0],
                                           .z = g->buffers[1],
                                           .coefficients = row(g, 8),
                                           .w = row(g, 14),
                                           .x = g->buffers[2],
                                           .y = g->buffers[3],
                                           .shortcut = g->buffers[1],
                                           .scale = row(g, 0),
                                           .bias = row(g, 1),
                                           .gamma = row(g, 0),
                                           .beta = row(g, 1),
                                           .mean = row(g, 2),
                                           .invstd = row(g, 3),
                                           .dx = g->buffers[4],
                                           .dgamma = row(g, 6),
                                           .dbeta = row(g, 7),
                                           .dx_coefficients = row(g, 11),
                                           .dw = g->weights,
                                           .partial = g->partial,
                                           .rows = rows_of(g, job),
                                           .in = job->channels,
                                           .out = out};
        args.workers = launch_conv_backward_workers(args.rows, args.in, g->multiprocessors);
        cudaError_t status = launch_conv_backward_maps(DTYPE_F16, &args);
        if (status != cudaSuccess)
            return status;
    }
    return launch_conv_backward(g->stream, DTYPE_F16, &args);
}

/* A bottleneck's last convolution, to four times the channels. */
static cudaError_t run_backward_last(const struct gpu *g, const struct kernel_run *job) {
    return run_conv_backward(g, job, BACKWARD_NORM, 4 * job->channels);
}

/* The shortcut after the pool. */
static cudaError_t run_backward_shortcut(const struct gpu *g, const struct kernel_run *job) {
    return run_conv_backward(g, job, BACKWARD_PLAIN, 4 * job->channels);
}

/* A bottleneck's first convolution, to a fourth of the channels, and the first one of stage 2, to
 * half of them. */
static cudaError_t run_backward_first(const struct gpu *g, const struct kernel_run *job) {
    return run_conv_backward(g, job, BACKWARD_JOIN, job->channels / 4);
}
static cudaError_t run_backward_second_stage(const struct gpu *g, const struct kernel_run *job) {
    return run_conv_backward(g, job, BACKWARD_JOIN, job->channels / 2);
}

static cudaError_t run_normalize(const struct gpu *g, const struct kernel_run *job) {
    struct normalize_args args = {.image = g->buffers[0],
                                  .y = g->buffers[1],
                                  .pixels = rows_of(g, job),
                                  .channels = job->channels,
                                  .scale = {1, 1, 1}};
    return launch_normalize(g->stream, DTYPE_F16, &args);
}

static cudaError_t update(const struct gpu *g, const struct kernel_run *job,
                          struct backend_gradients gradients) {
    struct optimizer_args args = {.weights = g->buffers[0],
                                  .state.momentum = g->buffers[1],
                                  .gradients = gradients,
                                  .half = g->buffers[3],
                                  .half_type = DTYPE_F16,
                                  .count = (size_t)job->channels};
    return launch_optimizer(g->stream, g->control, &args);
}

static cudaError_t run_update(const struct gpu *g, const struct kernel_run *job) {
    return update(g, job, (struct backend_gradients){.wide = g->buffers[2]});
}

static cudaError_t run_update_half(const struct gpu *g, const struct kernel_run *job) {
    return update(g, job,
                  (struct backend_gradients){.wide = g->buffers[2],
                                             .half = g->buffers[2],
                                             .half_mask = g->half_mask,
                                             .type = DTYPE_F16});
}

static const struct kernel_run jobs[] = {
    {"norm_grad_apply", 56, 64, 6, run_grad_apply, false},
    {"norm_grad_apply", 56, 256, 6, run_grad_apply, false},
    {"norm_grad_apply", 28, 512, 6, run_grad_apply, false},
    {"norm_grad_apply", 7, 2048, 6, run_grad_apply, false},
    {"conv_backward norm", 56, 64, 20, run_backward_last, true},
    {"conv_backward norm", 28, 128, 20, run_backward_last, true},
    {"conv_backward", 56, 64, 20, run_backward_shortcut, true},
    {"conv_backward join", 56, 256, 9, run_backward_first, true},
    {"conv_backward join", 56, 256, 10, run_backward_second_stage, true},
    {"conv_backward join", 28, 512, 9, run_backward_first, true},
    {"norm_apply join", 56, 256, 6, run_apply_join, false},
    {"norm_forward", 56, 64, 6, run_forward, false},
    {"norm_forward", 14, 1024, 6, run_forward, false},
    {"norm_backward", 56, 64, 10, run_backward, false},
    {"norm_backward join", 56, 256, 16, run_backward_join, false},
    {"norm_forward pool", 112, 64, 4.75, run_forward_pool, false},
    {"norm_backward pool", 112, 64, 7.5, run_backward_pool, false},
    {"normalize", 224, 4, 2.75, run_normalize, false},
    {"sgd", 0, WEIGHTS, 26, run_update, false},
    {"sgd, f16 gradients", 0, WEIGHTS, 22.125, run_update_half, false},
};

static int compare(const void *a, const void *b) {
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

static cudaError_t run_copy(const struct gpu *g, const struct kernel_run *job) {
    (void)job;
    return cudaMemcpyAsync(g->buffers[1], g->buffers[0], g->bytes, cudaMemcpyDeviceToDevice,
                           g->stream);
}

/* Seconds of one run: the median over rounds of some that follow each other. */
static double time_of(const struct gpu *g, const struct kernel_run *job) {
    float ms[ROUNDS];
    for (int i = 0; i < 3; i++)
        check(job->run(g, job), job->name);
    for (int round = 0; round < ROUNDS; round++) {
        check(cudaEventRecord(g->begin, g->stream), "event");
        for (int i = 0; i < REPEATS; i++)
            check(job->run(g, job), job->name);
        check(cudaEventRecord(g->end, g->stream), "event");
        check(cudaEventSynchronize(g->end), job->name);
        check(cudaEventElapsedTime(&ms[round], g->begin, g->end), "event");
    }
    qsort(ms, ROUNDS, sizeof(ms[0]), compare);
    return (double)ms[ROUNDS / 2] / 1e3 / REPEATS;
}

static void gpu_open(struct gpu *g) {
    size_t largest = g->batch * 112 * 112 * 64 * 2;
    g->bytes = largest > WEIGHTS * sizeof(float) ? largest : WEIGHTS * sizeof(float);
    check(cudaDeviceGetAttribute(&g->multiprocessors, cudaDevAttrMultiProcessorCount, 0), "device");
    check(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&g->begin), "event");
    check(cudaEventCreate(&g->end), "event");
    for (int i = 0; i < BUFFERS; i++) {
        check(cudaMalloc(&g->buffers[i], g->bytes), "memory");
        check(launch_numbers(g->stream, g->buffers[i], g->bytes), "numbers");
    }
    /* 14 rows, and after them the weights of a 1x1 convolution. */
    size_t channels = (size_t)(14 + 32) * CHANNELS_MAX * sizeof(float);
    size_t partial = (size_t)LAUNCH_CHUNKS_MAX * 3 * CHANNELS_MAX * sizeof(float);
    check(cudaMalloc((void **)&g->channels, channels), "memory");
    check(launch_numbers(g->stream, g->channels, channels), "numbers");
    check(cudaMalloc((void **)&g->partial, partial), "memory");
    check(cudaMalloc((void **)&g->weights, (size_t)128 * 512 * sizeof(float)), "memory");
    check(cudaMalloc((void **)&g->half_mask, WEIGHTS / LAUNCH_GROUP + 1), "memory");
    check(cudaMemsetAsync(g->half_mask, 1, WEIGHTS / LAUNCH_GROUP + 1, g->stream), "memory");
    check(cudaMalloc((void **)&g->control, sizeof(*g->control)), "memory");
    check(cudaMemsetAsync(g->control, 0, sizeof(*g->control), g->stream), "memory");
}

int main(int argc, char **argv) {
    struct gpu g = {.batch = 256};
    struct cudaDeviceProp device;
    int devices = 0;
    int64_t batch = 256;
    if (argc > 2 || (argc == 2 && str_parse_int(argv[1], 1, 4096, &batch, NULL) != 0)) {
        (void)fprintf(stderr, "usage: bench_gpu_kernels [BATCH]\n");
        return EXIT_CODE_USAGE;
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no device\n");
        return 77;
    }
    check(cudaGetDeviceProperties(&device, 0), "device");
    g.batch = (size_t)batch;
    g.hopper = device.major == 9 && device.minor == 0;
    gpu_open(&g);
    const struct kernel_run copied = {"copy", 0, 0, 0, run_copy, false};
    double copy = 2.0 * (double)g.bytes / time_of(&g, &copied) / 1e9;
    printf("kernels on %s, batch %d, f16; copy %.0f GB/s\n", device.name, (int)batch, copy);
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        const struct kernel_run *job = &jobs[i];
        if (job->hopper && !g.hopper)
            continue;
        double elements =
            job->side > 0 ? (double)rows_of(&g, job) * job->channels : (double)job->channels;
        double seconds = time_of(&g, job);
        double rate = elements * job->bytes / seconds / 1e9;
        printf("kernel name=%s side=%zu channels=%d us=%.1f gbs=%.0f share=%.2f\n", job->name,
               job->side, job->channels, seconds * 1e6, rate, rate / copy);
    }
    return 0;
}
