#include "trainer/comm/nccl/nccl_trial.h"

#include "common/clock.h"
#include "trainer/comm/nccl/comm_nccl.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

struct nccl_trial {
    struct comm *comm; /* borrowed */
    struct device_sum *sum;
    void *memory;
    cudaStream_t queue;
};

static int cuda_check(cudaError_t status, const char *what, struct error *err) {
    if (status == cudaSuccess)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "%s: %s", what, cudaGetErrorString(status));
}

int nccl_trial_open(struct nccl_trial **ret, struct comm *comm, int gpu, size_t bytes,
                    struct error *err) {
    struct nccl_trial *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return error_no_memory(err, "a trial of NCCL");
    t->comm = comm;
    *ret = t;
    if (cuda_check(cudaSetDevice(gpu), "this rank's GPU", err) != 0 ||
        cuda_check(cudaStreamCreateWithFlags(&t->queue, cudaStreamNonBlocking), "queue", err) != 0)
        return -1;
    t->memory = comm_nccl_alloc(bytes, err);
    return t->memory == NULL ? -1 : comm_nccl_open(&t->sum, comm, t->memory, bytes, err);
}

int nccl_trial_close(struct nccl_trial *t) {
    struct error ignored;
    if (t == NULL)
        return 0;
    if (t->sum != NULL)
        (void)device_sum_finish(t->sum, &ignored);
    if (device_sum_close(t->sum) != 0)
        return -1; /* memory that a sum may use is kept */
    if (t->memory != NULL)
        comm_nccl_free(t->memory);
    if (t->queue != NULL)
        (void)cudaStreamDestroy(t->queue);
    free(t);
    return 0;
}

static int sum(struct nccl_trial *t, size_t count, struct error *err) {
    device_sum_expect(t->sum, clock_now() + NCCL_TRIAL_SECONDS * CLOCK_SECOND);
    if (device_sum_start(t->sum, t->queue, t->memory, count, err) != 0 ||
        device_sum_join(t->sum, t->queue, err) != 0)
        return -1;
    const cudaError_t status = cudaStreamSynchronize(t->queue);
    if (device_sum_check(t->sum, err) != 0)
        return -1;
    return cuda_check(status, "a sum over GPUs", err);
}

int nccl_trial_sum(struct nccl_trial *t, float *values, size_t count, double *ret_seconds,
                   struct error *err) {
    const size_t bytes = count * sizeof(*values);
    if (cuda_check(cudaMemcpyAsync(t->memory, values, bytes, cudaMemcpyHostToDevice, t->queue),
                   "values to a GPU", err) != 0 ||
        cuda_check(cudaStreamSynchronize(t->queue), "values to a GPU", err) != 0 ||
        comm_barrier(t->comm, err) != 0)
        return -1;
    const int64_t began = clock_now();
    if (sum(t, count, err) != 0)
        return -1;
    *ret_seconds = (double)(clock_now() - began) / CLOCK_SECOND;
    return cuda_check(cudaMemcpy(values, t->memory, bytes, cudaMemcpyDeviceToHost),
                      "sums from a GPU", err);
}
