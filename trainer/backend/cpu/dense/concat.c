/* Channels of maps side by side, and some channels of a map: copies. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"

#include <string.h>

/* Some bytes of each row of one tensor, to a place in each row of another. */
struct copy {
    const char *from;
    char *to;
    size_t from_row, to_row, bytes;
};

/* Taking channels is a concatenation of one part that is narrower than the row it comes from. */
struct concat {
    struct cpu_step step;
    struct copy parts[CONCAT_INPUTS];
    int count;
    size_t rows;
};

/* Row by row, all parts, so that a thread writes one contiguous range of the output. */
static void copy_rows(void *context, struct share share) {
    const struct concat *concat = context;
    size_t begin, end;
    share_range(share, concat->rows, 1, &begin, &end);
    for (size_t row = begin; row < end; row++)
        for (int i = 0; i < concat->count; i++) {
            const struct copy *part = &concat->parts[i];
            memcpy(part->to + row * part->to_row, part->from + row * part->from_row, part->bytes);
        }
}

static int run(void *context, struct error *err) {
    (void)err;
    struct concat *concat = context;
    parallel_run(concat->step.cpu->threads, copy_rows, concat);
    return 0;
}

/* Any element type: values are not looked at. */
static size_t row_bytes(const struct tensor *tensor) {
    return cpu_channels(&tensor->shape) * dtype_size(tensor->dtype);
}

static int bind_concat(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *ret_bound,
                       struct error *err) {
    struct concat *concat = cpu_step_new(cpu, sizeof *concat, run, NULL, ret_bound, err);
    if (concat == NULL)
        return -1;
    const struct tensor *y = cpu_output(graph, op, 0);
    size_t first = 0;
    concat->rows = cpu_rows(&y->shape);
    for (int i = 0; i < CONCAT_INPUTS && op->inputs[i] != TENSOR_NONE; i++) {
        const size_t bytes = row_bytes(cpu_input(graph, op, i));
        concat->parts[concat->count++] = (struct copy){.from = addresses->inputs[i],
                                                       .to = (char *)addresses->outputs[0] + first,
                                                       .from_row = bytes,
                                                       .to_row = row_bytes(y),
                                                       .bytes = bytes};
        first += bytes;
    }
    return 0;
}

static int bind_channels(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *ret_bound,
                         struct error *err) {
    struct concat *concat = cpu_step_new(cpu, sizeof *concat, run, NULL, ret_bound, err);
    if (concat == NULL)
        return -1;
    const struct tensor *x = cpu_input(graph, op, 0), *y = cpu_output(graph, op, 0);
    const size_t first = (size_t)op->attr.channel * dtype_size(x->dtype);
    concat->rows = cpu_rows(&y->shape);
    concat->count = 1;
    concat->parts[0] = (struct copy){.from = (const char *)addresses->inputs[0] + first,
                                     .to = addresses->outputs[0],
                                     .from_row = row_bytes(x),
                                     .to_row = row_bytes(y),
                                     .bytes = row_bytes(y)};
    return 0;
}

const struct cpu_operator cpu_concat = {NULL, NULL, bind_concat};
const struct cpu_operator cpu_take_channels = {NULL, NULL, bind_channels};
