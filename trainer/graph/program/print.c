/* Printed tables of the memory plan and the compiled program. */
#include "trainer/graph/program/program.h"

#include "common/cleanup.h"
#include "trainer/graph/program/sizes.h"
#include "trainer/graph/rules/op_table.h"

#include <stdlib.h>

static const char *block_kind(enum plan_block_kind kind) {
    switch (kind) {
    case PLAN_TENSOR:
        return "tensor";
    case PLAN_SCRATCH:
        return "scratch";
    case PLAN_SAVED:
        return "saved";
    }
    return "";
}

static int compare_blocks(const void *a, const void *b) {
    const struct plan_block *left = a, *right = b;
    if (left->bytes == right->bytes)
        return left->first - right->first;
    return left->bytes < right->bytes ? 1 : -1;
}

int plan_print(const struct plan *plan, const struct graph *graph, struct buf *out,
               struct error *err) {
    size_t count = (size_t)plan->block_count;
    cleanup_free struct plan_block *blocks = calloc(count + 1, sizeof(*blocks));
    if (blocks == NULL)
        return error_no_memory(err, "the plan's table");
    for (size_t i = 0; i < count; i++)
        blocks[i] = plan->blocks[i];
    qsort(blocks, count, sizeof(*blocks), compare_blocks);
    if (buf_printf(out, err, "%12s %12s %11s  %s\n", "offset", "bytes", "operators", "block") != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct plan_block *block = &blocks[i];
        bool tensor = block->kind == PLAN_TENSOR;
        const struct op *op =
            &graph->ops[tensor ? graph->tensors[block->owner].producer : block->owner];
        if (buf_printf(out, err, "%12zu %12zu %5d-%-5d  %s of %s %s\n", block->offset, block->bytes,
                       block->first, block->last, block_kind(block->kind), op_name(op->kind),
                       op->name) != 0)
            return -1;
    }
    return buf_printf(out, err,
                      "arena %zu bytes, %d blocks; most alive at once %zu, at operator %d\n",
                      plan->arena_bytes, plan->block_count, plan->live_peak, plan->peak_op);
}

static int print_stream(const struct streams *streams, int number, struct buf *out,
                        struct error *err) {
    const char *stream = streams_of(streams, number) == STREAM_SIDE ? "  side" : "";
    if (streams->stream == NULL || streams->wait[number] < 0)
        return buf_printf(out, err, "%s\n", stream);
    return buf_printf(out, err, "%s  after %d\n", stream, streams->wait[number]);
}

static int print_op(const struct program *program, int number, struct buf *out, struct error *err) {
    const struct graph *graph = program->graph;
    const struct op *op = &graph->ops[number];
    const struct backend_needs *needs = &program->needs[number];
    struct op_cost cost = op_cost(graph, op);
    char shape[SHAPE_TEXT_SIZE];
    if (buf_printf(out, err, "%5d %-32s %-28s %-22s %10.4f %9.3f %11zu %11zu %11zu", number,
                   op_name(op->kind), op->name,
                   shape_text(&graph->tensors[op->outputs[0]].shape, shape), cost.flops / 1e9,
                   cost.bytes / 1e6, needs->scratch, needs->saved, needs->packed) != 0)
        return -1;
    return print_stream(&program->streams, number, out, err);
}

int program_print(const struct program *program, struct buf *out, struct error *err) {
    if (buf_printf(out, err, "%5s %-32s %-28s %-22s %10s %9s %11s %11s %11s\n", "step", "operator",
                   "name", "output", "GFLOP", "MB", "scratch", "saved", "packed") != 0)
        return -1;
    for (int i = 0; i < program->graph->op_count; i++)
        if (print_op(program, i, out, err) != 0)
            return -1;
    struct op_cost cost = program_cost(program);
    if (buf_printf(out, err, "%d operators, %.3f GFLOP, %.1f MB touched\n",
                   program->graph->op_count, cost.flops / 1e9, cost.bytes / 1e6) != 0)
        return -1;
    for (int i = 0; i < program->bucket_count; i++) {
        const struct bucket *bucket = &program->buckets[i];
        if (buf_printf(out, err, "bucket %d: elements %zu + %zu, ready after step %d\n", i,
                       bucket->first, bucket->count, bucket->after) != 0)
            return -1;
    }
    char text[SIZES_TEXT_SIZE];
    struct sizes sizes = sizes_of(program);
    sizes_text(&sizes, text, sizeof(text));
    if (plan_print(&program->plan, program->graph, out, err) != 0)
        return -1;
    return buf_printf(out, err, "memory: %s\n", text);
}
