/* What this GPU can do at best, measured: the ceilings that bench/gpu_step.c holds operators
 * against.
 *
 *     bench_gpu_ceilings
 *         prints `ceilings copy_gbs=... kernel_gbs=... f16_tflops=... bf16_tflops=...
 * tf32_tflops=...`
 *
 * copy: device to device through the library; kernel: our own pass that reads and writes each
 * element once (ReLU in f16); both count bytes read and written. Products are square, side 8192, of
 * random numbers, because zeros run faster. Median of some rounds. Status 77: no device. */
#include "common/exit_code.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/steps/matmul.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES ((size_t)2 << 30)
enum { SIDE = 8192, ROUNDS = 11, REPEATS = 10, WORKSPACE_ROOM = 256 };

struct gpu {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cublasLtHandle_t lt;
    void *from, *to, *workspace;
    struct matmul product;
    struct error err;
};

static void check(cudaError_t status, const char *what) {
    if (status == cudaSuccess)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    exit(EXIT_CODE_DEVICE);
}

static void require(const struct gpu *g, int status) {
    if (status == 0)
        return;
    (void)fprintf(stderr, "%s\n", g->err.text);
    exit(EXIT_CODE_DEVICE);
}

static void copy(struct gpu *g) {
    check(cudaMemcpyAsync(g->to, g->from, BYTES, cudaMemcpyDeviceToDevice, g->stream), "copy");
}

static void pass(struct gpu *g) {
    check(launch_pointwise(g->stream, POINTWISE_RELU, DTYPE_F16, g->from, NULL, g->to, BYTES / 2),
          "pass");
}

static void multiply(struct gpu *g) {
    require(g, matmul_run(&g->product, g->lt, g->stream, g->from, (char *)g->from + BYTES / 2,
                          g->to, g->workspace, &g->err));
}

static int compare(const void *a, const void *b) {
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

/* Seconds of one WORK: the median over rounds of some that follow each other. */
static double time_of(struct gpu *g, void (*work)(struct gpu *g)) {
    float ms[ROUNDS];
    for (int i = 0; i < 3; i++)
        work(g);
    for (int round = 0; round < ROUNDS; round++) {
        check(cudaEventRecord(g->begin, g->stream), "event");
        for (int i = 0; i < REPEATS; i++)
            work(g);
        check(cudaEventRecord(g->end, g->stream), "event");
        check(cudaEventSynchronize(g->end), "event");
        check(cudaEventElapsedTime(&ms[round], g->begin, g->end), "event");
    }
    qsort(ms, ROUNDS, sizeof(ms[0]), compare);
    return (double)ms[ROUNDS / 2] / 1e3 / REPEATS;
}

/* Numbers of either sign around 1 in TYPE, with different bit patterns. */
static void fill(struct gpu *g, enum dtype type) {
    size_t count = BYTES / sizeof(float);
    float *host = malloc(BYTES / 64);
    if (host == NULL)
        exit(EXIT_CODE_INTERNAL);
    size_t part = count / 64;
    uint32_t seed = 7;
    for (size_t i = 0; i < part; i++) {
        seed = seed * 1664525U + 1013904223U;
        host[i] = (float)(int32_t)seed * 0x1p-31F + (seed & 1 ? 0.5F : -0.5F);
    }
    check(cudaMemcpyAsync(g->to, host, BYTES / 64, cudaMemcpyHostToDevice, g->stream), "copy");
    size_t bytes = part * (type == DTYPE_F32 ? sizeof(float) : 2);
    for (size_t at = 0; at + bytes <= BYTES; at += bytes)
        check(launch_pack(g->stream, type, (char *)g->from + at, g->to, part, 1, 1), "fill");
    check(cudaStreamSynchronize(g->stream), "fill");
    free(host);
}

static double product_tflops(struct gpu *g, enum dtype type) {
    struct matmul_shape shape = {.rows = SIDE,
                                 .columns = SIDE,
                                 .inner = SIDE,
                                 .transpose_b = true,
                                 .type = type,
                                 .tf32 = true,
                                 .d_type = type};
    fill(g, type);
    require(g, matmul_init(&g->product, g->lt, &shape, &g->err));
    double seconds = time_of(g, multiply);
    matmul_done(&g->product);
    return 2.0 * SIDE * SIDE * SIDE / seconds / 1e12;
}

int main(void) {
    struct gpu g = {0};
    struct cudaDeviceProp device;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no device\n");
        return 77;
    }
    check(cudaGetDeviceProperties(&device, 0), "device");
    check(cudaStreamCreateWithFlags(&g.stream, cudaStreamNonBlocking), "stream");
    check(cudaEventCreate(&g.begin), "event");
    check(cudaEventCreate(&g.end), "event");
    check(cudaMalloc(&g.from, BYTES), "memory");
    check(cudaMalloc(&g.to, BYTES), "memory");
    check(cudaMalloc(&g.workspace, MATMUL_WORKSPACE + WORKSPACE_ROOM), "memory");
    if (cublasLtCreate(&g.lt) != CUBLAS_STATUS_SUCCESS)
        return EXIT_CODE_DEVICE;
    fill(&g, DTYPE_F16);
    double bytes = 2.0 * (double)BYTES;
    double copied = bytes / time_of(&g, copy) / 1e9, passed = bytes / time_of(&g, pass) / 1e9;
    double half = product_tflops(&g, DTYPE_F16), brain = product_tflops(&g, DTYPE_BF16);
    printf("device %s\n", device.name);
    printf("ceilings copy_gbs=%.0f kernel_gbs=%.0f f16_tflops=%.0f bf16_tflops=%.0f "
           "tf32_tflops=%.0f\n",
           copied, passed, half, brain, product_tflops(&g, DTYPE_F32));
    return 0;
}
