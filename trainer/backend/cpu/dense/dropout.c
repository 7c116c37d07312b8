/* Dropout, also of gradients (math/dropout.h). */
#include "trainer/math/dropout.h"
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/math/bf16.h"

struct dropout_op {
    struct cpu_step step;
    enum elem elem;
    size_t samples, count; /* elements of a sample */
    uint32_t bound;
    float scale;
    int layer;
    const void *x;
    const int32_t *key;
    void *y;
};

/* NUMBER decides; the remaining elements are scaled up, so that the mean stays. */
static void drop_one(const struct dropout_op *op, size_t at, uint32_t number) {
    const float factor = number < op->bound ? 0 : op->scale;
    if (op->elem == ELEM_F32)
        ((float *)op->y)[at] = ((const float *)op->x)[at] * factor;
    else
        ((uint16_t *)op->y)[at] =
            bf16_from_f32(bf16_to_f32(((const uint16_t *)op->x)[at]) * factor);
}

/* A share of the blocks of random numbers of all samples. */
static void drop_share(void *context, struct share share) {
    const struct dropout_op *op = context;
    const size_t blocks = cpu_divided(op->count, RANDOM_BLOCK);
    size_t begin, end;
    /* Each thread gets whole cache lines, but for the ends of samples. */
    share_range(share, op->samples * blocks, 64 / RANDOM_BLOCK, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        const size_t sample = i / blocks, first = i % blocks * RANDOM_BLOCK;
        uint32_t numbers[RANDOM_BLOCK];
        dropout_numbers(op->key + sample * SAMPLE_KEY_WORDS, op->layer, (uint32_t)(i % blocks),
                        numbers);
        for (size_t k = 0; k < RANDOM_BLOCK && first + k < op->count; k++)
            drop_one(op, sample * op->count + first + k, numbers[k]);
    }
}

static int run_dropout(void *context, struct error *err) {
    (void)err;
    struct dropout_op *op = context;
    parallel_run(op->step.cpu->threads, drop_share, op);
    return 0;
}

/* The key of a sample is an input, so the mask does not depend on threads or on the batch that a
 * sample is in. The gradient is the same operator with dy as x: it draws the same numbers again. */
static int bind_dropout(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *ret_bound,
                        struct error *err) {
    struct dropout_op *bound = cpu_step_new(cpu, sizeof *bound, run_dropout, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *y = cpu_output(graph, op, 0);
    bound->elem = cpu_elem(y->dtype);
    bound->samples = (size_t)y->shape.dim[0];
    bound->count = (size_t)tensor_count(y) / bound->samples;
    bound->bound = dropout_bound(op->attr.rate);
    bound->scale = (float)(1 / (1 - op->attr.rate));
    bound->layer = op->attr.layer;
    bound->x = addresses->inputs[0];
    bound->key = addresses->inputs[1];
    bound->y = addresses->outputs[0];
    return 0;
}

const struct cpu_operator cpu_dropout = {NULL, cpu_query_in_place, bind_dropout};
