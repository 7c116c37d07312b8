#include "trainer/graph/program/sizes.h"

#include <stdio.h>

static size_t arena(const struct program *program, enum store_arena which) {
    return program->store->count[which] * dtype_size(program->store->dtype);
}

static size_t half_bytes(const struct program *program) {
    const struct half_copy *half = &program->store->half_copy;
    return half->half == NULL ? 0 : half->count * dtype_size((enum dtype)half->type);
}

struct sizes sizes_of(const struct program *program) {
    struct sizes s = {
        .weights = arena(program, STORE_PARAMETERS) + arena(program, STORE_CONSTANTS) +
                   half_bytes(program),
        .gradients = arena(program, STORE_GRADIENTS) + store_beside_gradients(program->store),
        .optimizer = arena(program, STORE_MOMENTUM) + arena(program, STORE_SECOND) +
                     arena(program, STORE_AVERAGE),
        .statistics = arena(program, STORE_STATE),
        .activations = program->memory->arena_bytes,
        .inputs = program->memory->kept_bytes,
        .packed = program->memory->packed_bytes,
    };
    for (int i = 0; i < program->graph->op_count; i++)
        if (program->needs[i].scratch > s.workspace)
            s.workspace = program->needs[i].scratch;
    return s;
}

size_t sizes_sum(const struct sizes *s) {
    return s->weights + s->gradients + s->optimizer + s->statistics + s->activations + s->inputs +
           s->packed;
}

static double mib(size_t bytes) {
    return (double)bytes / 1048576;
}

void sizes_text(const struct sizes *s, char *text, size_t size) {
    (void)snprintf(
        text, size,
        "weights %.1f, gradients %.1f, optimizer %.1f, statistics %.1f, activations %.1f "
        "(of that workspace %.1f), inputs and outputs %.1f, packed weights %.1f: %.1f "
        "MiB in all",
        mib(s->weights), mib(s->gradients), mib(s->optimizer), mib(s->statistics),
        mib(s->activations), mib(s->workspace), mib(s->inputs), mib(s->packed), mib(sizes_sum(s)));
}
