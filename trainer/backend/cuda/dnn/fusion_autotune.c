#include "trainer/backend/cuda/dnn/fusion_autotune.h"

#include "trainer/backend/cuda/dnn/fusion_baseline.h"
#include "trainer/backend/cuda/dnn/plan_cache.h"

/* With `--tune` a fused convolution has to win against its parts: the plain convolution, which is
 * timed too, and the passes that fusion saves, which are estimated from the bandwidth of a copy and
 * the bytes they move (fusion_baseline.c). The answer decides about the graph, so it is asked
 * before any memory of the network exists; settle() therefore allocates buffers of its own.
 *
 * Whatever cannot be measured counts as faster: fusion also saves memory. */

enum { COPIED_BYTES = 256 * 1024 * 1024, COPIES = 5, ALIGNMENT = 256 };

/* Milliseconds of the best of COPIES copies between two halves of MEMORY. */
static cudaError_t time_copies(struct cuda *cuda, char *memory, cudaEvent_t begin, cudaEvent_t end,
                               float *ret_ms) {
    cudaError_t status = cudaSuccess;
    for (int i = 0; i <= COPIES && status == cudaSuccess; i++) {
        float ms = 0;
        status = cudaEventRecord(begin, cuda->stream);
        if (status == cudaSuccess)
            status = cudaMemcpyAsync(memory, memory + COPIED_BYTES, COPIED_BYTES,
                                     cudaMemcpyDeviceToDevice, cuda->stream);
        if (status == cudaSuccess)
            status = cudaEventRecord(end, cuda->stream);
        if (status == cudaSuccess)
            status = cudaEventSynchronize(end);
        if (status == cudaSuccess)
            status = cudaEventElapsedTime(&ms, begin, end);
        if (i == 1 || (i > 1 && ms < *ret_ms)) /* the first one warms up */
            *ret_ms = ms;
    }
    return status;
}

/* Of this device's copy; 0 if it could not be measured. */
static double bytes_per_ms(struct cuda *cuda) {
    cudaEvent_t begin = NULL, end = NULL;
    char *memory = NULL;
    float ms = 0;
    if (cuda->convs->bytes_per_ms > 0)
        return cuda->convs->bytes_per_ms;
    if (cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess &&
        cudaMalloc((void **)&memory, 2 * (size_t)COPIED_BYTES) == cudaSuccess &&
        time_copies(cuda, memory, begin, end, &ms) == cudaSuccess && ms > 0)
        cuda->convs->bytes_per_ms = 2.0 * COPIED_BYTES / (double)ms;
    if (memory != NULL)
        (void)cudaFree(memory);
    if (begin != NULL)
        (void)cudaEventDestroy(begin);
    if (end != NULL)
        (void)cudaEventDestroy(end);
    (void)cudaGetLastError();
    return cuda->convs->bytes_per_ms;
}

/* No tensor of a pass is larger than its input, its output or its weights in f32. */
static size_t largest_tensor(const struct dnn_conv *c) {
    int64_t counts[] = {c->batch * c->height * c->width * c->in_channels,
                        c->batch * dnn_conv_output(c, 0) * dnn_conv_output(c, 1) * c->out_channels,
                        c->out_channels * c->kernel[0] * c->kernel[1] *
                            dnn_conv_filter_channels(c)};
    int64_t most = 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        most = counts[i] > most ? counts[i] : most;
    return ((size_t)most * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* BYTES may be overwritten by tuning. */
static void place(struct conv_operands *o, int64_t uid, char *memory, size_t bytes) {
    o->ids[o->count] = uid;
    o->addresses[o->count] = memory;
    o->scratch[o->count++] = bytes;
}

/* Times CHOICE on separate memory, so that its time is known. */
static int settle(struct cuda *cuda, struct conv_choice *choice, struct error *err) {
    const struct conv_table *form = conv_table_of_pattern(choice->pattern);
    struct conv_operands o = {0};
    size_t bytes = largest_tensor(&choice->conv), rows = 0;
    char *memory = NULL;
    if (choice->ms > 0)
        return 0;
    for (const struct conv_row *row = form->rows; row->uid != 0; row++)
        rows++;
    cudaError_t status =
        cudaMalloc((void **)&memory, rows * bytes + (size_t)choice->workspace + ALIGNMENT);
    if (status != cudaSuccess) {
        (void)cudaGetLastError();
        return error_set(err, EXIT_CODE_DEVICE, "no memory to time convolutions in");
    }
    for (size_t i = 0; i < rows; i++)
        for (int part = 0; part < (form->rows[i].parts > 0 ? form->rows[i].parts : 1); part++)
            place(&o, form->rows[i].uid + part,
                  memory + i * bytes +
                      (size_t)part * (size_t)choice->conv.in_channels * sizeof(float),
                  part == 0 ? bytes : 0);
    o.workspace = memory + rows * bytes;
    int result = conv_choice_settle(cuda, choice, &o, err);
    (void)cudaStreamSynchronize(cuda->stream);
    (void)cudaFree(memory);
    return result;
}

/* True if the fused form should be used. */
static bool time_both(struct cuda *cuda, struct conv_choice *choice) {
    const struct fusion_baseline *baseline = fusion_baseline(choice->pattern);
    struct conv_choice *plain = NULL;
    if (baseline == NULL || settle(cuda, choice, NULL) != 0 ||
        conv_choice_get(cuda, baseline->pattern, choice->type, &choice->conv, &plain, NULL) != 0 ||
        settle(cuda, plain, NULL) != 0)
        return true;
    const struct conv_times times = {
        .fused_ms = choice->ms, .plain_ms = plain->ms, .bytes_per_ms = bytes_per_ms(cuda)};
    return conv_fusion_pays(choice->pattern, &choice->conv, choice->type, &times);
}

bool fusion_autotune(struct cuda *cuda, struct conv_choice *choice) {
    if (choice->pays == CONV_PAYS_UNKNOWN)
        choice->pays = plan_cache_find_pays(cuda, choice);
    if (choice->pays == CONV_PAYS_UNKNOWN) {
        choice->pays = time_both(cuda, choice) ? CONV_PAYS : CONV_LOSES;
        (void)plan_cache_add_pays(cuda, choice, NULL);
    }
    return choice->pays == CONV_PAYS;
}
