#include "trainer/backend/cuda/dnn/conv_tune.h"

#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/dnn/dnn_plan.h"

#include <stdint.h>

/* Plans are timed on the operator's real buffers, with numbers in those whose contents do not
 * matter. Between runs a write of twice the L2 cache's size evicts the operands, because in a step
 * other operators run between two uses of them. The best time of five counts. A plan that fails to
 * run is passed over. */

enum { WARM_UP = 1, TIMED = 5 };

/* State shared by the runs of one tuning. */
struct tuning {
    struct cuda *cuda;
    const struct conv_operands *operands;
    cudaEvent_t begin, end;
    void *cold; /* overwritten between runs to flush the operands from the caches */
    size_t cold_bytes;
};

static int check(cudaError_t status, struct error *err) {
    return status == cudaSuccess ? 0 : cuda_error(status, "timing a convolution", err);
}

/* Numbers first, zeros afterwards: buffers are left as an arena begins. */
static int fill(const struct tuning *t, bool numbers, struct error *err) {
    const struct conv_operands *o = t->operands;
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < o->count && status == cudaSuccess; i++) {
        if (o->scratch[i] == 0)
            continue;
        status = numbers ? launch_numbers(t->cuda->stream, o->addresses[i], o->scratch[i])
                         : cudaMemsetAsync(o->addresses[i], 0, o->scratch[i], t->cuda->stream);
    }
    return check(status, err);
}

static int tuning_open(struct tuning *t, struct error *err) {
    int cache = 0;
    cudaError_t status = cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, t->cuda->ordinal);
    t->cold_bytes = 2 * (size_t)cache;
    if (status == cudaSuccess && cache > 0)
        status = cudaMalloc(&t->cold, t->cold_bytes);
    if (status == cudaSuccess)
        status = cudaEventCreate(&t->begin);
    if (status == cudaSuccess)
        status = cudaEventCreate(&t->end);
    return check(status, err) != 0 ? -1 : fill(t, true, err);
}

/* Safe on half-opened ones. */
static void tuning_close(struct tuning *t) {
    (void)fill(t, false, NULL);
    if (t->begin != NULL)
        (void)cudaEventDestroy(t->begin);
    if (t->end != NULL)
        (void)cudaEventDestroy(t->end);
    if (t->cold != NULL)
        (void)cudaFree(t->cold);
}

/* Measures the milliseconds of one run with cold caches. */
static int time_run(const struct tuning *t, const struct dnn_pack *pack,
                    const struct dnn_plan *plan, float *ret_ms, struct error *err) {
    cudaStream_t stream = t->cuda->stream;
    cudaError_t status = cudaSuccess;
    if (t->cold != NULL)
        status = cudaMemsetAsync(t->cold, 0, t->cold_bytes, stream);
    if (status == cudaSuccess)
        status = cudaEventRecord(t->begin, stream);
    if (check(status, err) != 0 || dnn_pack_run(pack, t->cuda->convs->dnn, plan, err) != 0)
        return -1;
    status = cudaEventRecord(t->end, stream);
    if (status == cudaSuccess)
        status = cudaEventSynchronize(t->end);
    if (status == cudaSuccess)
        status = cudaEventElapsedTime(ret_ms, t->begin, t->end);
    return check(status, err);
}

/* The minimum of several runs: disturbances only make a run longer. */
static int time_plan(const struct tuning *t, const struct dnn_plan *plan, float *ret_ms,
                     struct error *err) {
    const struct conv_operands *o = t->operands;
    struct dnn_pack pack;
    int result = dnn_pack_init(&pack, o->ids, o->addresses, o->count, o->workspace, err);
    for (int i = 0; result == 0 && i < WARM_UP + TIMED; i++) {
        float ms = 0;
        result = time_run(t, &pack, plan, &ms, err);
        if (i == WARM_UP || (i > WARM_UP && ms < *ret_ms))
            *ret_ms = ms;
    }
    dnn_pack_done(&pack);
    return result;
}

int conv_tune(struct cuda *cuda, struct conv_choice *choice, const struct conv_operands *operands,
              float *ret_ms, struct error *err) {
    struct tuning t = {.cuda = cuda, .operands = operands};
    struct error why = {0}; /* of the last plan that did not run; no matter if another one did */
    int best = -1;
    int result = tuning_open(&t, &why);
    for (int i = 0; result == 0 && i < choice->plans.count; i++) {
        float ms = 0;
        if (time_plan(&t, &choice->plans.plans[i], &ms, &why) == 0 && (best < 0 || ms < *ret_ms)) {
            best = i;
            *ret_ms = ms;
        }
    }
    tuning_close(&t);
    /* The error of a plan that did not run must not be reported by the next launch. */
    (void)cudaGetLastError();
    if (best < 0 && err != NULL)
        *err = why;
    if (best < 0)
        return error_wrap(err, "no plan for %s ran", dnn_pattern_name(choice->pattern));
    choice->chosen = best;
    return 0;
}
